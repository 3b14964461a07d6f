# SPDX-License-Identifier: Apache-2.0
"""A kernel's Python function as object code: Numba makes the LLVM IR, llvmlite makes an object of the kernel alone.

Numba's own callback reports Python exceptions and so needs Python and Numba where it is loaded. A kernel cannot raise;
an entry of our own calls it and nothing else, and the object then depends on the C library only.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from llvmlite import binding

from ngraph_rewrite.runtime.engine import ObjectCode

_SIGNATURE = "void(int64, int64, int64)"
# what the linker could see: functions that are not internal yet, and variables that modules share
_SHARED = re.compile(r"^(define (?!internal|private)(?:linkonce_odr )?|(@\S+ = )common )", re.MULTILINE)
_ENTRY = """
define void @{entry}(i64 %args, i64 %chunk, i64 %nchunks) {{
  %result = alloca ptr
  %exception = alloca ptr
  %status = call i32 @{body}(ptr %result, ptr %exception, i64 %args, i64 %chunk, i64 %nchunks)
  ret void
}}
"""


def object_code(function: Callable[..., None]) -> ObjectCode:
    """Compile a kernel: three int64 arguments, no result, IEEE arithmetic as written."""
    entry, module = _module(function)
    outside = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    return ObjectCode(entry, tuple(outside), bytes(_machine().emit_object(module)))


def assembly(function: Callable[..., None]) -> str:
    """Return the assembly of a kernel, for those who want to see what the processor does."""
    return str(_machine().emit_assembly(_module(function)[1]))


def _module(function: Callable[..., None]) -> tuple[str, Any]:
    callback = numba.cfunc(_SIGNATURE, error_model="numpy")(function)
    entry = f"{function.__name__}_entry"
    return entry, _with_entry(callback.inspect_llvm(), entry, str(callback.native_name))


def _with_entry(text: str, entry: str, wrapper: str) -> Any:
    """The module with an entry in place of Numba's callback, and nothing that the entry does not need."""
    body = wrapper.removeprefix("cfunc.")
    private = _SHARED.sub(_internal, text)
    module = binding.parse_assembly(private + _ENTRY.format(entry=entry, body=body))
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, binding.create_pass_builder(_machine(), binding.create_pipeline_tuning_options()))
    module.verify()
    return module


def _internal(found: re.Match[str]) -> str:
    return f"{found[2]}internal " if found[2] else "define internal "


@cache
def _machine() -> Any:
    """The host processor, as a target of object code."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=3,
        reloc="static",
        codemodel="jitdefault",
        jit=True,
    )
