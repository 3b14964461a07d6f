# SPDX-License-Identifier: Apache-2.0
"""What peers have no part in: real graphs lowered and planned, and what it would cost to rewrite arrays of numbers."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.graphs import dag
from benchmarks.networks import lstm, resnet
from benchmarks.peers.ours import Peer
from benchmarks.rulesets import RuleChoice
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, library, lower, passes_of
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

ROUNDS = 7
Answer = dict[str, Any]


def _network(make: Callable[[int], list[Op]], size: int) -> Answer:
    """Lowering, planning and both; kernels are compiled by a first round, which is not timed."""
    roots = make(size)
    inputs = list(dict.fromkeys(p for root in roots for p in root.placeholders()))
    passes = passes_of(library().of_class(SAFE_CLASSES), CPU, Cache())
    computation = ng.make_transformer("cpu").computation(roots, *inputs)
    arguments: list[Any] = [np.zeros(p.shape, p.dtype) for p in inputs]  # type: ignore[type-var]  # all known
    computation(*arguments)  # allocates the weights
    shapes = tuple(a.shape for a in arguments)
    times: dict[str, list[float]] = {"": [], "_lower": [], "_plan": []}
    for _ in range(ROUNDS):
        gc.collect()
        times["_lower"].append(_seconds(lambda: lower(roots, CPU, passes)))
        times["_plan"].append(_seconds(lambda: computation._prepared.made(shapes)))  # before a first call runs
        times[""].append(times["_lower"][-1] + times["_plan"][-1])
    nodes = len(topological(roots))
    lowered = len(topological([*computation.lowering.roots, *computation.lowering.writes]))
    return {"times": times, "nodes": nodes, "note": f"{nodes} handles; {lowered} terms when lowered"}


def _conversion(size: int) -> Answer:
    """Rewriting, and beside it only the way to arrays and back that a rewriter of arrays would add.

    Arrays hold what a Numba matcher reads: op, arguments, and the numbers of attributes and types.
    """
    peer, graph = Peer(RuleChoice(70, 70)), dag(size)
    times: dict[str, list[float]] = {"_rewriting": [], "_to_arrays": [], "_from_arrays": []}
    for _ in range(ROUNDS):
        gc.collect()
        built = peer.build(graph)
        with no_garbage_collection():
            arrays: list[Any] = []
            times["_to_arrays"].append(_seconds(lambda b=built, a=arrays: a.append(to_arrays(b[1]))))  # type: ignore[misc]
            times["_rewriting"].append(_seconds(lambda b=built, a=arrays: a.append(peer.run(b))))  # type: ignore[misc]
            normal = to_arrays(arrays[1])
            times["_from_arrays"].append(_seconds(lambda n=normal: from_arrays(*n)))  # type: ignore[misc]
    return {"times": times, "nodes": len(graph.nodes), "note": "arrays without rewriting them"}


def to_arrays(roots: list[Op]) -> tuple[Any, Any, Any, Any, Any, list[Any], list[Any]]:
    """Ops, attributes, types, where arguments begin, the arguments; and what the numbers of the first three mean."""
    order = topological(roots)
    numbers = {term: i for i, term in enumerate(order)}
    heads: dict[Any, int] = {}
    types: dict[Any, int] = {}
    head = [heads.setdefault((t.definition, t.attrs), len(heads)) for t in order]
    of_type = [types.setdefault(t.type, len(types)) for t in order]
    args = [numbers[a] for t in order for a in t.args]
    starts = np.cumsum([0, *(len(t.args) for t in order)], dtype=np.int32)
    ends = np.array([numbers[r] for r in roots], np.int32)
    return (
        np.array(head, np.int32),
        np.array(of_type, np.int32),
        starts,
        np.array(args, np.int32),
        ends,
        list(heads),
        list(types),
    )


def from_arrays(
    head: Any, of_type: Any, starts: Any, args: Any, ends: Any, heads: list[Any], types: list[Any]
) -> list[Op]:
    """The terms again, in a new bank; their types are worked out there."""
    bank, terms = TermBank(), list[Op]()
    place, operands = starts.tolist(), args.tolist()
    for i, h in enumerate(head.tolist()):
        definition, attributes = heads[h]
        terms.append(bank.make(definition, tuple([terms[a] for a in operands[place[i] : place[i + 1]]]), attributes))
    return [terms[r] for r in ends.tolist()]


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


# By the kind of a workload: from its size to its answer.
WORKLOADS: Mapping[str, Callable[[int], Answer]] = MappingProxyType(
    {
        "lstm": lambda size: _network(lstm, size),
        "resnet": lambda size: _network(resnet, size),
        "conversion": _conversion,
    }
)
