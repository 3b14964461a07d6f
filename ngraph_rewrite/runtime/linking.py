# SPDX-License-Identifier: Apache-2.0
"""Object files of Linux on x86-64 are put into memory without LLVM: a process that only loads kernels is soon there.

What this package compiles needs little of a linker: sections that are read or run, and 64-bit addresses in them, of
what is in the file or of functions that the process has. A file that needs more is left to LLVM. Tables by which a
debugger or an exception would unwind the stack are left out: nothing that is compiled here raises. The format is that
of the *System V Application Binary Interface*, chapters 4 and 5, with its supplement for AMD64.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple
from weakref import finalize

_HEADER, _SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
_SYMBOL, _RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01\x01"  # of 64 bits, the lowest first
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _ADDENDS, _NO_BITS, _RELATIVE, _UNWINDING = 2, 4, 8, 9, 0x70000001  # kinds of sections
_WRITTEN, _IN_MEMORY, _OF_THREADS = 1, 2, 0x400  # flags of sections
_UNDEFINED = 0  # the number of no section
_ADDRESS = 1  # R_X86_64_64, a relocation: an address in 8 bytes
_READ, _WRITE, _RUN, _PRIVATE, _ANONYMOUS = 1, 2, 4, 2, 32
_PAGE = 4096


class Unlinkable(Exception):
    """An object file needs what only LLVM knows how to do."""


class Damaged(Unlinkable):
    """What stands for an object file is none, is cut off, or does not define what it has to."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


def links() -> bool:
    """Whether object files of this machine are of the kind known here."""
    machine = platform.machine().lower() in ("x86_64", "amd64") and sys.maxsize > 2**32
    return machine and sys.platform.startswith("linux")


