# SPDX-License-Identifier: Apache-2.0
"""How other libraries give back what DLPack lent them: machine code, as it is called where Python code cannot run.

A library that refuses an array drops its capsule while it tells of an error, and one that has taken it may end its use
without Python's lock. Python code would stop at once in the former case, with the other's error as its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from ngraph_rewrite.runtime.engine import load_functions


class Structure(NamedTuple):
    """A structure that capsules hold.

    Attributes:
        name: What a capsule is called that nobody took.
        owner: Where in it a reference to a Python object stands, which whoever gives it back drops.
    """

    name: str
    owner: int


class Functions(NamedTuple):
    """Addresses of functions of C.

    Attributes:
        deleters: Of each structure the function of its address that gives it back.
        destructor: What a capsule has to be given: if nobody took what it has, it gives that back.
    """

    deleters: tuple[int, ...]
    destructor: int


# Functions of CPython, with what they take; text in which they are called finds them by these names.
_CALLED = {
    "Py_IsInitialized": "i32",
    "PyGILState_Ensure": "i32",
    "PyGILState_Release": "void",
    "PyErr_Fetch": "void",
    "PyErr_Restore": "void",
    "Py_DecRef": "void",
    "PyCapsule_IsValid": "i32",
    "PyCapsule_GetPointer": "ptr",
}
_RELEASE = """
; drop a reference, whether or not this thread has the lock or tells of an error; nothing, once Python has ended
define internal void @release(ptr %owner) {
  %lives = {Py_IsInitialized}()
  %ended = icmp eq i32 %lives, 0
  br i1 %ended, label %end, label %drop
drop:
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %lock = {PyGILState_Ensure}()
  {PyErr_Fetch}(ptr %type, ptr %value, ptr %trace)
  {Py_DecRef}(ptr %owner)
  %its_type = load ptr, ptr %type
  %its_value = load ptr, ptr %value
  %its_trace = load ptr, ptr %trace
  {PyErr_Restore}(ptr %its_type, ptr %its_value, ptr %its_trace)
  {PyGILState_Release}(i32 %lock)
  br label %end
end:
  ret void
}
"""
_DELETER = """
@name_NUMBER = internal constant [SIZE x i8] c"NAME\\00"

define void @ngraph_rewrite_delete_NUMBER(ptr %structure) {
  %place = getelementptr i8, ptr %structure, i64 OWNER
  %owner = load ptr, ptr %place
  call void @release(ptr %owner)
  ret void
}

define internal void @end_NUMBER(ptr %capsule) {
  %is_one = {PyCapsule_IsValid}(ptr %capsule, ptr @name_NUMBER)
  %was_taken = icmp eq i32 %is_one, 0
  br i1 %was_taken, label %end, label %delete
delete:
  %structure = {PyCapsule_GetPointer}(ptr %capsule, ptr @name_NUMBER)
  call void @ngraph_rewrite_delete_NUMBER(ptr %structure)
  br label %end
end:
  ret void
}
"""


def giving_back(structures: Sequence[Structure]) -> Functions:
    """The functions for some structures, which are compiled now and stay as long as the process lives."""
    text, ends = _RELEASE, list[str]()
    for number, (name, owner) in enumerate(structures):
        words = {"NUMBER": str(number), "SIZE": str(len(name) + 1), "NAME": name, "OWNER": str(owner)}
        one = _DELETER
        for word, value in words.items():
            one = one.replace(word, value)
        text, ends = text + one, [*ends, f"  call void @end_{number}(ptr %capsule)"]
    text += "\n".join(["define void @ngraph_rewrite_end(ptr %capsule) {", *ends, "  ret void", "}", ""])
    for name, result in _CALLED.items():
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        text = text.replace(f"{{{name}}}", f"call {result} inttoptr (i64 {address} to ptr)")
    symbols = [f"ngraph_rewrite_delete_{number}" for number in range(len(structures))]
    *deleters, destructor = load_functions(text, [*symbols, "ngraph_rewrite_end"])
    return Functions(tuple(deleters), destructor)
