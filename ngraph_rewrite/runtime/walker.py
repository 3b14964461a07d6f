# SPDX-License-Identifier: Apache-2.0
"""The machine code that walks a launch table, and stops from time to time, so that Python can look at signals.

A row is a kernel, its arguments, its number of chunks and its weight; or, with no kernel, rows that are repeated. With
no chunks, the kernel shares out parts of itself: it is told of how many workers, none, and where the pool is. A walk
takes the weight of each row it has run from what is left of its budget, and returns where it stands when nothing
is left. What is repeated keeps its own place in its record: how often it has run, and where in its rows it stands.

The words of a record are the rows, their number, the moves, their number, how often they have run, the row, the address
of a flag that says whether to go on, or 0, whether it is in the middle of a time; those of a context the pool or 0, the
number of workers, the budget, what is left of it. A move is where a word lies and what is added to it each time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.native import native_functions

# The words of what lies in memory, in order: of a row, a context, a record of rows that are repeated, a move, and of a
# table that is walked whole.
_ROW = "address args chunks weight".split()
_CONTEXT = "pool workers budget left".split()
_RECORD = "body length moves moving times stands flag inside".split()
_MOVE = "where step".split()
_TABLE = "table length context".split()


def _places(base: str, layout: list[str], *names: str) -> str:
    """Lines that find words: ``%NAME_at``."""
    return "".join(f"  %{name}_at = getelementptr i64, ptr {base}, i64 {layout.index(name)}\n" for name in names)


def _words(base: str, layout: list[str], *names: str) -> str:
    """Lines that load words, which are numbers."""
    return _places(base, layout, *names) + "".join(f"  %{name} = load i64, ptr %{name}_at\n" for name in names)


_WALKER = f"""
define i64 @ngraph_rewrite_walk(i64 %table, i64 %first, i64 %count, ptr %context) {{
{_places("%context", _CONTEXT, "left")}{_words("%context", _CONTEXT, "budget")}
  store i64 %budget, ptr %left_at
  %stands = call i64 @ngraph_rewrite_rows(i64 %table, i64 %first, i64 %count, ptr %context)
  ret i64 %stands
}}

define internal i64 @ngraph_rewrite_rows(i64 %table, i64 %first, i64 %count, ptr %context) {{
entry:
  %rows = inttoptr i64 %table to ptr
{_places("%context", _CONTEXT, "left")}{_words("%context", _CONTEXT, "workers")}
  %pool = load ptr, ptr %context
  %no_pool = icmp eq ptr %pool, null
  br label %row
row:
  %i = phi i64 [%first, %entry], [%next, %done]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %read, label %end
read:
  %base = mul i64 %i, 4
  %at = getelementptr i64, ptr %rows, i64 %base
{_words("%at", _ROW, "address", "args", "chunks", "weight")}
  %kernel = inttoptr i64 %address to ptr
  %repeats = icmp eq i64 %address, 0
  br i1 %repeats, label %loop, label %launch
launch:
  %parts = icmp eq i64 %chunks, 0
  br i1 %parts, label %parted, label %plain
parted:
  %others = select i1 %no_pool, i64 0, i64 %workers
  %told = ptrtoint ptr %pool to i64
  call void %kernel(i64 %args, i64 %others, i64 0, i64 %told)
  br label %done
plain:
  %one = icmp sle i64 %chunks, 1
  %alone = or i1 %one, %no_pool
  br i1 %alone, label %chunk, label %shared
shared:
  %share = load ptr, ptr %pool
  call void %share(ptr %pool, i64 %address, i64 %args, i64 %chunks, i64 %workers, i64 %weight)
  br label %done
chunk:
  %c = phi i64 [0, %plain], [%c1, %call]
  %some = icmp slt i64 %c, %chunks
  br i1 %some, label %call, label %done
call:
  call void %kernel(i64 %args, i64 %c, i64 %chunks, i64 0)
  %c1 = add i64 %c, 1
  br label %chunk
loop:
  %record = inttoptr i64 %args to ptr
{_words("%record", _RECORD, "body", "length", "moves", "moving")}
{_places("%record", _RECORD, "times", "stands", "flag", "inside")}
  %flag = load ptr, ptr %flag_at
  %counted = icmp eq ptr %flag, null
  br label %time
time:
  %t = load i64, ptr %times_at
  %again = icmp slt i64 %t, %chunks
  br i1 %again, label %ask, label %back
ask:
  %inside = load i64, ptr %inside_at
  %begun = icmp ne i64 %inside, 0
  %sure = or i1 %counted, %begun
  br i1 %sure, label %once, label %look
look:
  %byte = load i8, ptr %flag
  %goes_on = icmp ne i8 %byte, 0
  br i1 %goes_on, label %once, label %back
once:
  store i64 1, ptr %inside_at
  %begin = load i64, ptr %stands_at
  %stands = call i64 @ngraph_rewrite_rows(i64 %body, i64 %begin, i64 %length, ptr %context)
  store i64 %stands, ptr %stands_at
  %unfinished = icmp slt i64 %stands, %length
  br i1 %unfinished, label %end, label %moved
moved:
  call void @ngraph_rewrite_move(i64 %moves, i64 %moving, i64 1)
  %t1 = add i64 %t, 1
  store i64 %t1, ptr %times_at
  store i64 0, ptr %stands_at
  store i64 0, ptr %inside_at
  %left_here = load i64, ptr %left_at
  %tired_here = icmp slt i64 %left_here, 0
  br i1 %tired_here, label %end, label %time
back:
  %all = sub i64 0, %t
  call void @ngraph_rewrite_move(i64 %moves, i64 %moving, i64 %all)
  store i64 0, ptr %times_at
  br label %done
done:
  %next = add i64 %i, 1
  %left = load i64, ptr %left_at
  %less = sub i64 %left, %weight
  store i64 %less, ptr %left_at
  %tired = icmp slt i64 %less, 0
  br i1 %tired, label %stop, label %row
stop:
  ret i64 %next
end:
  ret i64 %i
}}

