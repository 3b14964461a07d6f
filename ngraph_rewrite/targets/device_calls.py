# SPDX-License-Identifier: Apache-2.0
"""Calls that move nothing: their arguments are on a GPU already, and their results stay there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.plan.cuda.ends import Ends
from ngraph_rewrite.runtime.cuda.device import Device
from ngraph_rewrite.targets.device_arrays import DeviceArray
from ngraph_rewrite.targets.target import Program
from ngraph_rewrite.terms.op import Op


class Kind(NamedTuple):
    """What an array has to be, and how many bytes that are."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    bytes: int


class StayingCall:
    """What such a call takes and gives.

    Args:
        read: The numbers of the arguments that kernels read.
    """

    def __init__(self, device: Device, inputs: Sequence[Kind], results: Sequence[Kind], read: Sequence[int]) -> None:
        self._device, self._inputs, self._results, self._read = device, inputs, results, read

    def addresses(self, values: Sequence[Any]) -> list[int] | None:
        """Where the arguments lie that are read; None if one of all is not on the GPU, or not as it is to be."""
        if len(values) != len(self._inputs):
            return None
        for value, (dtype, shape, _) in zip(values, self._inputs, strict=True):
            if type(value) is not DeviceArray or value.dtype is not dtype or value.shape != shape:
                return None
        return [values[n].address for n in self._read]

    def results(self) -> list[DeviceArray]:
        """Arrays for the results.

        Raises:
            DeviceMemoryError: if there is not enough.
        """
        device, allocate = self._device, self._device.allocate
        return [DeviceArray(device, shape, dtype, allocate(size, "a result")) for dtype, shape, size in self._results]


def staying_call(device: Device, program: Program, ends: Ends) -> StayingCall | None:
    """What a call of a program takes and gives that moves nothing; None if each has something to copy."""
    if ends.owners != tuple(range(len(program.results))):
        return None
    inputs, results = ([_kind(term) for term in terms] for terms in (program.inputs, program.results))
    if None in inputs or None in results:
        return None
    return StayingCall(device, inputs, results, ends.inputs)  # type: ignore[arg-type]


def _kind(term: Op) -> Kind | None:
    """What arrays for a term are; None for one that is not read, of unknown lengths."""
    shape = tuple(n for n in term.shape if isinstance(n, int))
    if len(shape) != len(term.shape):
        return None
    dtype = np.dtype(term.dtype.name)
    return Kind(dtype, shape, prod(shape) * dtype.itemsize)
