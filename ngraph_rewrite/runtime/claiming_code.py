# SPDX-License-Identifier: Apache-2.0
"""How chunks are claimed in machine code: some at a time, by whoever comes, from the ends of what a ticket tells.

The *ticket*, of 64 bits, holds the number of the launch (40 bits), and of its chunks that nobody has claimed how many
there are and the first (12 bits each), so that one compare-exchange claims chunks of the launch it was read from, and
of no other. What the launch runs is written before the ticket and stays until every chunk is done: a claim that
succeeds has read what belongs to it, and one of an earlier launch cannot succeed. A kernel is told who runs it: 0 is
the caller, 1 the first worker.

Of a *brief* launch a thread claims its equal part at once; of any other, and of what is left for others, half its part
of what is left then, so that who is early does more. What takes microseconds has mostly been computed before, and lies
in the caches of the thread that did it: parts that grow and shrink from call to call move it, which takes longer than
to wait for the other. And threads that claim look at the same line, up to 0.2 microseconds each time.

The caller and every second worker claim the first chunks, the others the last. In every second launch chunks are turned
about: threads go from the middle to the ends, not from the ends to the middle. Launches that follow one another, and
calls, mostly split the same arrays alike, so a thread finds in its caches what it left there, and what it left last
first. In an order that is always the same, what is needed first of more than a cache holds is what has just gone. A
thread that is alone begins in the middle then.
"""

# Where things lie in a pool's memory and in a worker's slot, in words of 8 bytes. What is written in every launch lies
# apart, in lines of its own: what a thread waits for would come later if another wrote beside it.
SHARE, CALLER, CALLER_LOCK, STOP, WORKERS, SPINS, SLOTS, GONE, TARGET = range(9)
OWNER = 16
TICKET, KERNEL, ARGUMENTS, CHUNKS, ALLOWED, GRAIN = range(32, 38)
FINISHED, POOL_WORDS = 48, 64
ASLEEP, LOCK, DONE, THREAD, AWAY, SLOT_WORDS = 0, 1, 2, 3, 4, 16
_BITS = 12  # of a number of chunks
MOST_CHUNKS = 2**_BITS - 1  # of a launch that is shared out
BRIEF = 500_000  # nanoseconds that a launch is said to take, at most, if it is brief
# A caller has nothing else to do, and a worker at its last chunk is soon done: it looks so many times as often.
CALLER_PATIENCE = 16
WORDS = {
    "OWNER": OWNER, "CALLER": CALLER, "STOP": STOP, "WORKERS": WORKERS, "SPINS": SPINS, "SLOTS": SLOTS,
    "TARGET": TARGET, "TICKET": TICKET, "KERNEL": KERNEL, "ARGUMENTS": ARGUMENTS, "CHUNKS": CHUNKS,
    "ALLOWED": ALLOWED, "GRAIN": GRAIN, "FINISHED": FINISHED, "SLOT_WORDS": SLOT_WORDS, "DONE": DONE,
    "THREAD": THREAD, "AWAY": AWAY, "MOST_CHUNKS": MOST_CHUNKS, "BITS": _BITS, "LAUNCH_BITS": 2 * _BITS,
    "CALLER_PATIENCE": CALLER_PATIENCE, "BRIEF": BRIEF,
    "ONE_LESS": 1 << _BITS, "ONE_LESS_AND_LATER": (1 << _BITS) - 1,
}  # fmt: skip

