# SPDX-License-Identifier: Apache-2.0
"""The machine code of what a call asks of the arrays it is given, and does with them before and after kernels run.

What it knows of a computation are the words of a header, at the addresses of which objects are arrays:

* the API of Python and NumPy (`API`); the numbers of inputs and of results; what they have to be, four words each: the
  dtype, the rank, where the shape is, the bytes;
* patches, three words each: where an address goes, of which array, how far into it; their number;
* rows of the launch table, their number, the context, the walker; gates, the first of them the lock's, their number;
* where calls are counted, and where kernels read the number;
* a list that keeps what the last call took and gave; an object that is kept with it;
* what takes and gives back the lock of the computation, if the call lets go of the interpreter's, or 0;
* what is returned: 0 for the first result, 1 for a tuple, 2 for a list; of how many items; where a word for each says
  whether it has a value; how many of them have;
* an object and the name of its method to call with what is not usual.
"""

API = (
    "array_type empty incref decref new_tuple set_tuple new_list set_list integer "
    "none not_implemented out tuple_type list_type call_method view set_base byte call_alone let_go come_back clear"
).split()
HEADER = (
    "api inputs results specs patches patch_count rows row_count context walk gates gate_count "
    "counter call acquire release holder kept structure items valued slow_object slow_name"
).split()
# Where CPython and NumPy keep these, in bytes; `ngraph_rewrite.runtime.array_api` looks whether they do.
OBJECT_TYPE, OBJECT_SIZE, TUPLE_ITEMS, LIST_ITEMS = 8, 16, tuple.__basicsize__, 24
ARRAY_DATA, ARRAY_RANK, ARRAY_SHAPE, ARRAY_DTYPE, ARRAY_FLAGS = 16, 24, 32, 56, 64
READABLE, WRITEABLE = 0x101, 0x501  # C-contiguous and aligned; and writeable
_NUMBERS = frozenset("inputs results patch_count row_count gate_count structure items".split())


def field(name: str, base: str, offset: int, kind: str = "ptr") -> str:
    """Lines that load what stands so many bytes into memory."""
    return f"  %{name}_at = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}_at\n"


def header(*names: str) -> str:
    """Lines that load words of the header."""
    kinds = {name: "i64" if name in _NUMBERS else "ptr" for name in names}
    return "".join(field(name, "%header", 8 * HEADER.index(name), kind) for name, kind in kinds.items())


def api(*names: str) -> str:
    return "".join(field(name, "%api", 8 * API.index(name)) for name in names)


FITS = f"""
; whether an object is an array of a dtype and shape, with flags set
define internal i1 @fits(ptr %array, ptr %spec, i32 %flags, ptr %array_type) {{
entry:
{field("type", "%array", OBJECT_TYPE)}
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %array_is, label %no
array_is:
{field("dtype", "%array", ARRAY_DTYPE)}{field("rank", "%array", ARRAY_RANK, "i32")}
{field("found", "%array", ARRAY_FLAGS, "i32")}{field("shape", "%array", ARRAY_SHAPE)}
{field("wanted_dtype", "%spec", 0)}{field("wanted_rank", "%spec", 8, "i64")}{field("wanted_shape", "%spec", 16)}
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
APART = f"""
; whether array `at` shares no memory with those before it
define internal i1 @apart(ptr %arrays, ptr %specs, i64 %at) {{
entry:
  %mine_at = getelementptr ptr, ptr %arrays, i64 %at
  %mine = load ptr, ptr %mine_at
  %my_spec = getelementptr [4 x i64], ptr %specs, i64 %at
{field("begin", "%mine", ARRAY_DATA, "i64")}{field("bytes", "%my_spec", 24, "i64")}
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
{field("its_begin", "%its", ARRAY_DATA, "i64")}{field("its_bytes", "%its_spec", 24, "i64")}
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
PATCH = f"""
; write the addresses of arrays into the arguments of kernels; what is there already stays in the caches of all threads
define internal void @patch(ptr %header, ptr %arrays) {{
entry:
{header("patches", "patch_count")}
  br label %one
one:
  %i = phi i64 [0, %entry], [%next, %write], [%next, %change]
  %next = add i64 %i, 1
  %more = icmp slt i64 %i, %patch_count
  br i1 %more, label %write, label %end
write:
  %patch = getelementptr [3 x i64], ptr %patches, i64 %i
{field("slot", "%patch", 0)}{field("number", "%patch", 8, "i64")}{field("into", "%patch", 16, "i64")}
  %array_at = getelementptr ptr, ptr %arrays, i64 %number
  %array = load ptr, ptr %array_at
{field("data", "%array", ARRAY_DATA, "i64")}
  %address = add i64 %data, %into
  %there = load i64, ptr %slot
  %same = icmp eq i64 %there, %address
  br i1 %same, label %one, label %change
change:
  store i64 %address, ptr %slot
  br label %one
end:
  ret void
}}

; the same for those that Python code has looked at
define ptr @ngraph_rewrite_fill(ptr %self, ptr %arrays, i64 %count) {{
entry:
{field("words", "%self", TUPLE_ITEMS)}{field("header", "%words", ARRAY_DATA)}
{header("api", "inputs", "results")}{api("incref", "none", "not_implemented")}
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
OPEN = f"""
; whether all gates are open, but for the first, the lock's, where it is one's own
define internal i1 @open(ptr %header, i1 %own) {{
entry:
{header("gates", "gate_count")}
  %first = zext i1 %own to i64
  br label %gate
gate:
  %i = phi i64 [%first, %entry], [%next, %look]
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
GIVEN = f"""
; the arrays in `out`, each with a reference of its own: how many of them were taken, and whether all are right
define internal i1 @given(ptr %header, ptr %out, ptr %arrays, ptr %taken_at) {{
entry:
{header("api", "inputs", "specs", "structure", "items", "valued")}
{api("array_type", "incref", "tuple_type", "list_type")}
  %one_alone = alloca ptr
  store ptr %out, ptr %one_alone
  %alone = icmp eq i64 %structure, 0
  br i1 %alone, label %look, label %container
container:
{field("type", "%out", OBJECT_TYPE)}
  %is_tuple = icmp eq ptr %type, %tuple_type
  %is_list = icmp eq ptr %type, %list_type
  %is_either = or i1 %is_tuple, %is_list
  br i1 %is_either, label %sized, label %no
sized:
{field("size", "%out", OBJECT_SIZE, "i64")}{field("of_list", "%out", LIST_ITEMS)}
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
