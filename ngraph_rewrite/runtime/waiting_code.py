# SPDX-License-Identifier: Apache-2.0
"""How a thread waits in machine code: it rests between two looks, sleeps at a word, and is woken once for each time.

Threads that wait hold no lock of the interpreter's. A thread sleeps at a word of 4 bytes that is 1; whoever makes it 0
wakes it. On Linux the word is a futex. Elsewhere one of Python's own locks lies behind it, which are there on every
platform.

A worker is woken by a thread that goes on computing, so it must not be put behind that thread on the same processor.
Linux does so where it takes the other processors for busy, as a virtual machine's that have halted, and moves it
milliseconds later. So it is told before that it may run where its caller may, but for the processor the caller is on;
as soon as it runs it takes that back.
"""

import ctypes
import platform
import sys

from ngraph_rewrite.runtime.claiming_code import AWAY, THREAD

_FUTEX = {"x86_64": 202, "aarch64": 98}  # the number of the system call
_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

_SET = 128  # bytes of a set of processors
_WHO = {"x86_64": 186, "aarch64": 178}  # the number of the system call that tells who a thread is

# A thread sleeps at a word that is 1; who makes it 0 wakes it, once for each time.
_BY_FUTEX = """
declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

; Of a worker that begins: say who it is.
define internal void @{name}_begin(ptr %slot) {{
  %thread_at = getelementptr i64, ptr %slot, i64 {THREAD}
  %thread = call i64 (i64, ...) @syscall(i64 {who})
  store atomic i64 %thread, ptr %thread_at release, align 8
  ret void
}}

; Before a worker is woken: let it run anywhere but on the processor of this thread, until it runs.
define internal void @{name}_send_away(ptr %slot) {{
entry:
  %set = alloca [{set_words} x i64], align 8
  %thread_at = getelementptr i64, ptr %slot, i64 {THREAD}
  %away_at = getelementptr i64, ptr %slot, i64 {AWAY}
  %here = call i32 @sched_getcpu()
  %cpu = sext i32 %here to i64
  %from = add i64 %cpu, 1
  %away = load atomic i64, ptr %away_at monotonic, align 8
  %told = icmp eq i64 %away, %from
  %known = icmp ult i64 %cpu, {set_bits}
  %untold = xor i1 %told, true
  %useful = and i1 %untold, %known
  br i1 %useful, label %ask, label %end
ask:
  %asked = call i32 @sched_getaffinity(i32 0, i64 {set_bytes}, ptr %set)
  %failed = icmp slt i32 %asked, 0
  br i1 %failed, label %end, label %without
without:
  %index = lshr i64 %cpu, 6
  %place = and i64 %cpu, 63
  %bit = shl i64 1, %place
  %others = xor i64 %bit, -1
  %word_at = getelementptr i64, ptr %set, i64 %index
  %word = load i64, ptr %word_at
  %rest = and i64 %word, %others
  store i64 %rest, ptr %word_at
  br label %count
count:
  %i = phi i64 [0, %without], [%next, %count_more]
  %more = icmp slt i64 %i, {set_words}
  br i1 %more, label %count_more, label %end
count_more:
  %at = getelementptr i64, ptr %set, i64 %i
  %some = load i64, ptr %at
  %next = add i64 %i, 1
  %none = icmp eq i64 %some, 0
  br i1 %none, label %count, label %tell
tell:
  store atomic i64 %from, ptr %away_at release, align 8
  %thread = load atomic i64, ptr %thread_at acquire, align 8
  %who = trunc i64 %thread to i32
  %set_so = call i32 @sched_setaffinity(i32 %who, i64 {set_bytes}, ptr %set)
  br label %end
end:
  ret void
}}

; Of a worker that runs again: the system may put it on that processor as well.
define internal void @{name}_come_back(ptr %slot) {{
entry:
  %set = alloca [{set_words} x i64], align 8
  %away_at = getelementptr i64, ptr %slot, i64 {AWAY}
  %away = load atomic i64, ptr %away_at acquire, align 8
  %told = icmp ne i64 %away, 0
  br i1 %told, label %ask, label %end
ask:
  store atomic i64 0, ptr %away_at monotonic, align 8
  %asked = call i32 @sched_getaffinity(i32 0, i64 {set_bytes}, ptr %set)
  %failed = icmp slt i32 %asked, 0
  br i1 %failed, label %end, label %with
with:
  %cpu = sub i64 %away, 1
  %index = lshr i64 %cpu, 6
  %place = and i64 %cpu, 63
  %bit = shl i64 1, %place
  %word_at = getelementptr i64, ptr %set, i64 %index
  %word = load i64, ptr %word_at
  %all = or i64 %word, %bit
  store i64 %all, ptr %word_at
  %set_so = call i32 @sched_setaffinity(i32 0, i64 {set_bytes}, ptr %set)
  br label %end
end:
  ret void
}}

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
define internal void @{name}_begin(ptr %slot) {{
  ret void
}}

define internal void @{name}_send_away(ptr %slot) {{
  ret void
}}

define internal void @{name}_come_back(ptr %slot) {{
  ret void
}}
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
    sleeping = _by_futex(name, machine) if futex else _by_lock(name)
    return sleeping + _WAITING.format(name=name, declared=declared, rest=rest, give=give)


def _by_futex(name: str, machine: str) -> str:
    numbers = {"number": _FUTEX.get(machine, 0), "who": _WHO.get(machine, 0)}
    sizes = {"set_bytes": _SET, "set_words": _SET // 8, "set_bits": _SET * 8}
    return _BY_FUTEX.format(name=name, THREAD=THREAD, AWAY=AWAY, **numbers, **sizes)


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