_CLAIMING = """
; Whether a launch has chunks left that this worker may claim.
define internal i1 @{name}_wanted(ptr %pool, i64 %index) {{
  %at = getelementptr i64, ptr %pool, i64 {TICKET}
  %ticket = load atomic i64, ptr %at seq_cst, align 8
  %unclaimed = lshr i64 %ticket, {BITS}
  %left = and i64 %unclaimed, {MOST_CHUNKS}
  %some = icmp ne i64 %left, 0
  %allowed_at = getelementptr i64, ptr %pool, i64 {ALLOWED}
  %allowed = load atomic i64, ptr %allowed_at acquire, align 8
  %may = icmp slt i64 %index, %allowed
  %both = and i1 %some, %may
  ret i1 %both
}}

declare i64 @llvm.smin.i64(i64, i64)

; Wake the two workers, if they sleep, that stand below this one in a binary tree, at whose root the caller stands.
define internal void @{name}_call_others(ptr %pool, i64 %index) {{
entry:
  %workers_at = getelementptr i64, ptr %pool, i64 {WORKERS}
  %slots_at = getelementptr i64, ptr %pool, i64 {SLOTS}
  %chunks_at = getelementptr i64, ptr %pool, i64 {CHUNKS}
  %allowed_at = getelementptr i64, ptr %pool, i64 {ALLOWED}
  %workers = load atomic i64, ptr %workers_at acquire, align 8
  %slots = load ptr, ptr %slots_at
  %chunks = load atomic i64, ptr %chunks_at monotonic, align 8
  %allowed = load atomic i64, ptr %allowed_at monotonic, align 8
  %others = sub i64 %chunks, 1
  %few = call i64 @llvm.smin.i64(i64 %others, i64 %allowed)
  %wanted = call i64 @llvm.smin.i64(i64 %few, i64 %workers)
  %up = add i64 %index, 1
  %first = shl i64 %up, 1
  %last = add i64 %first, 1
  br label %worker
worker:
  %w = phi i64 [%first, %entry], [%w1, %called]
  %near = icmp sle i64 %w, %last
  %there = icmp slt i64 %w, %wanted
  %both = and i1 %near, %there
  br i1 %both, label %look, label %end
look:
  %place = mul i64 %w, {SLOT_WORDS}
  %slot = getelementptr i64, ptr %slots, i64 %place
  %asleep = load atomic i32, ptr %slot seq_cst, align 8
  %sleeps = icmp eq i32 %asleep, 1
  br i1 %sleeps, label %wake, label %called
wake:
  call void @{name}_send_away(ptr %slot)
  call void @{name}_wake(ptr %slot)
  br label %called
called:
  %w1 = add i64 %w, 1
  br label %worker
end:
  ret void
}}

declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

; How many chunks a thread claims: half its part of what is left; its equal part, if that is more and it comes first.
define internal i64 @{name}_part(i64 %left, i64 %workers, i64 %grain, i64 %before) {{
  %threads = add i64 %workers, 1
  %halves = shl i64 %threads, 1
  %less = sub i64 %halves, 1
  %up = add i64 %left, %less
  %half = udiv i64 %up, %halves
  %comes = icmp eq i64 %before, 0
  %equal = call i64 @llvm.smin.i64(i64 %grain, i64 %left)
  %more = icmp sgt i64 %equal, %half
  %all = and i1 %comes, %more
  %part = select i1 %all, i64 %equal, i64 %half
  ret i64 %part
}}

; Run chunks that this thread has claimed, from the first that the ticket told, or from the last backwards.
define internal void @{name}_run(i64 %address, i64 %args, i64 %chunks, i64 %ticket, i64 %part, i1 %last, i64 %thread) {{
entry:
  %kernel = inttoptr i64 %address to ptr
  %first = and i64 %ticket, {MOST_CHUNKS}
  %unclaimed = lshr i64 %ticket, {BITS}
  %left = and i64 %unclaimed, {MOST_CHUNKS}
  %behind = add i64 %first, %left
  %end = sub i64 %behind, 1
  %number = lshr i64 %ticket, {LAUNCH_BITS}
  %outwards = trunc i64 %number to i1
  %half = lshr i64 %chunks, 1
  br label %one
one:
  %i = phi i64 [0, %entry], [%next, %one]
  %down = sub i64 %end, %i
  %up = add i64 %first, %i
  %place = select i1 %last, i64 %down, i64 %up
  %right = icmp uge i64 %place, %half
  %upper = select i1 %right, i64 %chunks, i64 0
  %sum = add i64 %half, %upper
  %below = sub i64 %sum, 1
  %turned = sub i64 %below, %place
  %chunk = select i1 %outwards, i64 %turned, i64 %place
  call void %kernel(i64 %args, i64 %chunk, i64 %chunks, i64 %thread)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %part
  br i1 %more, label %one, label %end_of_part
end_of_part:
  ret void
}}

; Run chunks until none is left, by a thread that has run some before; how many it has run then. Whoever gets its first
; ones calls others for the rest. What they read and write at last comes nearer meanwhile.
define internal i64 @{name}_claim(ptr %pool, i64 %index, i64 %before) {{
entry:
  %ticket_at = getelementptr i64, ptr %pool, i64 {TICKET}
  %kernel_at = getelementptr i64, ptr %pool, i64 {KERNEL}
  %args_at = getelementptr i64, ptr %pool, i64 {ARGUMENTS}
  %chunks_at = getelementptr i64, ptr %pool, i64 {CHUNKS}
  %allowed_at = getelementptr i64, ptr %pool, i64 {ALLOWED}
  %grain_at = getelementptr i64, ptr %pool, i64 {GRAIN}
  %finished = getelementptr i64, ptr %pool, i64 {FINISHED}
  %thread = add i64 %index, 1
  %odd = and i64 %index, 1
  %last = icmp eq i64 %odd, 0
  br label %look
look:
  %count = phi i64 [%before, %entry], [%count, %read], [%more, %go]
  %ticket = load atomic i64, ptr %ticket_at acquire, align 8
  %unclaimed = lshr i64 %ticket, {BITS}
  %left = and i64 %unclaimed, {MOST_CHUNKS}
  %none = icmp eq i64 %left, 0
  br i1 %none, label %over, label %may
may:
  %allowed = load atomic i64, ptr %allowed_at acquire, align 8
  %ours = icmp slt i64 %index, %allowed
  br i1 %ours, label %read, label %over
read:
  %address = load atomic i64, ptr %kernel_at acquire, align 8
  %args = load atomic i64, ptr %args_at acquire, align 8
  %chunks = load atomic i64, ptr %chunks_at acquire, align 8
  %grain = load atomic i64, ptr %grain_at acquire, align 8
  %near = inttoptr i64 %args to ptr
  call void @llvm.prefetch.p0(ptr %near, i32 0, i32 3, i32 1)
  {hesitation}
  %part = call i64 @{name}_part(i64 %left, i64 %allowed, i64 %grain, i64 %count)
  %change = select i1 %last, i64 {ONE_LESS}, i64 {ONE_LESS_AND_LATER}
  %changes = mul i64 %change, %part
  %fewer = sub i64 %ticket, %changes
  %pair = cmpxchg ptr %ticket_at, i64 %ticket, i64 %fewer acq_rel acquire
  %claimed = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %claimed, label %begin, label %look
begin:
  call void @llvm.prefetch.p0(ptr %finished, i32 1, i32 3, i32 1)
  %begins = icmp eq i64 %count, 0
  %rest = icmp ugt i64 %left, %part
  %calls = and i1 %begins, %rest
  br i1 %calls, label %call, label %go
call:
  call void @{name}_call_others(ptr %pool, i64 %index)
  br label %go
go:
  call void @{name}_run(i64 %address, i64 %args, i64 %chunks, i64 %ticket, i64 %part, i1 %last, i64 %thread)
  %more = add i64 %count, %part
  br label %look
over:
  ret i64 %count
}}
"""


def claiming_code(name: str, hesitation: str = "") -> str:
    """The functions ``NAME_wanted``, ``NAME_part``, ``NAME_run`` and ``NAME_claim`` of a pool; the caller is number -1.

    They need those of `ngraph_rewrite.runtime.waiting_code`.

    Args:
        hesitation: What a thread does between reading a launch and claiming a chunk of it, where being late matters.

    >>> "@x_claim(ptr" in claiming_code("x")
    True
    """
    return _CLAIMING.format(name=name, hesitation=hesitation, **WORDS)
