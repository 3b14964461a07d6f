# SPDX-License-Identifier: Apache-2.0
"""Arrays that stay on a GPU: results of computations, and what other libraries hand over without a copy."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError, ComputationError
from ngraph_rewrite.runtime.cuda.device import Device, find_device
from ngraph_rewrite.runtime.cuda.dlpack import CPU, CUDA, DEFAULT_STREAM, NO_STREAM, Handed, handed_over, read_dlpack
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import as_dtype


class DeviceArray:
    """A row-major array on a GPU.

    Attributes:
        address: Where it lies.
        owner: What keeps its memory; None if it is its own, which goes with it.
        dtype: As NumPy has it.
        read_only: Whether whoever it is from may not have it written.
        elsewhere: How many bytes were lent for use on another stream than the default one, if any.
        stream: The stream where its owner uses it, if that is told; it waits until a call is done that reads it.
    """

    __slots__ = ("__weakref__", "address", "device", "dtype", "elsewhere", "owner", "read_only", "shape", "stream")

    def __init__(
        self,
        device: Device,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        address: int,
        owner: object = None,
        read_only: bool = False,
        stream: int | None = None,
    ) -> None:
        self.device, self.shape, self.dtype, self.address = device, shape, dtype, address
        self.owner, self.read_only, self.stream, self.elsewhere = owner, read_only, stream, 0

    def __del__(self) -> None:
        if self.owner is None:
            self.device.free(self.address, self.elsewhere)
        else:
            self.device.hold(self.owner, self.elsewhere)

    @classmethod
    def empty(cls, device: Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """An array whose memory is its own.

        Raises:
            DeviceMemoryError: if there is not enough.
        """
        return cls(device, shape, dtype, device.allocate(prod(shape) * dtype.itemsize, "a result"))

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return prod(self.shape) * int(self.dtype.itemsize)

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What other libraries read it by (the CUDA Array Interface, version 3); it is on the default stream."""
        self.device.origin.check()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, self.read_only),
            "version": 3,
            "stream": DEFAULT_STREAM,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of device that it is on, as DLPack numbers them: a simulated one is the host."""
        return (CUDA if self.device.is_real else CPU), 0

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The same memory for another library, by DLPack (``torch.from_dlpack(array)``).

        Args:
            stream: Where that will use it; it waits for what is still computed.
            max_version: The newest version of DLPack that it knows.
            dl_device: The device where it wants it; this one, or an error.
            copy: True for memory of its own.

        Raises:
            BufferError: for another device, or an array that may only be read if that cannot be said.
            ValueError: for a stream 0, which may be either of two.
        """
        self.device.origin.check()
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the array is on the device {self.__dlpack_device__()}, not on {tuple(dl_device)}")
        if stream == 0 and self.device.is_real:
            raise ValueError("the stream 0 may be either of two: 1 is the default stream, 2 that of the thread")
        given = self.__copy__() if copy else self
        if stream not in (None, DEFAULT_STREAM, NO_STREAM):
            self.device.synchronize()
        if stream not in (None, DEFAULT_STREAM):
            given.elsewhere = given.nbytes
        kind, read_only = self.__dlpack_device__()[0], given.read_only
        handed = Handed(given.address, given.shape, given.dtype, kind, given, read_only, bool(copy))
        return handed_over(handed, max_version)

    def __copy__(self) -> DeviceArray:
        """The same values in memory of their own, on the same device."""
        new = DeviceArray.empty(self.device, self.shape, self.dtype)
        self.device.copy(new.address, self.address, self.nbytes)
        return new

    def __deepcopy__(self, memo: object) -> DeviceArray:
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            "an array on a GPU cannot be pickled: its memory is that of this process",
            where=user_line(),
            do="pickle a copy for the host, `np.asarray(array)`, and take that to the GPU by `ng.to_device`",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array on a GPU cannot be seen by NumPy without a copy")
        array = np.empty(self.shape, self.dtype)
        self.device.download(array, self.address)
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}{list(self.shape)} on {self.device.name})"


