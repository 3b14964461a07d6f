# SPDX-License-Identifier: Apache-2.0
"""How chunks are claimed in machine code: one by one, by whoever comes, from the ends of what one 64-bit ticket tells.

The *ticket* holds the number of the launch (40 bits), and of its chunks that nobody has claimed how many there are and
the first (12 bits each), so that one compare-exchange claims a chunk of the launch it was read from, and of no other.
What the launch runs is written before the ticket and stays until every chunk is done: a claim that succeeds has read
what belongs to it, and one of an earlier launch cannot succeed. A kernel is told who runs it: 0 is the caller, 1 the
first worker.

The caller and every second worker claim the first chunk, the others the last. In every second launch chunks are turned
about: threads go from the middle to the ends, not from the ends to the middle. Launches that follow one another, and
calls, mostly split the same arrays alike, so a thread finds in its caches what it left there, and what it left last
first. In an order that is always the same, what is needed first of more than a cache holds is what has just gone. A
thread that is alone begins in the middle then.
"""

# Where things lie in a pool's memory and in a worker's slot, in words of 8 bytes; what is written often lies apart.
SHARE, OWNER, CALLER, CALLER_LOCK, STOP, WORKERS, SPINS, SLOTS, GONE = range(9)
TICKET, KERNEL, ARGUMENTS, CHUNKS, ALLOWED, FINISHED = 16, 17, 18, 19, 20, 32
POOL_WORDS = 48
ASLEEP, LOCK, DONE, THREAD, AWAY, SLOT_WORDS = 0, 1, 2, 3, 4, 16
_BITS = 12  # of a number of chunks
MOST_CHUNKS = 2**_BITS - 1  # of a launch that is shared out
# A caller has nothing else to do, and a worker at its last chunk is soon done: it looks so many times as often.
CALLER_PATIENCE = 16
WORDS = {
    "OWNER": OWNER, "CALLER": CALLER, "STOP": STOP, "WORKERS": WORKERS, "SPINS": SPINS, "SLOTS": SLOTS,
    "TICKET": TICKET, "KERNEL": KERNEL, "ARGUMENTS": ARGUMENTS, "CHUNKS": CHUNKS, "ALLOWED": ALLOWED,
    "FINISHED": FINISHED, "SLOT_WORDS": SLOT_WORDS, "DONE": DONE, "THREAD": THREAD, "AWAY": AWAY,
    "MOST_CHUNKS": MOST_CHUNKS, "BITS": _BITS, "LAUNCH_BITS": 2 * _BITS, "CALLER_PATIENCE": CALLER_PATIENCE,
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

; Run chunks until none is left; how many these were, and out of how many. Whoever gets one calls others for the rest.
define internal {{ i64, i64 }} @{name}_claim(ptr %pool, i64 %index) {{
entry:
  %ticket_at = getelementptr i64, ptr %pool, i64 {TICKET}
  %kernel_at = getelementptr i64, ptr %pool, i64 {KERNEL}
  %args_at = getelementptr i64, ptr %pool, i64 {ARGUMENTS}
  %chunks_at = getelementptr i64, ptr %pool, i64 {CHUNKS}
  %allowed_at = getelementptr i64, ptr %pool, i64 {ALLOWED}
  %thread = add i64 %index, 1
  %odd = and i64 %index, 1
  %last = icmp eq i64 %odd, 0
  br label %look
look:
  %count = phi i64 [0, %entry], [%count, %read], [%more, %go]
  %of = phi i64 [0, %entry], [%of, %read], [%chunks, %go]
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
  {hesitation}
  %change = select i1 %last, i64 {ONE_LESS}, i64 {ONE_LESS_AND_LATER}
  %fewer = sub i64 %ticket, %change
  %pair = cmpxchg ptr %ticket_at, i64 %ticket, i64 %fewer acq_rel acquire
  %claimed = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %claimed, label %run, label %look
run:
  %begins = icmp eq i64 %count, 0
  %rest = icmp ugt i64 %left, 1
  %calls = and i1 %begins, %rest
  br i1 %calls, label %call, label %go
call:
  call void @{name}_call_others(ptr %pool, i64 %index)
  br label %go
go:
  %first = and i64 %ticket, {MOST_CHUNKS}
  %behind = add i64 %first, %left
  %end = sub i64 %behind, 1
  %place = select i1 %last, i64 %end, i64 %first
  %number = lshr i64 %ticket, {LAUNCH_BITS}
  %outwards = trunc i64 %number to i1
  %half = lshr i64 %chunks, 1
  %right = icmp uge i64 %place, %half
  %upper = select i1 %right, i64 %chunks, i64 0
  %sum = add i64 %half, %upper
  %below = sub i64 %sum, 1
  %turned = sub i64 %below, %place
  %chunk = select i1 %outwards, i64 %turned, i64 %place
  %kernel = inttoptr i64 %address to ptr
  call void %kernel(i64 %args, i64 %chunk, i64 %chunks, i64 %thread)
  %more = add i64 %count, 1
  br label %look
over:
  %ran = insertvalue {{ i64, i64 }} undef, i64 %count, 0
  %both = insertvalue {{ i64, i64 }} %ran, i64 %of, 1
  ret {{ i64, i64 }} %both
}}
"""


def claiming_code(name: str, hesitation: str = "") -> str:
    """The functions ``NAME_wanted`` and ``NAME_claim`` of a pool and the number of a worker; the caller's is -1.

    They need those of `ngraph_rewrite.runtime.waiting_code`.

    Args:
        hesitation: What a thread does between reading a launch and claiming a chunk of it, where being late matters.

    >>> "@x_claim(ptr" in claiming_code("x")
    True
    """
    return _CLAIMING.format(name=name, hesitation=hesitation, **WORDS)
