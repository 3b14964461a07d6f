# SPDX-License-Identifier: Apache-2.0
"""The machine code that makes the arrays of results, which begin at a cache line unless they are small.

It does what `ngraph_rewrite.runtime.aligned.result_array` does where Python code makes a call.
"""

from ngraph_rewrite.runtime.aligned import ALIGNMENT, WORTH
from ngraph_rewrite.runtime.entry_parts import ARRAY_DATA, WRITEABLE, api, field, header

_VIEWED = (  # the dtype and the shape of an array, where it begins, and its flags
    f"ptr %array_type, ptr %dtype, i32 %rank32, ptr %shape, ptr null, ptr %begin, i32 {WRITEABLE}, ptr null"
)
NEW = f"""
; a new array; if it is large, it begins at a cache line, as part of a larger one
define internal ptr @new(ptr %api, ptr %spec) {{
entry:
{field("dtype", "%spec", 0)}{field("rank", "%spec", 8, "i64")}{field("shape", "%spec", 16)}
{field("bytes", "%spec", 24, "i64")}
{api("array_type", "empty", "incref", "decref", "view", "set_base", "byte")}
  %size_at = alloca i64
  %rank32 = trunc i64 %rank to i32
  call void %incref(ptr %dtype)
  %large = icmp uge i64 %bytes, {WORTH}
  br i1 %large, label %around, label %alone
alone:
  %small = call ptr %empty(i32 %rank32, ptr %shape, ptr %dtype, i32 0)
  ret ptr %small
around:
  %size = add i64 %bytes, {ALIGNMENT}
  store i64 %size, ptr %size_at
  call void %incref(ptr %byte)
  %block = call ptr %empty(i32 1, ptr %size_at, ptr %byte, i32 0)
  %no_block = icmp eq ptr %block, null
  br i1 %no_block, label %without, label %part
part:
{field("data", "%block", ARRAY_DATA, "i64")}
  %behind = add i64 %data, {ALIGNMENT - 1}
  %line = and i64 %behind, -{ALIGNMENT}
  %begin = inttoptr i64 %line to ptr
  %array = call ptr %view({_VIEWED})
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %drop, label %hold
hold:
  %failure = call i32 %set_base(ptr %array, ptr %block)
  %held = icmp eq i32 %failure, 0
  br i1 %held, label %right, label %loose
right:
  ret ptr %array
without:
  call void %decref(ptr %dtype)
  ret ptr null
drop:  ; the dtype is gone with the array
  call void %decref(ptr %block)
  ret ptr null
loose:  ; and so is the block
  call void %decref(ptr %array)
  ret ptr null
}}
"""
MADE = f"""
; new arrays for the results from `from` on; false if there is no memory
define internal i1 @made(ptr %header, ptr %arrays, ptr %taken_at) {{
entry:
{header("api", "inputs", "results", "specs")}
  br label %result
result:
  %i = load i64, ptr %taken_at
  %more = icmp slt i64 %i, %results
  br i1 %more, label %make, label %yes
make:
  %number = add i64 %inputs, %i
  %spec = getelementptr [4 x i64], ptr %specs, i64 %number
  %array = call ptr @new(ptr %api, ptr %spec)
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
