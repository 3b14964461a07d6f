# SPDX-License-Identifier: Apache-2.0
"""Variables of a kernel that are assigned once: Numba's pass, which is shown only statements that name a variable.

Numba's own goes through all statements, twice, for each variable that is assigned in several places. A kernel that is
unrolled has hundreds of such variables, in thousands of statements.
"""

from collections import defaultdict
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
