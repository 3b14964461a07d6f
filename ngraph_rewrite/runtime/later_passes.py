# SPDX-License-Identifier: Apache-2.0
"""What Numba does with a kernel once its statements are there, in less time: it finds out types, and writes LLVM IR.

Numba's own passes prepare a message for each statement, before there is an error to tell of, and ask for the type of
each call again as long as any type changes. Who meets an error here compiles the kernel once more, by Numba's own.
"""

from types import ModuleType
from typing import Any


def inferring(passes: ModuleType, inference: ModuleType, errors: ModuleType) -> type:
    """The pass that finds out the types of variables, of a kernel with no result.

    Args:
        passes: Numba's module of passes over what has types.
        inference: That of how types are found out.
        errors: That of what is raised.
    """
    calls = inference.CallConstraint, inference.IntrinsicCallConstraint

    class Network(inference.ConstraintNetwork):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self._settled: dict[Any, tuple[Any, ...]] = {}  # the types of which a call has given its own

        def propagate(self, types: Any) -> list[Any]:
            found = []
            with types.warnings.catch_warnings():
                for constraint in self.constraints:
                    try:
                        self._apply(constraint, types)
                    except (errors.ForceLiteralArg, errors.TypingError) as error:
                        found.append(error)
            return found

        def _apply(self, constraint: Any, types: Any) -> None:
            if type(constraint) not in calls or constraint.kws or constraint.vararg is not None:
                constraint(types)
                return
            of = [] if type(constraint) is inference.IntrinsicCallConstraint else [constraint.func]
            given = tuple(types.typevars[name].type for name in of + [one.name for one in constraint.args])
            if self._settled.get(constraint) != given:
                constraint(types)
                if None not in given:
                    self._settled[constraint] = given

    @passes.register_pass(mutates_CFG=True, analysis_only=False)
    class Infer(passes.NopythonTypeInference):  # type: ignore[misc, name-defined]
        _name = "infer"

        def run_pass(self, state: Any) -> bool:
            warnings = errors.WarningsFixer(errors.NumbaWarning)
            types = inference.TypeInferer(state.typingctx, state.func_ir, warnings)
            types.constraints = Network()
            found = state.typingctx.callstack.register(state.targetctx.target, types, state.func_id, state.args)
            with found, warnings:
                for index, (name, kind) in enumerate(zip(state.func_ir.arg_names, state.args, strict=True)):
                    types.seed_argument(name, index, kind)
                types.seed_return(state.return_type)
                types.build_constraint()
                state.typing_errors = types.propagate()
                state.typemap, state.return_type, state.calltypes = types.unify()
            return True

    return Infer


def writing(passes: ModuleType, lowering: ModuleType, ir: ModuleType) -> type:
    """The pass that writes LLVM IR.

    Args:
        passes: Numba's module of passes over what has types.
        lowering: That of how statements become LLVM IR.
        ir: That of statements.
    """

    class Lower(lowering.Lower):  # type: ignore[misc, name-defined]
        def lower_block(self, block: Any) -> None:
            self.pre_block(block)
            for statement in block.body:
                self.loc = statement.loc
                self.lower_inst(statement)
            self.post_block(block)

        def lower_inst(self, statement: Any) -> None:
            if not isinstance(statement, ir.Assign) or isinstance(statement.value, ir.Arg):
                super().lower_inst(statement)
                return
            name = statement.target.name
            self.storevar(self.lower_assign(self.typeof(name), statement), name)

    @passes.register_pass(mutates_CFG=True, analysis_only=False)
    class Write(passes.NativeLowering):  # type: ignore[misc, name-defined]
        _name = "write"
        lowering_class = Lower

    return Write
