# SPDX-License-Identifier: Apache-2.0
"""How a thread waits in machine code: it rests between two looks, sleeps at a word, and is woken once for each time.

Threads that wait hold no lock of the interpreter's. A thread sleeps at a word of 4 bytes that is 1; whoever makes it 0
wakes it. On Linux the word is a futex. Elsewhere one of Python's own locks lies behind it, which are there on every
platform.
"""

import ctypes
import platform
import sys

_FUTEX = {"x86_64": 202, "aarch64": 98}  # the number of the system call
_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

# A thread sleeps at a word that is 1; who makes it 0 wakes it, once for each time.
_BY_FUTEX = """
declare i64 @syscall(i64, ...)

define internal void @{name}_park(ptr %slot) {{
entry:
  br label %sleep
sleep:
  %slept = call i64 (i64, ...) @syscall(i64 {number}, ptr %slot, i64 128, i64 1, i64 0, i64 0, i64 0)
  %asleep = load atomic i32, ptr %slot seq_cst, align 8
  %still = icmp eq i32 %asleep, 1
  br i1 %still, label %sleep, label %end
end:
  ret void
}}

define internal void @{name}_unpark(ptr %slot) {{
  %woken = call i64 (i64, ...) @syscall(i64 {number}, ptr %slot, i64 129, i64 1, i64 0, i64 0, i64 0)
  ret void
}}
"""
# Python's own locks, which are there on every platform; each is taken when its slot is made.
_BY_LOCK = """
define internal void @{name}_park(ptr %slot) {{
entry:
  %place = getelementptr i64, ptr %slot, i64 1
  %lock = load ptr, ptr %place
  br label %sleep
sleep:
  %taken = call i32 inttoptr (i64 {acquire} to ptr)(ptr %lock, i32 1)
  %again = icmp eq i32 %taken, 0
  br i1 %again, label %sleep, label %end
end:
  ret void
}}

define internal void @{name}_unpark(ptr %slot) {{
  %place = getelementptr i64, ptr %slot, i64 1
  %lock = load ptr, ptr %place
  call void inttoptr (i64 {release} to ptr)(ptr %lock)
  ret void
}}
"""

_WAITING = """
{declared}

define internal void @{name}_pause(i64 %turn) {{
  %part = and i64 %turn, 31
  %now = icmp eq i64 %part, 31
  br i1 %now, label %give, label %rest
give:
  {give}
  ret void
rest:
  {rest}
  ret void
}}

; Wake whoever sleeps at a slot.
define internal void @{name}_wake(ptr %slot) {{
  %was = atomicrmw xchg ptr %slot, i32 0 seq_cst
  %slept = icmp eq i32 %was, 1
  br i1 %slept, label %wake, label %end
wake:
  call void @{name}_unpark(ptr %slot)
  br label %end
end:
  ret void
}}

; Not to sleep after all: if somebody is about to wake this thread, let him.
define internal void @{name}_stay(ptr %slot) {{
  %was = atomicrmw xchg ptr %slot, i32 0 seq_cst
  %alone = icmp eq i32 %was, 1
  br i1 %alone, label %end, label %wait
wait:
  call void @{name}_park(ptr %slot)
  br label %end
end:
  ret void
}}

"""


def waits_by_futex() -> bool:
    """Whether the system can make a thread wait for a word of memory in the way this package knows."""
    return sys.platform.startswith("linux") and platform.machine() in _FUTEX and sys.maxsize > 2**32


def waiting_code(name: str, futex: bool) -> str:
    """The functions ``NAME_pause(turn)``, and ``park``, ``wake`` and ``stay`` of a slot: its word, then its lock.

    >>> "@x_park(ptr" in waiting_code("x", futex=False)
    True
    """
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    declared, rest = _PAUSE.get(machine, ("", ""))
    give = rest
    if futex:
        declared, give = f"{declared}\ndeclare i32 @sched_yield()", "%given = call i32 @sched_yield()"
    sleeping = _BY_FUTEX.format(name=name, number=_FUTEX.get(machine, 0)) if futex else _by_lock(name)
    return sleeping + _WAITING.format(name=name, declared=declared, rest=rest, give=give)


def _by_lock(name: str) -> str:
    functions = ctypes.pythonapi.PyThread_acquire_lock, ctypes.pythonapi.PyThread_release_lock
    acquire, release = (ctypes.cast(f, ctypes.c_void_p).value for f in functions)
    return _BY_LOCK.format(name=name, acquire=acquire, release=release)


def taken_lock() -> int:
    """A lock of Python's, taken: who takes it next sleeps until another thread gives it back. It is never freed."""
    allocate, acquire = ctypes.pythonapi.PyThread_allocate_lock, ctypes.pythonapi.PyThread_acquire_lock
    allocate.restype, acquire.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int]
    lock = allocate()
    if not lock:
        raise MemoryError("no lock for a thread to sleep at")
    acquire(lock, 1)
    return int(lock)
