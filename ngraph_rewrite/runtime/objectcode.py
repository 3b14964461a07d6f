# SPDX-License-Identifier: Apache-2.0
"""A kernel's Python function as object code: Numba makes the LLVM IR, llvmlite makes an object of the kernel alone.

Numba's own callback reports Python exceptions and so needs Python and Numba where it is loaded. A kernel cannot raise;
an entry of our own calls it and nothing else, and the object then depends on the C library only. Numba itself makes no
machine code: that would be thrown away. So is all that compiling leaves, at once: it is a hundred times as large.
"""

import re
from collections.abc import Callable
from contextlib import closing
from functools import cache
from typing import Any

from llvmlite import binding
from llvmlite.binding.ffi import ObjectRef
from llvmlite.binding.newpassmanagers import NewPassManager
from numba import njit
from numba.core import (
    compiler,
    errors,
    interpreter,
    ir,
    lowering,
    ssa,
    typed_passes,
    typeinfer,
    types,
    untyped_passes,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    InlineOverloads,
    IRLegalization,
    NativeLowering,
    NopythonRewrites,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    GenericRewrites,
    InlineClosureLikes,
    InlineInlinables,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
    WithLifting,
)

from ngraph_rewrite.garbage import garbage_collected
from ngraph_rewrite.runtime.engine import ObjectCode, host_machine
from ngraph_rewrite.runtime.first_passes import rewriting, translating
from ngraph_rewrite.runtime.later_passes import inferring, writing
from ngraph_rewrite.runtime.loop_marks import mark_loops
from ngraph_rewrite.runtime.registries import read_registries
from ngraph_rewrite.runtime.resolved import Resolved, resolving
from ngraph_rewrite.runtime.single_assignment import assigning_once, handing_on
from ngraph_rewrite.runtime.variants import expanded

_IDLE = (NopythonRewrites, InlineClosureLikes, InlineInlinables, InlineOverloads, IRProcessing, WithLifting)
# Numba's own passes, and what does the same in less time.
_INSTEAD = {
    TranslateByteCode: translating(untyped_passes, interpreter, interpreter.Interpreter),
    GenericRewrites: rewriting(untyped_passes),
    ReconstructSSA: assigning_once(untyped_passes, ssa),
    PreLowerStripPhis: handing_on(typed_passes, ir, untyped_passes.build_definitions),
}
# What tells of no errors, too.
_UNTOLD = {
    NopythonTypeInference: inferring(typed_passes, typeinfer, errors),
    NativeLowering: writing(typed_passes, lowering, ir),
}
_OPTIONS = {"nopython": True, "error_model": "numpy"}
# what the linker could see: functions that are not internal yet, and variables that modules share
_SHARED = re.compile(r"^(define (?!internal|private)(?:(?:linkonce|weak)_odr )?|(@\S+ = )common )", re.MULTILINE)
_ENTRY = """
define void @{entry}(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {{
  %result = alloca ptr
  %exception = alloca ptr
  %status = call i32 @{body}(ptr %result, ptr %exception, {given})
  ret void
}}
"""
_ARGUMENTS = ("args", "chunk", "nchunks", "thread")  # a kernel takes three, or all


def object_code(function: Callable[..., None]) -> ObjectCode:
    """Compile a kernel: three int64 arguments or four, no result, IEEE arithmetic as written."""
    with garbage_collected():
        try:
            return _object_code(function)
        finally:
            errors.loc_info.clear()  # type: ignore[attr-defined]  # the latest instruction, and with it all of the kernel


def _object_code(function: Callable[..., None]) -> ObjectCode:
    entry, module = _module(function)
    outside = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    return ObjectCode(entry, tuple(outside), bytes(host_machine().emit_object(module)))


def warm() -> None:
    """Compile next to nothing, so that the first kernel does not pay for what Numba prepares once."""
    object_code(_nothing)


def _nothing(arguments: int, chunk: int, chunks: int) -> None:
    pass


def raised(function: Callable[..., None], arguments: int) -> Exception | None:
    """What a kernel raises that is all of the work, by Numba's own way to call it, which hears that."""
    compiled = njit(error_model="numpy")(function)
    try:
        compiled(arguments, 0, 1, *[0] * (_arity(function) - 3))
    except Exception as error:
        return error
    return None


def assembly(function: Callable[..., None]) -> str:
    """Return the assembly of a kernel, for those who want to see what the processor does."""
    return str(host_machine().emit_assembly(_module(function)[1]))


