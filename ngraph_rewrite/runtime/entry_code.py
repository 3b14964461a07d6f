# SPDX-License-Identifier: Apache-2.0
"""The machine code of a call: it looks at the arrays it is given, runs the launch table, and returns arrays.

It is a function of CPython's fast calling convention. It takes what is usual only, exact arrays that need no
conversion; for all else it has done nothing yet, and calls the Python method it was given.
While arguments are patched and the table is walked nothing of Python runs: whoever holds the interpreter lock holds
all, so no other lock is taken, but nobody else may have one: the gates, words that have to be 0, tell.

What it knows of a computation are the words of a header, at the addresses of which objects are arrays:

* the API of Python and NumPy (`API`); the numbers of inputs and of results; what they have to be, four words each: the
  dtype, the rank, where the shape is, the bytes;
* patches, three words each: where an address goes, of which array, how far into it; their number;
* rows of the launch table, their number, the context, the walker; gates, their number;
* where calls are counted, and where kernels read the number;
* a list that keeps what the last call took and gave; an object that is kept with it;
* what is returned: 0 for the first result, 1 for a tuple, 2 for a list; of how many items; where a word for each says
  whether it has a value; how many of them have;
* an object and the name of its method to call with what is not usual.
"""

API = (
    "array_type empty incref decref new_tuple set_tuple new_list set_list integer "
    "none not_implemented out tuple_type list_type call_method"
).split()
HEADER = (
    "api inputs results specs patches patch_count rows row_count context walk gates gate_count "
    "counter call holder kept structure items valued slow_object slow_name"
).split()
# Where CPython and NumPy keep these, in bytes; `ngraph_rewrite.runtime.array_api` looks whether they do.
OBJECT_TYPE, OBJECT_SIZE, TUPLE_ITEMS, LIST_ITEMS = 8, 16, tuple.__basicsize__, 24
ARRAY_DATA, ARRAY_RANK, ARRAY_SHAPE, ARRAY_DTYPE, ARRAY_FLAGS = 16, 24, 32, 56, 64
READABLE, WRITEABLE = 0x101, 0x501  # C-contiguous and aligned; and writeable
_NUMBERS = frozenset("inputs results patch_count row_count gate_count structure items".split())


def _field(name: str, base: str, offset: int, kind: str = "ptr") -> str:
    """Lines that load what stands so many bytes into memory."""
    return f"  %{name}_at = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}_at\n"


def _header(*names: str) -> str:
    """Lines that load words of the header."""
    kinds = {name: "i64" if name in _NUMBERS else "ptr" for name in names}
    return "".join(_field(name, "%header", 8 * HEADER.index(name), kind) for name, kind in kinds.items())


def _api(*names: str) -> str:
    return "".join(_field(name, "%api", 8 * API.index(name)) for name in names)


