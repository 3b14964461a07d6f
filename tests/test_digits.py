# SPDX-License-Identifier: Apache-2.0
"""The shipped digits are the published ones, and a split neither loses nor invents an image."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite
from ngraph_rewrite.digits import load_digits, split
from ngraph_rewrite.errors import NGraphRewriteError

DATA_FILES = Path(ngraph_rewrite.__file__).parent / "data_files"
IMAGES, LABELS = load_digits()


def test_there_are_1797_images_of_8_by_8_from_paper_to_ink() -> None:
    assert IMAGES.shape == (1797, 8, 8)
    assert IMAGES.dtype == np.float32
    assert IMAGES.min() == 0 and IMAGES.max() == 1


def test_pixels_count_ink_in_sixteenths() -> None:
    assert (IMAGES * 16 == np.round(IMAGES * 16)).all()


def test_each_digit_is_there_as_often_as_published() -> None:
    assert LABELS.dtype == np.int64
    assert np.bincount(LABELS).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_first_image_is_a_zero() -> None:
    assert LABELS[0] == 0
    assert (IMAGES[0] * 16).astype(int)[0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


def test_the_file_is_the_one_its_description_names() -> None:
    digest = hashlib.sha256((DATA_FILES / "digits.csv.gz").read_bytes()).hexdigest()
    assert digest in (DATA_FILES / "digits.rst").read_text(encoding="utf-8")


def test_a_caller_may_write_into_the_arrays() -> None:
    images, labels = load_digits()
    images[:] = -1
    labels[:] = -1
    assert (load_digits()[0] == IMAGES).all() and (load_digits()[1] == LABELS).all()


@given(
    count=st.integers(0, 40),
    seed=st.integers(0, 2**32 - 1),
    held_out=st.floats(0, 1, exclude_min=True, exclude_max=True),
)
@settings(max_examples=30, deadline=None)
def test_a_split_keeps_every_image_once_and_with_its_label(count: int, seed: int, held_out: float) -> None:
    numbers = np.arange(count)
    images = np.repeat(numbers, 4).reshape(count, 2, 2).astype(np.float32)
    parts = split(images, numbers, seed=seed, held_out=held_out)
    assert sorted([*parts.train_labels, *parts.test_labels]) == numbers.tolist()
    assert (parts.train_images == parts.train_labels[:, None, None]).all()
    assert (parts.test_images == parts.test_labels[:, None, None]).all()
    assert len(parts.test_labels) == round(held_out * count)


def test_a_split_depends_on_its_seed_alone() -> None:
    once, again, other = split(IMAGES, LABELS, seed=3), split(IMAGES, LABELS, seed=3), split(IMAGES, LABELS, seed=4)
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    assert (once.test_labels != other.test_labels).any()


def test_every_digit_is_held_out_by_default() -> None:
    parts = split(IMAGES, LABELS)
    assert len(parts.test_labels) == 449
    assert np.bincount(parts.test_labels, minlength=10).min() > 20


@pytest.mark.parametrize("held_out", [0.0, 1.0, -0.5, float("nan")])
def test_a_fraction_that_leaves_nothing_is_refused(held_out: float) -> None:
    with pytest.raises(ValueError, match="held_out is .*\n.*between 0 and 1") as caught:
        split(IMAGES, LABELS, held_out=held_out)
    assert isinstance(caught.value, NGraphRewriteError)


def test_labels_that_do_not_fit_the_images_are_refused() -> None:
    with pytest.raises(TypeError, match="1797 images and 10 labels"):
        split(IMAGES, LABELS[:10])