class ArraysOfGpu:
    """Arrays of the GPU of this process."""

    def adopt(self, value: Any, term: Op) -> DeviceArray | None:
        """A value on the GPU as an array that kernels read where it is."""
        found = value if isinstance(value, DeviceArray) else _adopted(value)
        if found is None:
            return None
        if found.dtype != term.dtype:
            raise ComputationError(
                f"the value for {describe(term, 1)} is {found.dtype}, on the GPU",
                where=user_line(),
                do=f"convert it to {term.dtype} there",
            )
        return found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """An array for a result."""
        return DeviceArray.empty(find_device(), shape, dtype)


def to_device(value: Any) -> DeviceArray:
    """An array on the GPU: a copy of one on the host; what is on the GPU already is not copied.

    Args:
        value: What NumPy makes an array of, or an array with ``__cuda_array_interface__`` or ``__dlpack__``.

    Raises:
        DeviceError: if there is no GPU, or not enough memory.
        ComputationError: for an array on the GPU that is not row-major, not aligned to its elements, or masked.
    """
    found = value if isinstance(value, DeviceArray) else _adopted(value)
    if found is None:
        array = np.ascontiguousarray(value)
        found = DeviceArray.empty(find_device(), np.shape(value), array.dtype)
        found.device.upload(found.address, array)
    found.stream = None  # which may end before it does
    return found


def let_owners_wait(device: Device, values: Iterable[Any]) -> None:
    """Let who lent arrays write into them only when what was asked for is done, where it is told by which streams."""
    streams = {value.stream for value in values if isinstance(value, DeviceArray) and value.stream is not None}
    if streams:
        device.let_wait(streams)


def _adopted(value: Any) -> DeviceArray | None:
    """What another library has on the GPU, seen without a copy."""
    told = _told(value)
    if told is None:
        return None
    shape, dtype = tuple(map(int, told["shape"])), _dtype(told["typestr"])
    device, strides = find_device(), told.get("strides")
    if strides is not None and not _is_row_major(shape, strides, dtype.itemsize):
        raise ComputationError(
            f"an array on the GPU has the strides {tuple(strides)}", where=user_line(), do="make it contiguous there"
        )
    (address, read_only), stream = told["data"], told.get("stream") if _tells_streams(told) else None
    _check_elements(told, int(address) if prod(shape) else 0, dtype)
    device.check_here(int(address))
    if stream in (None, 0, DEFAULT_STREAM):
        stream = None
    else:
        device.synchronize_stream(int(stream))
    return DeviceArray(device, shape, dtype, int(address), told.get("owner", value), bool(read_only), stream)


def _check_elements(told: dict[str, Any], address: int, dtype: np.dtype[Any]) -> None:
    """Refuse what no kernel can read: a GPU has elements where their size says, and some errors of kernels end all."""
    if told.get("mask") is not None:
        raise ComputationError(
            "an array on the GPU has a mask", where=user_line(), do="fill what is masked there, and give that"
        )
    if address % dtype.itemsize:
        raise ComputationError(
            f"an array of {dtype} on the GPU is at {address:#x}, no multiple of {dtype.itemsize} bytes",
            where=user_line(),
            do="copy it there, to memory of its own",
        )


def _told(value: Any) -> dict[str, Any] | None:
    """What is told of an array on a GPU: by DLPack, where the CUDA Array Interface says nothing of streams."""
    told: dict[str, Any] | None = getattr(value, "__cuda_array_interface__", None)
    if told is not None and _tells_streams(told):
        return told
    known = read_dlpack(value)
    if known is None or told is None:
        return known or told
    address, read_only = known["data"]
    return {**known, "data": (address, read_only or told["data"][1])}


def _tells_streams(told: dict[str, Any]) -> bool:
    """Whether the CUDA Array Interface says on which stream an array is: versions before the third do not."""
    return "stream" in told and told.get("version", 0) >= 3


def _dtype(text: str) -> np.dtype[Any]:
    """What a type string says; torch describes bfloat16 as two bytes of whatever."""
    return as_dtype("bfloat16") if text == "<V2" else np.dtype(text)


def _is_row_major(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    if not all(shape):
        return True  # there is nothing in another order
    wanted = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n > 1 and stride != wanted:
            return False
        wanted *= n
    return True