; As a kernel: walk the whole of one table of several, in this thread alone.
define void @ngraph_rewrite_walk_one(i64 %tables, i64 %number, i64 %count, i64 %thread) {{
  %words = inttoptr i64 %tables to ptr
  %at = mul i64 %number, 3
  %own = getelementptr i64, ptr %words, i64 %at
{_words("%own", _TABLE, "table", "length")}{_places("%own", _TABLE, "context")}
  %context = load ptr, ptr %context_at
  %stands = call i64 @ngraph_rewrite_walk(i64 %table, i64 0, i64 %length, ptr %context)
  ret void
}}

define internal void @ngraph_rewrite_move(i64 %table, i64 %count, i64 %times) {{
entry:
  %moves = inttoptr i64 %table to ptr
  br label %move
move:
  %i = phi i64 [0, %entry], [%next, %one]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %base = mul i64 %i, 2
  %at = getelementptr i64, ptr %moves, i64 %base
{_words("%at", _MOVE, "where", "step")}
  %slot = inttoptr i64 %where to ptr
  %before = load i64, ptr %slot
  %by = mul i64 %step, %times
  %after = add i64 %before, %by
  store i64 %after, ptr %slot
  %next = add i64 %i, 1
  br label %move
end:
  ret void
}}

; Give what is repeated the place and the arguments it begins with.
define void @ngraph_rewrite_rewind(i64 %table, i64 %count) {{
entry:
  %records = inttoptr i64 %table to ptr
  br label %next_record
next_record:
  %i = phi i64 [0, %entry], [%next, %one]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %at = getelementptr i64, ptr %records, i64 %i
  %record = load ptr, ptr %at
{_words("%record", _RECORD, "moves", "moving", "times")}{_places("%record", _RECORD, "stands", "inside")}
  %back = sub i64 0, %times
  call void @ngraph_rewrite_move(i64 %moves, i64 %moving, i64 %back)
  store i64 0, ptr %times_at
  store i64 0, ptr %stands_at
  store i64 0, ptr %inside_at
  %next = add i64 %i, 1
  br label %next_record
end:
  ret void
}}
"""


class Walker(NamedTuple):
    """Compiled functions; ctypes releases the interpreter lock around them, and no signal comes between.

    Attributes:
        walk: From (rows, first, number, context) to where it stands.
        rewind: Of (addresses of records, number).
        address: Of `walk`, for machine code that calls it.
        one: The address of a kernel whose arguments are tables: three words each, its rows, their number and a context
            of its own.
    """

    walk: Callable[[int, int, int, int], int]
    rewind: Callable[[int, int], None]
    address: int
    one: int


def walker(kept: Cache | None = None) -> Walker:
    """The functions that walk launch tables.

    Args:
        kept: Where their machine code is kept, if they have to be compiled.
    """
    symbols = ("ngraph_rewrite_walk", "ngraph_rewrite_rewind", "ngraph_rewrite_walk_one")
    return _functions(*native_functions("walker", _WALKER, symbols, kept))


@cache
def _functions(walk: int, rewind: int, one: int) -> Walker:
    word = ctypes.c_int64
    walking, rewinding = ctypes.CFUNCTYPE(word, word, word, word, word), ctypes.CFUNCTYPE(None, word, word)
    return Walker(walking(walk), rewinding(rewind), walk, one)
