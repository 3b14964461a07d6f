# SPDX-License-Identifier: Apache-2.0
"""What Numba does first with a kernel, without what is of no use: dicts, `with`, and how long variables live."""

from types import ModuleType
from typing import Any

_KIND = "before-inference"


def translating(passes: ModuleType, numba: ModuleType, reader: Any) -> type:
    """The pass from bytecode to statements: a kernel has no dict and no `with`.

    Args:
        passes: One of Numba's two modules of them.
        numba: That of what is looked for in statements.
        reader: Numba's interpreter of bytecode.
    """
    idle = numba.peep_hole_fuse_dict_add_updates, numba.peep_hole_delete_with_exit

    class Interpreter(reader):  # type: ignore[misc]
        def post_process(self, peepholes: list[Any], func_ir: Any) -> Any:
            return super().post_process([one for one in peepholes if one not in idle], func_ir)

    @passes.register_pass(mutates_CFG=True, analysis_only=False)
    class Translate(passes.TranslateByteCode):  # type: ignore[misc, name-defined]
        _name = "translate"

        def run_pass(self, state: Any) -> bool:
            state["func_ir"] = Interpreter(state["func_id"]).interpret(state["bc"])
            return True

    return Translate


def rewriting(passes: ModuleType) -> type:
    """The pass that rewrites statements before types are known, such as an index that is a number.

    How long variables live is not found out after it, as nothing asks for it before more of them are made.
    """

    @passes.register_pass(mutates_CFG=True, analysis_only=False)
    class Rewrite(passes.GenericRewrites):  # type: ignore[misc, name-defined]
        _name = "rewrite"

        def run_pass(self, state: Any) -> bool:
            for kind in passes.rewrites.rewrite_registry.rewrites[_KIND]:
                _rewrite(kind(state), state)
            state.func_ir.blocks = passes.transforms.canonicalize_cfg(state.func_ir.blocks)
            return True

    return Rewrite


def _rewrite(rewrite: Any, state: Any) -> None:
    """Rewrite each block until nothing in it matches."""
    blocks = state.func_ir.blocks
    for label, block in list(blocks.items()):
        while rewrite.match(state.func_ir, block, state.typemap, state.calltypes):
            block = blocks[label] = rewrite.apply()
