# SPDX-License-Identifier: Apache-2.0
"""How wide the vectors of the processor are, and how many of them it holds: what explicit vector code is made for."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lazy import lazy_module

if TYPE_CHECKING:
    from llvmlite import binding
else:
    binding = lazy_module("llvmlite.binding")


_FEATURES = re.compile(r"[+-][^,\s]+(,[+-][^,\s]+)*")
_VARIABLES = {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"}
_LASTING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")  # in Linux's words for x86


# By the bytes of vectors, what such an instruction is called by LLVM and by Linux.
_QUADS = MappingProxyType({64: {"+avx512vnni", "+avx512_vnni"}, 32: {"+avxvnni", "+avx_vnni"}})
# What multiplies pairs of bfloat16 is called so, and what multiplies matrices of packed numbers.
_FLOAT_PAIRS = frozenset({"+avx512bf16", "+avx512_bf16"})
_MATRICES = MappingProxyType(
    {
        "float_pairs": frozenset({"+amx-bf16", "+amx_bf16"}),
        **dict.fromkeys(("quads", "signed_quads"), frozenset({"+amx-int8", "+amx_int8"})),
    }
)
# Linux is asked for these registers, by a call of the system for x86 and the number of what keeps them.
_PERMISSION = (158, 0x1023, 18)


class Vectors(NamedTuple):
    """The registers for vectors: the bytes of one, and their number.

    >>> Vectors(64, 32).lanes("float32"), Vectors(16, 16).lanes("float64")
    (16, 2)
    """

    bytes: int
    registers: int

    def lanes(self, dtype: str) -> int:
        """How many numbers of a dtype are in a vector."""
        return self.bytes // (8 if dtype.endswith("64") else 4)


def processor() -> tuple[str, str]:
    """The name and the features for which kernels are compiled: those of this machine, or what Numba is told."""
    name, found = os.environ.get("NUMBA_CPU_NAME"), told_features()
    if found is None and name is not None and name.lower() == "generic":
        found = ""
    return name or host_processor()[0], host_processor()[1] if found is None else found


def told_features() -> str | None:
    """The features that Numba is told, if it is.

    Raises:
        ArgumentError: if they are not written as LLVM reads them: it would end the process.
    """
    told = os.environ.get("NUMBA_CPU_FEATURES")
    if told and not _FEATURES.fullmatch(told):
        raise ArgumentError(f"NUMBA_CPU_FEATURES is {told!r}", do="set it to features after + or -: +avx2,-avx512f")
    return told


@cache
def host_processor() -> tuple[str, str]:
    """The name and the features of the processor here, as LLVM calls them: it is asked once."""
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


@cache
def told_by_linux() -> Mapping[str, str]:
    """What Linux tells of a processor of this machine, without what changes; nothing on another system.

    It is read in no time, while LLVM would have to be loaded. A tool that shows a process another processor than Linux
    tells of (an emulator, some debuggers) needs a cache folder of its own.
    """
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.partition(":")[::2] for line in first.splitlines())
    found = {name.strip(): value.strip() for name, value in pairs}
    return {name: found[name] for name in _LASTING if name in found}


@cache
def first_cache_ways() -> int:
    """How many lines of the first cache for data may fall on the same place; 8 if the system does not tell."""
    try:
        return int(Path("/sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 8


def features() -> Sequence[str]:
    """The features for which kernels are compiled, each with a sign before it; some, by other names, may be missing."""
    told = () if _VARIABLES & os.environ.keys() else _features_by_linux()
    return told or processor()[1].split(",")


@cache
def _features_by_linux() -> tuple[str, ...]:
    return tuple([f"+{flag}" for flag in told_by_linux().get("flags", "").split()])


def vectors() -> Vectors:
    """The vectors that kernels are compiled for; 128 bits, which every processor here has, if nothing says more."""
    there = features()
    if "+avx512f" in there:
        return Vectors(64, 32)
    if "+avx" in there:
        return Vectors(32, 16)
    return Vectors(16, 32 if _is_arm() else 16)


def compresses() -> bool:
    """Whether an instruction moves some lanes of a vector to its begin: those of a mask, or as a table tells."""
    size = vectors().bytes
    return size == 64 or (size == 32 and "+avx2" in features())


def multiplies_quads() -> bool:
    """Whether one instruction multiplies four bytes with four others and adds all products to a number of 32 bits."""
    return not _QUADS.get(vectors().bytes, frozenset()).isdisjoint(features())


def multiplies_float_pairs() -> bool:
    """Whether one instruction multiplies two bfloat16 with two others and adds both products to a float32."""
    return vectors().bytes == 64 and not _FLOAT_PAIRS.isdisjoint(features())


def multiplies_matrices(packed: str) -> bool:
    """Whether the processor multiplies matrices of packed numbers of a kind, and lets this process do so."""
    names = _MATRICES.get(packed, frozenset())
    return bool(names) and not names.isdisjoint(features()) and _may_use_matrices()


@cache
def _may_use_matrices() -> bool:
    """Whether Linux keeps the registers for matrices of this process: it has to be asked once, for all its threads."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    return bool(ctypes.CDLL(None).syscall(*_PERMISSION) == 0)


def extrema_know_nan() -> bool:
    """Whether one instruction gives the larger of two numbers, and NaN if one of them is.

    Those of Arm do; those of x86 give the second number then, so that NaN has to be looked for beside them.
    """
    return _is_arm()


def _is_arm() -> bool:
    return platform.machine().lower() in ("aarch64", "arm64")


class Tile(NamedTuple):
    """What a tile of a product is at most: rows, vectors in a row, lanes in a vector."""

    rows: int
    width: int
    lanes: int

    @property
    def columns(self) -> int:
        """The numbers in a row."""
        return self.width * self.lanes

    @property
    def stride(self) -> int:
        """How far columns of A lie apart that are packed for a tile: whole vectors."""
        return -(-self.rows // self.lanes) * self.lanes


def tile_shape(dtype: str) -> Tile:
    """The largest tile of the processor: its sums, a row of B and a number of A fill the registers."""
    found = vectors()
    return Tile(14 if found.registers == 32 else 6, 2, found.lanes(dtype))