def _module(function: Callable[..., None]) -> tuple[str, Any]:
    entry = f"{function.__name__}_entry"
    text, body = _optimised(function)
    given = ", ".join(f"i64 %{name}" for name in _ARGUMENTS[: _arity(function)])
    return entry, _with_entry(text, _ENTRY.format(entry=entry, body=body, given=given))


def _arity(function: Callable[..., None]) -> int:
    """How many arguments a kernel is called with."""
    return 4 if function.__code__.co_argcount == 4 else 3


def _optimised(function: Callable[..., None]) -> tuple[str, str]:
    """What Numba makes of a kernel, as LLVM IR, and what the kernel is called in it."""
    try:
        return _numba_ir(function, counts=False)
    except errors.NumbaError:  # it is no kernel, or makes an object: what is wrong with it is told as Numba tells it
        return _numba_ir(function, counts=True)


def _numba_ir(function: Callable[..., None], counts: bool) -> tuple[str, str]:
    """As Numba makes it, which `counts` who has an object, or has only numbers, and so nothing that ends."""
    flags: Any = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, {**_OPTIONS, "_nrt": counts})
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    arguments = (types.int64,) * _arity(function)
    given: list[Any] = [_typing(), _target(), function, arguments, types.void, flags, {}]
    with global_compiler_lock, closing(_Passes(cpu_target.target_context.codegen())) as passes:
        library: Any = _Library(passes, function.__name__)  # type: ignore[no-untyped-call]
        result = compiler.compile_extra(*[*given, library, _Pipeline])
        library.finalize()
        return str(library.get_llvm_str()), str(result.fndesc.llvm_func_name)


class _Library(JITCodeLibrary):
    """Numba's own, without machine code."""

    def add_ir_module(self, module: Any) -> None:
        mark_loops(module)
        super().add_ir_module(module)  # type: ignore[no-untyped-call]

    def _finalize_final_module(self) -> None:
        pass


class _Passes:
    """Numba's code generator, whose pass managers go when it is closed: llvmlite forgets to give them back."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen
        self._managers: list[Any] = []
        self._of_functions: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def _function_pass_manager(self) -> Any:
        """One for all functions, which makes registers of variables: passes over the module do the rest, once more."""
        if self._of_functions is None:
            passes = binding.create_new_function_pass_manager()
            passes.add_sroa_pass()
            self._of_functions = self._kept((passes, self._codegen._pass_builder()))
        return self._of_functions

    def _module_pass_manager(self, **told: Any) -> Any:
        return self._kept(self._codegen._module_pass_manager(**told))

    def _kept(self, made: tuple[Any, Any]) -> tuple[Any, Any]:
        self._managers.append(made[0])
        return made

    def close(self) -> None:
        while self._managers:
            _given_back(self._managers.pop())


def _given_back(manager: Any) -> None:
    if type(manager)._dispose is ObjectRef._dispose:  # of its two base classes the one that does nothing
        NewPassManager._dispose(manager)
    manager.close()


@cache
def _typing() -> Any:
    return Resolved(cpu_target.typing_context)


@cache
def _target() -> Any:
    read_registries()
    return resolving(cpu_target.target_context, _typing())


class _Pipeline(compiler.CompilerBase):
    """Numba's own, but for what is done to whole arrays, to functions in functions, and to what LLVM inlines later.

    A kernel has no arrays and no functions of its own. What its variables are read by is found out once, when all that
    changes them is done.

    Where no object is counted, none is let go: variables need no end.
    """

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        counts = self.state.flags.nrt
        idle = _IDLE if counts else (*_IDLE, IRLegalization)
        instead: dict[Any, type] = _INSTEAD if counts else _INSTEAD | _UNTOLD
        kept = [one for one in passes.passes if one[0] not in idle]
        passes.passes = [(instead.get(done, done), text) for done, text in kept]
        passes.finalize()
        return [passes]


def _with_entry(text: str, entry: str) -> Any:
    """The module with an entry in place of Numba's callback, and nothing that the entry does not need."""
    private, has_lanes = expanded(_SHARED.sub(_internal, text))
    module = binding.parse_assembly(private + entry)
    passes = binding.create_new_module_pass_manager()
    if has_lanes:
        passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, binding.create_pass_builder(host_machine(), binding.create_pipeline_tuning_options()))
    _given_back(passes)
    module.verify()
    return module


def _internal(found: re.Match[str]) -> str:
    return f"{found[2]}internal " if found[2] else "define internal "