_FITS = f"""
; whether an object is an array of a dtype and shape, with flags set
define internal i1 @fits(ptr %array, ptr %spec, i32 %flags, ptr %array_type) {{
entry:
{_field("type", "%array", OBJECT_TYPE)}
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %array_is, label %no
array_is:
{_field("dtype", "%array", ARRAY_DTYPE)}{_field("rank", "%array", ARRAY_RANK, "i32")}
{_field("found", "%array", ARRAY_FLAGS, "i32")}{_field("shape", "%array", ARRAY_SHAPE)}
{_field("wanted_dtype", "%spec", 0)}{_field("wanted_rank", "%spec", 8, "i64")}{_field("wanted_shape", "%spec", 16)}
  %set = and i32 %found, %flags
  %rank64 = zext i32 %rank to i64
  %same_dtype = icmp eq ptr %dtype, %wanted_dtype
  %same_rank = icmp eq i64 %rank64, %wanted_rank
  %same_flags = icmp eq i32 %set, %flags
  %both = and i1 %same_dtype, %same_rank
  %all = and i1 %both, %same_flags
  br i1 %all, label %length, label %no
length:
  %i = phi i64 [0, %array_is], [%next, %same]
  %more = icmp slt i64 %i, %rank64
  br i1 %more, label %compare, label %yes
compare:
  %one_at = getelementptr i64, ptr %shape, i64 %i
  %other_at = getelementptr i64, ptr %wanted_shape, i64 %i
  %one = load i64, ptr %one_at
  %other = load i64, ptr %other_at
  %next = add i64 %i, 1
  %equal = icmp eq i64 %one, %other
  br i1 %equal, label %same, label %no
same:
  br label %length
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
_APART = f"""
; whether array `at` shares no memory with those before it
define internal i1 @apart(ptr %arrays, ptr %specs, i64 %at) {{
entry:
  %mine_at = getelementptr ptr, ptr %arrays, i64 %at
  %mine = load ptr, ptr %mine_at
  %my_spec = getelementptr [4 x i64], ptr %specs, i64 %at
{_field("begin", "%mine", ARRAY_DATA, "i64")}{_field("bytes", "%my_spec", 24, "i64")}
  %end = add i64 %begin, %bytes
  br label %array
array:
  %i = phi i64 [0, %entry], [%next, %other]
  %next = add i64 %i, 1
  %more = icmp slt i64 %i, %at
  br i1 %more, label %other, label %yes
other:
  %its_at = getelementptr ptr, ptr %arrays, i64 %i
  %its = load ptr, ptr %its_at
  %its_spec = getelementptr [4 x i64], ptr %specs, i64 %i
{_field("its_begin", "%its", ARRAY_DATA, "i64")}{_field("its_bytes", "%its_spec", 24, "i64")}
  %its_end = add i64 %its_begin, %its_bytes
  %before = icmp ule i64 %end, %its_begin
  %after = icmp uge i64 %begin, %its_end
  %outside = or i1 %before, %after
  %nothing = icmp eq i64 %bytes, 0
  %nothing_there = icmp eq i64 %its_bytes, 0
  %either = or i1 %nothing, %nothing_there
  %free = or i1 %outside, %either
  br i1 %free, label %array, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
_PATCH = f"""
; write the addresses of arrays into the arguments of kernels
define internal void @patch(ptr %header, ptr %arrays) {{
entry:
{_header("patches", "patch_count")}
  br label %one
one:
  %i = phi i64 [0, %entry], [%next, %write]
  %next = add i64 %i, 1
  %more = icmp slt i64 %i, %patch_count
  br i1 %more, label %write, label %end
write:
  %patch = getelementptr [3 x i64], ptr %patches, i64 %i
{_field("slot", "%patch", 0)}{_field("number", "%patch", 8, "i64")}{_field("into", "%patch", 16, "i64")}
  %array_at = getelementptr ptr, ptr %arrays, i64 %number
  %array = load ptr, ptr %array_at
{_field("data", "%array", ARRAY_DATA, "i64")}
  %address = add i64 %data, %into
  store i64 %address, ptr %slot
  br label %one
end:
  ret void
}}

; the same for those that Python code has looked at
define ptr @ngraph_rewrite_fill(ptr %self, ptr %arrays, i64 %count) {{
entry:
{_field("words", "%self", TUPLE_ITEMS)}{_field("header", "%words", ARRAY_DATA)}
{_header("api", "inputs", "results")}{_api("incref", "none", "not_implemented")}
  %all = add i64 %inputs, %results
  %right = icmp eq i64 %all, %count
  br i1 %right, label %fill, label %return
fill:
  call void @patch(ptr %header, ptr %arrays)
  br label %return
return:
  %answer = phi ptr [%none, %fill], [%not_implemented, %entry]
  call void %incref(ptr %answer)
  ret ptr %answer
}}
"""
_OPEN = f"""
; whether all gates are open
define internal i1 @open(ptr %header) {{
entry:
{_header("gates", "gate_count")}
  br label %gate
gate:
  %i = phi i64 [0, %entry], [%next, %look]
  %next = add i64 %i, 1
  %more = icmp slt i64 %i, %gate_count
  br i1 %more, label %look, label %yes
look:
  %at = getelementptr ptr, ptr %gates, i64 %i
  %word_at = load ptr, ptr %at
  %word = load i64, ptr %word_at
  %is_open = icmp eq i64 %word, 0
  br i1 %is_open, label %gate, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
_GIVEN = f"""
; the arrays in `out`, each with a reference of its own: how many of them were taken, and whether all are right
define internal i1 @given(ptr %header, ptr %out, ptr %arrays, ptr %taken_at) {{
entry:
{_header("api", "inputs", "specs", "structure", "items", "valued")}
{_api("array_type", "incref", "tuple_type", "list_type")}
  %one_alone = alloca ptr
  store ptr %out, ptr %one_alone
  %alone = icmp eq i64 %structure, 0
  br i1 %alone, label %look, label %container
container:
{_field("type", "%out", OBJECT_TYPE)}
  %is_tuple = icmp eq ptr %type, %tuple_type
  %is_list = icmp eq ptr %type, %list_type
  %is_either = or i1 %is_tuple, %is_list
  br i1 %is_either, label %sized, label %no
sized:
{_field("size", "%out", OBJECT_SIZE, "i64")}{_field("of_list", "%out", LIST_ITEMS)}
  %of_tuple = getelementptr i8, ptr %out, i64 {TUPLE_ITEMS}
  %inside = select i1 %is_tuple, ptr %of_tuple, ptr %of_list
  %right_size = icmp eq i64 %size, %items
  br i1 %right_size, label %look, label %no
look:
  %parts = phi ptr [%one_alone, %entry], [%inside, %sized]
  br label %item
item:
  %i = phi i64 [0, %look], [%next, %following]
  %taken = phi i64 [0, %look], [%taken_now, %following]
  %next = add i64 %i, 1
  %more = icmp slt i64 %i, %items
  br i1 %more, label %ask, label %yes
ask:
  %has_value_at = getelementptr i64, ptr %valued, i64 %i
  %has_value_word = load i64, ptr %has_value_at
  %has_value = icmp ne i64 %has_value_word, 0
  br i1 %has_value, label %check, label %following
check:
  %part_at = getelementptr ptr, ptr %parts, i64 %i
  %part = load ptr, ptr %part_at
  %number = add i64 %inputs, %taken
  %spec = getelementptr [4 x i64], ptr %specs, i64 %number
  %fits = call i1 @fits(ptr %part, ptr %spec, i32 {WRITEABLE}, ptr %array_type)
  br i1 %fits, label %keep, label %no
keep:
  %place = getelementptr ptr, ptr %arrays, i64 %number
  store ptr %part, ptr %place
  call void %incref(ptr %part)
  %one_more = add i64 %taken, 1
  store i64 %one_more, ptr %taken_at
  %free = call i1 @apart(ptr %arrays, ptr %specs, i64 %number)
  br i1 %free, label %following, label %no
following:
  %taken_now = phi i64 [%taken, %ask], [%one_more, %keep]
  br label %item
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
_MADE = f"""
; new arrays for the results from `from` on; false if there is no memory
define internal i1 @made(ptr %header, ptr %arrays, ptr %taken_at) {{
entry:
{_header("api", "inputs", "results", "specs")}{_api("empty", "incref")}
  br label %result
result:
  %i = load i64, ptr %taken_at
  %more = icmp slt i64 %i, %results
  br i1 %more, label %make, label %yes
make:
  %number = add i64 %inputs, %i
  %spec = getelementptr [4 x i64], ptr %specs, i64 %number
{_field("dtype", "%spec", 0)}{_field("rank", "%spec", 8, "i64")}{_field("shape", "%spec", 16)}
  call void %incref(ptr %dtype)
  %rank32 = trunc i64 %rank to i32
  %array = call ptr %empty(i32 %rank32, ptr %shape, ptr %dtype, i32 0)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %no, label %keep
keep:
  %place = getelementptr ptr, ptr %arrays, i64 %number
  store ptr %array, ptr %place
  %next = add i64 %i, 1
  store i64 %next, ptr %taken_at
  br label %result
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
_CALL = f"""
define ptr @ngraph_rewrite_entry(ptr %self, ptr %args, i64 %given, ptr %names) {{
entry:
{_field("words", "%self", TUPLE_ITEMS)}{_field("header", "%words", ARRAY_DATA)}
{_header("api", "inputs", "results", "specs")}
{_api("array_type", "decref", "incref", "new_tuple", "set_tuple", "new_list", "set_list", "none", "out", "integer")}
  %taken_at = alloca i64
  store i64 0, ptr %taken_at
  %right_number = icmp eq i64 %given, %inputs
  %open_before = call i1 @open(ptr %header)
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
{_field("name_count", "%names", OBJECT_SIZE, "i64")}{_field("name", "%names", TUPLE_ITEMS)}
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
  %are_made = call i1 @made(ptr %header, ptr %arrays, ptr %taken_at)
  br i1 %are_made, label %objects, label %fail
objects:
{_header("kept", "holder", "structure", "items", "valued")}
  %size = add i64 %all, 2
  %record = call ptr %new_tuple(i64 %size)
  %no_record = icmp eq ptr %record, null
  br i1 %no_record, label %fail, label %record_is
record_is:
  switch i64 %structure, label %ready [i64 1, label %as_tuple i64 2, label %as_list]
as_tuple:
  %a_tuple = call ptr %new_tuple(i64 %items)
  %no_tuple = icmp eq ptr %a_tuple, null
  br i1 %no_tuple, label %fail_later, label %ready
as_list:
  %a_list = call ptr %new_list(i64 %items)
  %no_list = icmp eq ptr %a_list, null
  br i1 %no_list, label %fail_later, label %ready
ready:
  %container = phi ptr [null, %record_is], [%a_tuple, %as_tuple], [%a_list, %as_list]
  %open_now = call i1 @open(ptr %header)
  br i1 %open_now, label %run, label %closed
run:
{_header("counter", "call", "rows", "row_count", "context", "walk")}
  %calls = load i64, ptr %counter
  store i64 %calls, ptr %call
  call void @patch(ptr %header, ptr %arrays)
  br label %walking
walking:
  %stood = phi i64 [0, %run], [%stands, %walking]
  %stands = call i64 %walk(ptr %rows, i64 %stood, i64 %row_count, ptr %context)
  %unfinished = icmp slt i64 %stands, %row_count
  br i1 %unfinished, label %walking, label %done
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
  br i1 %has_container, label %drop_container, label %give_up
drop_container:
  call void %decref(ptr %container)
  br label %give_up
fail_later:
  call void %decref(ptr %record)
  br label %fail
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
{_header("api", "slow_object", "slow_name")}{_api("call_method")}
  %has_names = icmp ne ptr %names, null
  br i1 %has_names, label %names_are, label %copy
names_are:
{_field("name_count", "%names", OBJECT_SIZE, "i64")}
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
ENTRY = "\n".join([_FITS, _APART, _PATCH, _OPEN, _GIVEN, _MADE, _CALL])
