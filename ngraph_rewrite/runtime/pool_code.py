# SPDX-License-Identifier: Apache-2.0
"""The machine code of a pool: a launch is run by the thread that calls, and by workers that serve until told to stop.

Whoever waits, the caller for the last chunk or a worker for a launch, looks for a bounded time and then sleeps.
"""

from typing import NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.claiming_code import WORDS, claiming_code
from ngraph_rewrite.runtime.native import native_functions
from ngraph_rewrite.runtime.waiting_code import waiting_code

_POOL = """
; Run a launch, with as many workers as are allowed and come; alone if another thread has them. Only the first workers
; may come, one less than there are chunks: the numbers that kernels are told are below those of chunks and of threads.
; The caller's first part is claimed as the launch is told. Workers count what they finish, for ever; a caller that gets
; tired of waiting tells the count that it waits for.
define void @{name}_share(ptr %pool, i64 %kernel, i64 %args, i64 %chunks, i64 %allowed, i64 %weight) {{
entry:
  %owner = getelementptr i64, ptr %pool, i64 {OWNER}
  %caller = getelementptr i64, ptr %pool, i64 {CALLER}
  %finished = getelementptr i64, ptr %pool, i64 {FINISHED}
  %others = sub i64 %chunks, 1
  %fits = icmp ult i64 %others, {MOST_CHUNKS}
  br i1 %fits, label %ask, label %alone
ask:
  %pair = cmpxchg ptr %owner, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %publish, label %alone
publish:
  %kernel_at = getelementptr i64, ptr %pool, i64 {KERNEL}
  %args_at = getelementptr i64, ptr %pool, i64 {ARGUMENTS}
  %chunks_at = getelementptr i64, ptr %pool, i64 {CHUNKS}
  %allowed_at = getelementptr i64, ptr %pool, i64 {ALLOWED}
  %grain_at = getelementptr i64, ptr %pool, i64 {GRAIN}
  %ticket_at = getelementptr i64, ptr %pool, i64 {TICKET}
  store atomic i64 %kernel, ptr %kernel_at release, align 8
  store atomic i64 %args, ptr %args_at release, align 8
  store atomic i64 %chunks, ptr %chunks_at release, align 8
  %useful = call i64 @llvm.smin.i64(i64 %allowed, i64 %others)
  store atomic i64 %useful, ptr %allowed_at release, align 8
  %threads = add i64 %useful, 1
  %up = add i64 %others, %threads
  %equal = udiv i64 %up, %threads
  %brief = icmp sle i64 %weight, {BRIEF}
  %grain = select i1 %brief, i64 %equal, i64 0
  store atomic i64 %grain, ptr %grain_at release, align 8
  %part = call i64 @{name}_part(i64 %chunks, i64 %useful, i64 %grain, i64 0)
  %finished_before = load atomic i64, ptr %finished acquire, align 8
  %before = load atomic i64, ptr %ticket_at monotonic, align 8
  %number = lshr i64 %before, {LAUNCH_BITS}
  %next = add i64 %number, 1
  %launch = shl i64 %next, {LAUNCH_BITS}
  %unclaimed = shl i64 %chunks, {BITS}
  %whole = or i64 %launch, %unclaimed
  %change = mul i64 %part, {ONE_LESS_AND_LATER}
  %ticket = sub i64 %whole, %change
  store atomic i64 %ticket, ptr %ticket_at seq_cst, align 8
  %rest = icmp slt i64 %part, %chunks
  br i1 %rest, label %call, label %run
call:
  call void @{name}_call_others(ptr %pool, i64 -1)
  br label %run
run:
  call void @{name}_run(i64 %kernel, i64 %args, i64 %chunks, i64 %whole, i64 %part, i1 false, i64 0)
  call void @llvm.prefetch.p0(ptr %finished, i32 0, i32 3, i32 1)
  %count = call i64 @{name}_claim(ptr %pool, i64 -1, i64 %part)
  %by_others = sub i64 %chunks, %count
  %target = add i64 %finished_before, %by_others
  %spins_at = getelementptr i64, ptr %pool, i64 {SPINS}
  %few = load i64, ptr %spins_at
  %spins = mul i64 %few, {CALLER_PATIENCE}
  br label %spin
spin:
  %turn = phi i64 [0, %run], [%turn1, %pause]
  %now = load atomic i64, ptr %finished acquire, align 8
  %complete = icmp eq i64 %now, %target
  br i1 %complete, label %leave, label %patience
patience:
  %turn1 = add i64 %turn, 1
  %enough = icmp sge i64 %turn, %spins
  br i1 %enough, label %tired, label %pause
pause:
  call void @{name}_pause(i64 %turn)
  br label %spin
tired:
  %target_at = getelementptr i64, ptr %pool, i64 {TARGET}
  store atomic i64 %target, ptr %target_at release, align 8
  %was = atomicrmw xchg ptr %caller, i32 1 seq_cst
  %last = load atomic i64, ptr %finished seq_cst, align 8
  %over = icmp eq i64 %last, %target
  br i1 %over, label %stay, label %park
park:
  call void @{name}_park(ptr %caller)
  %then = load atomic i64, ptr %finished acquire, align 8
  %done = icmp eq i64 %then, %target
  br i1 %done, label %leave, label %tired
stay:
  call void @{name}_stay(ptr %caller)
  br label %leave
leave:
  store atomic i64 0, ptr %owner release, align 8
  ret void
alone:
  %function = inttoptr i64 %kernel to ptr
  br label %chunk
chunk:
  %c = phi i64 [0, %alone], [%c1, %one]
  %rest_of = icmp slt i64 %c, %chunks
  br i1 %rest_of, label %one, label %end
one:
  call void %function(i64 %args, i64 %c, i64 %chunks, i64 0)
  %c1 = add i64 %c, 1
  br label %chunk
end:
  ret void
}}

; The life of a worker: until it is told to stop.
define void @{name}_serve(ptr %pool, i64 %index) {{
entry:
  %finished = getelementptr i64, ptr %pool, i64 {FINISHED}
  %caller = getelementptr i64, ptr %pool, i64 {CALLER}
  %stop_at = getelementptr i64, ptr %pool, i64 {STOP}
  %spins_at = getelementptr i64, ptr %pool, i64 {SPINS}
  %slots_at = getelementptr i64, ptr %pool, i64 {SLOTS}
  %slots = load ptr, ptr %slots_at
  %place = mul i64 %index, {SLOT_WORDS}
  %slot = getelementptr i64, ptr %slots, i64 %place
  %done_at = getelementptr i64, ptr %slot, i64 {DONE}
  call void @{name}_begin(ptr %slot)
  br label %work
work:
  %count = call i64 @{name}_claim(ptr %pool, i64 %index, i64 0)
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %tell, label %wait
tell:
  %done = load atomic i64, ptr %done_at monotonic, align 8
  %done1 = add i64 %done, %count
  store atomic i64 %done1, ptr %done_at monotonic, align 8
  %others = atomicrmw add ptr %finished, i64 %count seq_cst
  %sum = add i64 %others, %count
  %sleeper = load atomic i32, ptr %caller seq_cst, align 8
  %sleeps = icmp eq i32 %sleeper, 1
  br i1 %sleeps, label %ask, label %wait
ask:
  %target_at = getelementptr i64, ptr %pool, i64 {TARGET}
  %target = load atomic i64, ptr %target_at acquire, align 8
  %last = icmp eq i64 %sum, %target
  br i1 %last, label %call, label %wait
call:
  call void @{name}_wake(ptr %caller)
  br label %tired  ; the caller may have been put behind this thread: leave it the processor
wait:
  %spins = load i64, ptr %spins_at
  br label %spin
spin:
  %turn = phi i64 [0, %wait], [%turn1, %rest]
  %stop = load atomic i64, ptr %stop_at acquire, align 8
  %stops = icmp ne i64 %stop, 0
  br i1 %stops, label %end, label %look
look:
  %wanted = call i1 @{name}_wanted(ptr %pool, i64 %index)
  br i1 %wanted, label %work, label %patience
patience:
  %turn1 = add i64 %turn, 1
  %enough = icmp sge i64 %turn, %spins
  br i1 %enough, label %tired, label %rest
rest:
  call void @{name}_pause(i64 %turn)
  br label %spin
tired:
  %was = atomicrmw xchg ptr %slot, i32 1 seq_cst
  %yet = call i1 @{name}_wanted(ptr %pool, i64 %index)
  %halt = load atomic i64, ptr %stop_at seq_cst, align 8
  %halts = icmp ne i64 %halt, 0
  %either = or i1 %yet, %halts
  br i1 %either, label %stay, label %park
stay:
  call void @{name}_stay(ptr %slot)
  br label %back
park:
  call void @{name}_park(ptr %slot)
  br label %back
back:
  call void @{name}_come_back(ptr %slot)
  br label %wait
end:
  ret void
}}

; Tell all workers to stop.
define void @{name}_stop(ptr %pool) {{
entry:
  %stop_at = getelementptr i64, ptr %pool, i64 {STOP}
  %workers_at = getelementptr i64, ptr %pool, i64 {WORKERS}
  %slots_at = getelementptr i64, ptr %pool, i64 {SLOTS}
  store atomic i64 1, ptr %stop_at seq_cst, align 8
  %workers = load atomic i64, ptr %workers_at acquire, align 8
  %slots = load ptr, ptr %slots_at
  br label %worker
worker:
  %w = phi i64 [0, %entry], [%w1, %call]
  %more = icmp slt i64 %w, %workers
  br i1 %more, label %call, label %end
call:
  %place = mul i64 %w, {SLOT_WORDS}
  %slot = getelementptr i64, ptr %slots, i64 %place
  call void @{name}_wake(ptr %slot)
  %w1 = add i64 %w, 1
  br label %worker
end:
  ret void
}}
"""


class PoolCode(NamedTuple):
    """The addresses of a pool's functions: run a launch, serve until told to stop, tell to stop."""

    share: int
    serve: int
    stop: int


def pool_code(futex: bool, hesitation: str = "", kept: Cache | None = None) -> PoolCode:
    """The functions of a pool whose threads sleep by futex, or else by Python's own locks.

    Args:
        kept: Where their machine code is kept; that with Python's locks has addresses in it, which change.
    """
    name = f"ngraph_rewrite_pool_{'futex' if futex else 'lock'}{'_late' if hesitation else ''}"
    text = waiting_code(name, futex) + claiming_code(name, hesitation) + _POOL.format(name=name, **WORDS)
    symbols = [f"{name}_{part}" for part in PoolCode._fields]
    return PoolCode(*native_functions("pool", text, symbols, kept if futex and not hesitation else None))
