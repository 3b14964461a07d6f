# SPDX-License-Identifier: Apache-2.0
"""Variables of a kernel that are assigned once, and again in each branch: two passes of Numba's in less time.

Numba's own go through all statements, twice, for each variable that is assigned in several places, and through those of
a block for each that it hands on. A kernel that is unrolled has hundreds of such variables, in thousands of statements.
"""

from collections import defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

Blocks = dict[int, Any]
Places = dict[int, list[int]]  # indices of statements, by the labels of their blocks, both in order


def assign_once(blocks: Blocks, ssa: ModuleType) -> None:
    """Give each assignment a variable of its own, and put together where branches meet what they assigned.

    Args:
        blocks: Of a function, by label; changed in place.
        ssa: Numba's module for this: one of its two, for processors and for GPUs.
    """
    graph = ssa.compute_cfg_from_blocks(blocks)
    fronts = ssa._iterated_domfronts(graph)
    names = ssa._find_defs_violators(blocks, graph)
    places, listed = _places(blocks, set(names)), ssa._CacheListVars()
    joins: dict[int, list[Any]] = defaultdict(list)
    for name in names:
        part, assigned = ssa._fresh_vars(_part(blocks, places[name]), name)
        states = ssa._make_states(blocks) | {"varname": name, "defmap": assigned, "phimap": defaultdict(list)}
        states |= {"cfg": graph, "phi_locations": ssa._compute_phi_locations(fronts, assigned)}
        _put_back(ssa._run_block_rewrite(part, states, ssa._FixSSAVars(listed)), blocks, places[name])
        for label, found in states["phimap"].items():
            joins[label][:0] = found
    for label, found in joins.items():
        blocks[label].body[:0] = found


def hand_on(blocks: Blocks, ir: ModuleType, loc: Any) -> None:
    """Assign what branches put together in each of them, behind what it is, so that nothing is left where they meet.

    Args:
        blocks: Of a function, by label; changed in place.
        ir: Numba's module of statements: one of its two.
        loc: Where the function begins, which is where a variable that has no value gets none.
    """
    handed: dict[int, list[tuple[Any, Any]]] = defaultdict(list)
    for block in blocks.values():
        for joined in filter(_is_join, block.body):
            for label, value in zip(joined.value.incoming_blocks, joined.value.incoming_values, strict=True):
                handed[label].append((joined.target, value))
        block.body = [statement for statement in block.body if not _is_join(statement)]
    for label, pairs in handed.items():
        body = blocks[label].body
        for target, value in pairs:
            if value is ir.UNDEFINED:
                body.insert(0, ir.Assign(target=target, value=ir.Expr.null(loc=loc), loc=loc))
            else:
                body.insert(_behind(body, value.name), ir.Assign(target=target, value=value, loc=value.loc))


def _is_join(statement: Any) -> bool:
    return getattr(getattr(statement, "value", None), "op", None) == "phi"


def _behind(body: list[Any], name: str) -> int:
    """The place after the last statement that assigns to a variable, which is the first one if none does."""
    for index in range(len(body), 0, -1):
        if getattr(getattr(body[index - 1], "target", None), "name", None) == name:
            return index
    return 0


def _places(blocks: Blocks, names: set[str]) -> dict[str, Places]:
    """Where each of some variables is named, with the ends of those blocks: Numba never looks at the last statement."""
    found: dict[str, Places] = {name: {} for name in names}
    for label, block in blocks.items():
        *before, last = block.body
        for index, statement in enumerate(before):
            for name in names.intersection(variable.name for variable in statement.list_vars()):
                found[name].setdefault(label, []).append(index)
        for name in names.intersection(variable.name for variable in last.list_vars()):
            found[name].setdefault(label, [])
        for places in found.values():
            if label in places:
                places[label].append(len(before))
    return found


def _part(blocks: Blocks, places: Places) -> Blocks:
    """Blocks with some of their statements."""
    found = {}
    for label, indices in places.items():
        block = blocks[label]
        found[label] = type(block)(scope=block.scope, loc=block.loc)
        found[label].body = [block.body[index] for index in indices]
    return found


def _put_back(part: Blocks, blocks: Blocks, places: Places) -> None:
    for label, indices in places.items():
        body = blocks[label].body
        for index, statement in zip(indices, part[label].body, strict=True):
            body[index] = statement


def assigning_once(passes: ModuleType, ssa: ModuleType) -> type:
    """The pass, for one of Numba's two compilers: what variables live how long is found out later, when all is done."""

    @passes.register_pass(mutates_CFG=False, analysis_only=False)
    class AssignOnce(passes.ReconstructSSA):  # type: ignore[misc, name-defined]
        _name = "assign_once"

        def run_pass(self, state: Any) -> bool:
            assign_once(state.func_ir.blocks, ssa)
            state.func_ir._definitions = passes.build_definitions(state.func_ir.blocks)
            return True

    return AssignOnce


def handing_on(passes: ModuleType, ir: ModuleType, definitions: Callable[[Blocks], Any]) -> type:
    """The pass, for one of Numba's two compilers. How long variables live is not found out: nothing asks for it."""

    @passes.register_pass(mutates_CFG=True, analysis_only=False)
    class HandOn(passes.PreLowerStripPhis):  # type: ignore[misc, name-defined]
        _name = "hand_on"

        def run_pass(self, state: Any) -> bool:
            hand_on(state.func_ir.blocks, ir, state.func_ir.loc)
            state.func_ir._definitions = definitions(state.func_ir.blocks)
            return True

    return HandOn
