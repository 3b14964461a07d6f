# SPDX-License-Identifier: Apache-2.0
"""The machine code of a call: it looks at the arrays it is given, runs the launch table, and returns arrays.

It is a function of CPython's fast calling convention. It takes what is usual only, exact arrays that need no
conversion; for all else it has done nothing yet, and calls the Python method it was given.
While arguments are patched and the table is walked nothing of Python runs: whoever holds the interpreter lock holds
all, so no other lock is taken, but nobody else may have one: the gates, words that have to be 0, tell. A call that
takes longer lets go of the interpreter lock while the table is walked, and holds the computation's instead.

What it knows of a computation is in `ngraph_rewrite.runtime.entry_parts`.
"""

from ngraph_rewrite.runtime.entry_parts import (
    APART,
    ARRAY_DATA,
    FITS,
    GIVEN,
    OBJECT_SIZE,
    OPEN,
    PATCH,
    READABLE,
    TUPLE_ITEMS,
    api,
    field,
    header,
)
from ngraph_rewrite.runtime.entry_results import MADE, NEW

_CALL = f"""
define ptr @ngraph_rewrite_entry(ptr %self, ptr %args, i64 %given, ptr %names) {{
entry:
{field("words", "%self", TUPLE_ITEMS)}{field("header", "%words", ARRAY_DATA)}
{header("api", "inputs", "results", "specs")}
{api("array_type", "decref", "incref", "new_tuple", "set_tuple", "new_list", "set_list", "none", "out", "integer")}
{api("call_alone", "let_go", "come_back", "clear")}
  %taken_at = alloca i64
  store i64 0, ptr %taken_at
  %right_number = icmp eq i64 %given, %inputs
  %open_before = call i1 @open(ptr %header, i1 false)
  %may = and i1 %right_number, %open_before
  br i1 %may, label %room, label %slow
room:
  %all = add i64 %inputs, %results
  %arrays = alloca ptr, i64 %all
  br label %input
input:
  %i = phi i64 [0, %room], [%next, %take]
  %next = add i64 %i, 1
  %more = icmp slt i64 %i, %inputs
  br i1 %more, label %check, label %named
check:
  %arg_at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg_at
  %spec = getelementptr [4 x i64], ptr %specs, i64 %i
  %fits = call i1 @fits(ptr %arg, ptr %spec, i32 {READABLE}, ptr %array_type)
  br i1 %fits, label %take, label %slow
take:
  %arg_place = getelementptr ptr, ptr %arrays, i64 %i
  store ptr %arg, ptr %arg_place
  br label %input
named:
  %no_names = icmp eq ptr %names, null
  br i1 %no_names, label %allocate, label %names_are
names_are:
{field("name_count", "%names", OBJECT_SIZE, "i64")}{field("name", "%names", TUPLE_ITEMS)}
  %one_name = icmp eq i64 %name_count, 1
  %named_out = icmp eq ptr %name, %out
  %out_only = and i1 %one_name, %named_out
  br i1 %out_only, label %out_is, label %slow
out_is:
  %out_place = getelementptr ptr, ptr %args, i64 %inputs
  %out_value = load ptr, ptr %out_place
  %out_none = icmp eq ptr %out_value, %none
  br i1 %out_none, label %allocate, label %out_arrays
out_arrays:
  %out_right = call i1 @given(ptr %header, ptr %out_value, ptr %arrays, ptr %taken_at)
  br i1 %out_right, label %allocate, label %give_up
allocate:
{header("acquire", "release")}
  %long = icmp ne ptr %acquire, null
  br i1 %long, label %lock, label %forget
lock:  ; nobody had it; who takes it now is waited for, and finds the last call whole
  %locked = call ptr %call_alone(ptr %acquire)
  %not_locked = icmp eq ptr %locked, null
  br i1 %not_locked, label %fail, label %has_lock
has_lock:
  call void %decref(ptr %locked)
  br label %forget
forget:  ; the memory of the last results is given back first: what nobody has any more is in the caches
{header("holder")}
  call void %incref(ptr %none)
  call i32 %set_list(ptr %holder, i64 0, ptr %none)
  %are_made = call i1 @made(ptr %header, ptr %arrays, ptr %taken_at)
  br i1 %are_made, label %objects, label %no_memory
objects:
{header("kept", "structure", "items", "valued")}
  %size = add i64 %all, 2
  %record = call ptr %new_tuple(i64 %size)
  %no_record = icmp eq ptr %record, null
  br i1 %no_record, label %no_memory, label %record_is
record_is:
  switch i64 %structure, label %ready [i64 1, label %as_tuple i64 2, label %as_list]
as_tuple:
  %a_tuple = call ptr %new_tuple(i64 %items)
  %no_tuple = icmp eq ptr %a_tuple, null
  br i1 %no_tuple, label %no_container, label %ready
as_list:
  %a_list = call ptr %new_list(i64 %items)
  %no_list = icmp eq ptr %a_list, null
  br i1 %no_list, label %no_container, label %ready
ready:
  %container = phi ptr [null, %record_is], [%a_tuple, %as_tuple], [%a_list, %as_list]
  %open_now = call i1 @open(ptr %header, i1 %long)
  br i1 %open_now, label %begin, label %closed
begin:
{header("counter", "call", "rows", "row_count", "context", "walk")}
  %calls = load i64, ptr %counter
  store i64 %calls, ptr %call
  call void @patch(ptr %header, ptr %arrays)
  br i1 %long, label %leave, label %walking
leave:
  %thread = call ptr %let_go()
  br label %walking
walking:
  %stood = phi i64 [0, %begin], [0, %leave], [%stands, %walking]
  %gone = phi ptr [null, %begin], [%thread, %leave], [%gone, %walking]
  %stands = call i64 %walk(ptr %rows, i64 %stood, i64 %row_count, ptr %context)
  %unfinished = icmp slt i64 %stands, %row_count
  br i1 %unfinished, label %walking, label %walked
walked:
  br i1 %long, label %return, label %done
return:
  call void %come_back(ptr %gone)
  %unlocked = call ptr %call_alone(ptr %release)
  call void %decref(ptr %unlocked)
  br label %done
done:
  %calls_now = add i64 %calls, 1
  store i64 %calls_now, ptr %counter
  %number = call ptr %integer(i64 %calls)
  call void %incref(ptr %kept)
  call i32 %set_tuple(ptr %record, i64 0, ptr %kept)
  call i32 %set_tuple(ptr %record, i64 1, ptr %number)
  br label %note
note:
  %j = phi i64 [0, %done], [%j_next, %noted]
  %j_next = add i64 %j, 1
  %j_more = icmp slt i64 %j, %all
  br i1 %j_more, label %note_one, label %answer
note_one:
  %array_at = getelementptr ptr, ptr %arrays, i64 %j
  %array = load ptr, ptr %array_at
  %borrowed = icmp slt i64 %j, %inputs
  br i1 %borrowed, label %borrow, label %noted
borrow:
  call void %incref(ptr %array)
  br label %noted
noted:
  %position = add i64 %j, 2
  call i32 %set_tuple(ptr %record, i64 %position, ptr %array)
  br label %note
answer:
  %result_places = getelementptr ptr, ptr %arrays, i64 %inputs
  br label %item
item:
  %k = phi i64 [0, %answer], [%k_next, %placed]
  %used = phi i64 [0, %answer], [%used_now, %placed]
  %single = phi ptr [%none, %answer], [%found, %placed]
  %k_next = add i64 %k, 1
  %k_more = icmp slt i64 %k, %items
  br i1 %k_more, label %find, label %finish
find:
  %has_at = getelementptr i64, ptr %valued, i64 %k
  %has = load i64, ptr %has_at
  %is_valued = icmp ne i64 %has, 0
  br i1 %is_valued, label %value, label %place
value:
  %value_at = getelementptr ptr, ptr %result_places, i64 %used
  %value_there = load ptr, ptr %value_at
  br label %place
place:
  %found = phi ptr [%none, %find], [%value_there, %value]
  %used_now = add i64 %used, %has
  call void %incref(ptr %found)
  switch i64 %structure, label %placed [i64 1, label %into_tuple i64 2, label %into_list]
into_tuple:
  call i32 %set_tuple(ptr %container, i64 %k, ptr %found)
  br label %placed
into_list:
  call i32 %set_list(ptr %container, i64 %k, ptr %found)
  br label %placed
placed:
  br label %item
finish:
  %is_single = icmp eq ptr %container, null
  %answered = select i1 %is_single, ptr %single, ptr %container
  call i32 %set_list(ptr %holder, i64 0, ptr %record)
  ret ptr %answered

closed:
  call void %decref(ptr %record)
  %has_container = icmp ne ptr %container, null
  br i1 %has_container, label %drop_container, label %unlock
drop_container:
  call void %decref(ptr %container)
  br label %unlock
no_container:
  call void %decref(ptr %record)
  br label %no_memory
no_memory:  ; the method tries once more, and says so
  call void %clear()
  br label %unlock
unlock:
  br i1 %long, label %let_lock, label %give_up
let_lock:
  %let = call ptr %call_alone(ptr %release)
  call void %decref(ptr %let)
  br label %give_up
fail:
  call void @drop(ptr %arrays, i64 %inputs, ptr %taken_at, ptr %decref)
  ret ptr null
give_up:
  call void @drop(ptr %arrays, i64 %inputs, ptr %taken_at, ptr %decref)
  br label %slow
slow:
  %slow_answer = call ptr @slow(ptr %header, ptr %args, i64 %given, ptr %names)
  ret ptr %slow_answer
}}

; let go of the results
define internal void @drop(ptr %arrays, i64 %first, ptr %taken_at, ptr %decref) {{
entry:
  %taken = load i64, ptr %taken_at
  br label %one
one:
  %i = phi i64 [0, %entry], [%next, %release]
  %next = add i64 %i, 1
  %more = icmp slt i64 %i, %taken
  br i1 %more, label %release, label %end
release:
  %number = add i64 %first, %i
  %at = getelementptr ptr, ptr %arrays, i64 %number
  %array = load ptr, ptr %at
  call void %decref(ptr %array)
  br label %one
end:
  ret void
}}

; call the method for what is not usual
define internal ptr @slow(ptr %header, ptr %args, i64 %given, ptr %names) {{
entry:
{header("api", "slow_object", "slow_name")}{api("call_method")}
  %has_names = icmp ne ptr %names, null
  br i1 %has_names, label %names_are, label %copy
names_are:
{field("name_count", "%names", OBJECT_SIZE, "i64")}
  br label %copy
copy:
  %more_values = phi i64 [0, %entry], [%name_count, %names_are]
  %values = add i64 %given, %more_values
  %all = add i64 %values, 1
  %with_self = alloca ptr, i64 %all
  store ptr %slow_object, ptr %with_self
  %rest = getelementptr ptr, ptr %with_self, i64 1
  br label %one
one:
  %i = phi i64 [0, %copy], [%next, %move]
  %next = add i64 %i, 1
  %some = icmp slt i64 %i, %values
  br i1 %some, label %move, label %ask
move:
  %from = getelementptr ptr, ptr %args, i64 %i
  %to = getelementptr ptr, ptr %rest, i64 %i
  %value = load ptr, ptr %from
  store ptr %value, ptr %to
  br label %one
ask:
  %positional = add i64 %given, 1
  %answer = call ptr %call_method(ptr %slow_name, ptr %with_self, i64 %positional, ptr %names)
  ret ptr %answer
}}
"""
ENTRY = "\n".join([FITS, APART, PATCH, OPEN, GIVEN, NEW, MADE, _CALL])
