# SPDX-License-Identifier: Apache-2.0
"""Functions of C libraries called with what lies in words of memory, which is there before they are called again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from ngraph_rewrite.runtime.native import native_functions

_SYMBOL = "ngraph_rewrite_word_call"
_KINDS = {"i": "i32", "l": "i64", "p": "ptr"}
_call: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


@cache
def word_call(kinds: str) -> Callable[[int], int]:
    """What calls functions that take arguments of some kinds, and give an int.

    It is given where words of 64 bits lie: the address of a function, then its arguments. To convert many arguments
    for each call would take longer than many a function.

    Args:
        kinds: Of each argument: ``i`` and ``l`` for integers of 32 and 64 bits, ``p`` for an address.

    >>> import numpy as np
    >>> from ngraph_rewrite.runtime.aligned import address_of
    >>> less = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_longlong)(lambda a, b: a - b)
    >>> words = np.array([ctypes.cast(less, ctypes.c_void_p).value, 5, 3], np.int64)
    >>> word_call("il")(address_of(words))
    2
    """
    (address,) = native_functions("word_call", _text(kinds), [_SYMBOL])
    found: Callable[[int], int] = _call(address)
    return found


def _text(kinds: str) -> str:
    """The function, in LLVM IR."""
    lines = ["%function = load ptr, ptr %words"]
    for n, kind in enumerate(kinds, 1):  # a word begins with its lower half: on all that this runs on
        lines += [f"%at{n} = getelementptr i64, ptr %words, i64 {n}", f"%x{n} = load {_KINDS[kind]}, ptr %at{n}"]
    given = ", ".join(f"{_KINDS[kind]} %x{n}" for n, kind in enumerate(kinds, 1))
    body = "\n  ".join([*lines, f"%found = call i32 %function({given})", "ret i32 %found"])
    return f"define i32 @{_SYMBOL}(ptr %words) {{\n  {body}\n}}\n"