class Pages:
    """Memory with machine code, which is there as long as this object. At its end the process keeps what there is:
    threads may be in a kernel to the very end.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, base: int, size: int) -> None:
        finalize(self, _libc().munmap, base, size).atexit = False


def linked(data: bytes, symbols: Iterable[str]) -> tuple[list[int], Pages]:
    """Put an object file into memory: the addresses of some of the functions that it defines, and that memory.

    Raises:
        Unlinkable: if it needs more than addresses, or a function that the process does not have.
        Damaged: if it is cut off, or does not define one of these functions.
    """
    with _told():
        return _linked(data, symbols)


def check_object(data: bytes, symbols: Iterable[str]) -> None:
    """Demand an object file that defines some functions, before LLVM reads it, which would end the process.

    Raises:
        Damaged: if it is none, is cut off, or does not define one of these functions.
    """
    with _told():
        sections = [*_sections(data)]
        for section in sections:
            if section.kind != _NO_BITS:
                _of(data, section)
        missing = set(symbols) - {s.name for s in _symbols(data, sections) if s.section != _UNDEFINED}
    if missing:
        raise Damaged(f"a file without the function {missing.pop()}")


@contextmanager
def _told() -> Iterator[None]:
    """Errors of reading what is not there are those of a file that is not whole."""
    try:
        yield
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise Damaged("a file that is not whole, or without a function") from error


def _linked(data: bytes, symbols: Iterable[str]) -> tuple[list[int], Pages]:
    sections = [*_sections(data)]
    places, size = _places(sections)
    image = bytearray(size)
    for number, place in places.items():
        section = sections[number]
        if section.kind != _NO_BITS:
            image[place : place + section.size] = _of(data, section)
    with _memory(size) as base:
        begins = {number: base + place for number, place in places.items()}
        table = _symbols(data, sections)
        addresses = [_address(symbol, begins) for symbol in table]
        for section in sections:
            if section.info in places and section.kind in (_ADDENDS, _RELATIVE):
                _relocate(data, section, image, places[section.info], addresses)
        ctypes.memmove(base, bytes(image), size)
        found = {symbol.name: begins[symbol.section] + symbol.value for symbol in table if symbol.section in begins}
        wanted = [found[symbol] for symbol in symbols]
        if _libc().mprotect(base, size, _READ | _RUN):
            raise Unlinkable("memory may not be made to run")
    return wanted, Pages(base, size)


def _sections(data: bytes) -> Iterator[_Section]:
    magic, kind, machine, *_, start, _, _, _, _, size, count, _ = _HEADER.unpack_from(data)
    if not magic.startswith(_MAGIC) or (kind, machine, size) != (_RELOCATABLE, _X86_64, _SECTION.size):
        raise Damaged("another kind of file")
    return (_Section(*_SECTION.unpack_from(data, start + n * size)) for n in range(count))


def _places(sections: Sequence[_Section]) -> tuple[dict[int, int], int]:
    """Where sections begin that are in memory, by their numbers, and how much they take; tables to unwind by do not."""
    places, size = {}, 0
    for number, section in enumerate(sections):
        if section.flags & _IN_MEMORY and section.kind != _UNWINDING:
            if section.flags & (_WRITTEN | _OF_THREADS) and section.size or section.alignment > _PAGE:
                raise Unlinkable("variables, or pages of another size")
            places[number] = size = -(-size // max(section.alignment, 1)) * max(section.alignment, 1)
            size += section.size
    return places, -(-max(size, 1) // _PAGE) * _PAGE


def _symbols(data: bytes, sections: Sequence[_Section]) -> list[_Symbol]:
    found = []
    for section in sections:
        if section.kind == _SYMBOLS:
            names = sections[section.link].offset
            for name, _, _, number, value, _ in _SYMBOL.iter_unpack(_of(data, section)):
                begin = names + name
                found.append(_Symbol(data[begin : data.index(b"\0", begin)].decode(), number, value))
    return found


def _of(data: bytes, section: _Section) -> bytes:
    found = data[section.offset : section.offset + section.size]
    if len(found) != section.size:
        raise Damaged("a file that is not whole")
    return found


def _address(symbol: _Symbol, begins: dict[int, int]) -> int | None:
    """The address of a symbol, or None if it is in no section that is in memory."""
    if symbol.section == _UNDEFINED:
        return outside(symbol.name) if symbol.name else None
    return begins[symbol.section] + symbol.value if symbol.section in begins else None


def _relocate(data: bytes, section: _Section, image: bytearray, place: int, addresses: Sequence[int | None]) -> None:
    """Write the addresses that a section names into another one, which begins there."""
    if section.kind == _RELATIVE:
        raise Unlinkable("relocations without addends")
    for offset, info, addend in _RELOCATION.iter_unpack(_of(data, section)):
        address = addresses[info >> 32]
        if info & 0xFFFFFFFF != _ADDRESS or address is None:
            raise Unlinkable("a relocation of another kind")
        struct.pack_into("<Q", image, place + offset, address + addend & 0xFFFFFFFFFFFFFFFF)


def outside(name: str) -> int | None:
    """The address of a function of the process, or of the mathematical library."""
    for library in _libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            pass
    return None


@cache
def _libraries() -> list[ctypes.CDLL]:
    found = [ctypes.CDLL(None)]
    try:
        found.append(ctypes.CDLL("libm.so.6"))
    except OSError:
        pass
    return found


@cache
def _libc() -> ctypes.CDLL:
    found = ctypes.CDLL(None)
    found.mmap.restype = ctypes.c_void_p
    found.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    found.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    found.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return found


@contextmanager
def _memory(size: int) -> Iterator[int]:
    """Whole pages: given back here only if something fails."""
    base = _libc().mmap(None, size, _READ | _WRITE, _PRIVATE | _ANONYMOUS, -1, 0)
    if base is None or base == ctypes.c_void_p(-1).value:
        raise Unlinkable(f"no {size} bytes for machine code")
    try:
        yield int(base)
    except BaseException:
        _libc().munmap(base, size)
        raise
