# SPDX-License-Identifier: Apache-2.0
"""The handwritten digits that the demonstration learns to read.

The data is the test set of *Optical Recognition of Handwritten Digits* (Alpaydin and Kaynak 1998, UCI Machine Learning
Repository, https://doi.org/10.24432/C50P49, CC BY 4.0); ``data_files/digits.rst`` tells where it comes from.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ngraph_rewrite.errors import ArgumentError, AttributeValueError

_FILE = Path(__file__).parent / "data_files" / "digits.csv.gz"
_SIDE = 8
_INK = 16  # the largest pixel value in the file


class Split(NamedTuple):
    """Images and labels to learn from, and others to be judged by."""

    train_images: npt.NDArray[np.float32]
    train_labels: npt.NDArray[np.int64]
    test_images: npt.NDArray[np.float32]
    test_labels: npt.NDArray[np.int64]


def load_digits() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """The 1,797 images, and the digit that each shows.

    Returns:
        Images, float32 of shape (1797, 8, 8), from 0 (paper) to 1 (ink), rows downward; and labels, int64 of shape
        (1797,), from 0 to 9. Both are fresh arrays.

    >>> images, labels = load_digits()
    >>> images.shape, images.dtype, labels.shape
    ((1797, 8, 8), dtype('float32'), (1797,))
    >>> labels[:5]
    array([0, 1, 2, 3, 4])
    """
    rows = np.loadtxt(_FILE, delimiter=",", dtype=np.int64)
    images = (rows[:, :-1] / _INK).astype(np.float32).reshape(-1, _SIDE, _SIDE)
    return images, rows[:, -1].copy()


def split(
    images: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], seed: int = 0, held_out: float = 0.25
) -> Split:
    """Shuffle the images with their labels and hold a part of them out.

    Args:
        images: Array of shape (n, ...).
        labels: Array of shape (n,).
        seed: The same seed gives the same split.
        held_out: The fraction held out for testing, between 0 and 1, both excluded; ``round(held_out * n)`` images.

    Raises:
        ArgumentError: There are not as many labels as images.
        AttributeValueError: `held_out` is not between 0 and 1.

    >>> parts = split(*load_digits())
    >>> len(parts.train_images), len(parts.test_images)
    (1348, 449)
    """
    if len(images) != len(labels):
        raise ArgumentError(
            f"split got {len(images)} images and {len(labels)} labels", do="give one label for each image"
        )
    if not 0 < held_out < 1:
        raise AttributeValueError(f"held_out is {held_out}", do="give a fraction between 0 and 1, both excluded")
    order = np.random.default_rng(seed).permutation(len(images))
    count = round(held_out * len(images))
    test, train = order[:count], order[count:]
    return Split(images[train], labels[train], images[test], labels[test])
