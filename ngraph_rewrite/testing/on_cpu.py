# SPDX-License-Identifier: Apache-2.0
"""Terms run by the cpu target, as a computation would run them, with rules left out of the lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, Lowering, Passes, lower, passes_of
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.runtime.aligned import aligned_array
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.targets.evaluation import Draws
from ngraph_rewrite.targets.target import Program
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array, Values

_SEED = 0


class _Without(Matcher):
    """A matcher without one of its rules: only what concerns that rule's root op is compiled anew."""

    def __init__(self, whole: Matcher, rule: Rule, cache: Cache) -> None:
        super().__init__(whole.rules, cache)
        self.graph_rules = tuple(r for r in whole.graph_rules if r is not rule)
        self._steps = {op: step for op, step in whole._steps.items() if op != rule.root}
        self._numbers[rule.root].remove(next(n for n, r in enumerate(self.rules) if r is rule))


@lru_cache(maxsize=4)
def _passes(rules: RuleSet, folder: Path) -> Passes:
    return passes_of(rules.of_class(SAFE_CLASSES), CPU, Cache(folder))


def cpu_passes(rules: RuleSet, cache: Cache, without: Rule | None = None) -> Passes:
    """What the cpu target runs to lower a graph, with all of these rules or all but one."""
    whole = _passes(rules, cache.folder)
    if without is None:
        return whole
    has = {name: isinstance(m, Matcher) and any(r is without for r in m.rules) for name, m in whole.items()}
    return {name: _Without(m, without, cache) if has[name] else m for name, m in whole.items()}  # type: ignore[arg-type]


class OnCpu:
    """A term compiled for the cpu target, to be run on values of its leaves.

    Raises:
        NGraphRewriteError: if the target cannot run it.
    """

    def __init__(self, root: Op, passes: Passes, cache: Cache) -> None:
        self.lowering: Lowering = lower([root], CPU, passes)
        order = topological([*self.lowering.roots, *self.lowering.writes])
        self._leaves = [t for t in order if t.definition.name in ("core.placeholder", "core.variable")]
        inputs = [t for t in self._leaves if t.definition.name == "core.placeholder"]
        self._inputs = [t.attribute("uid") for t in inputs]
        self._storage = {
            t.attribute("uid"): aligned_array(_shape(t), t.dtype)
            for t in self._leaves
            if t.definition.name == "core.variable"
        }
        self._result = root
        writes = self.lowering.writes
        program = Program(
            self.lowering.roots, writes, inputs, self._storage, streams(order), _SEED, cache, self.lowering.table
        )
        self._executable = CPU.prepare(program)

    def run(self, values: Values) -> Array:
        """The value of the term."""
        by_uid = {k.attribute("uid"): v for k, v in values.items() if isinstance(k, Op)}
        for uid, memory in self._storage.items():
            np.copyto(memory, by_uid[uid])
        result = np.empty(_shape(self._result), self._result.dtype)
        arrays = [np.ascontiguousarray(by_uid[uid]) for uid in self._inputs]
        self._executable.run(arrays, [result], 0)
        return result


def streams(terms: Sequence[Op]) -> dict[Uid, int]:
    """A number for each random draw: the same wherever it stands, as there is one at most to tell apart."""
    return {t.attribute("uid"): 0 for t in terms if "draw" in t.definition.traits}


def drawn_by_cpu(root: Op, values: Values) -> Mapping[Op | Uid, Array]:
    """The values, random draws being those that the cpu target makes."""
    draws = [t for t in topological([root]) if "draw" in t.definition.traits]
    numbers = Draws(_SEED, streams(draws), 0)
    return {**values, **{t.attribute("uid"): numbers.draw(t) for t in draws}}


def _shape(term: Op) -> tuple[int, ...]:
    return tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
