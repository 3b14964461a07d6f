# SPDX-License-Identifier: Apache-2.0
"""One engine on one workload, in a process of its own: times, memory and a checksum, as a line of JSON.

``python -m benchmarks.worker '{"engine": "tinygrad", "kind": "dag", "size": 10000, "rules": 70, "firing": 70}'``
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import Any

from benchmarks.graphs import Graph, dag, tree
from benchmarks.memory import peak
from benchmarks.peers import Engine, engine
from benchmarks.rulesets import RuleChoice

KINDS = {"dag": dag, "tree": tree}


def measured(asked: dict[str, Any]) -> dict[str, Any]:
    """What one engine takes to build a graph and to rewrite it, over and over for a few seconds.

    The first round is measured too for what it needs of memory, and its answer is looked at.
    """
    name, _, switch = asked["engine"].partition("-")
    start = time.process_time()
    peer = engine(name, RuleChoice(asked["rules"], asked["firing"]))
    setup = time.process_time() - start
    peer.checksum(peer.run(peer.build(KINDS[asked["kind"]](300, seed=1))))  # what is compiled late is compiled now
    graph = KINDS[asked["kind"]](asked["size"])
    if switch == "nogc":
        gc.disable()
    gc.collect()
    memory, (build, run, result) = peak(lambda: _round(peer, graph))
    count, number = peer.checksum(result) if len(graph.nodes) <= peer.checked else (None, None)
    del result
    rounds = [(build, run)]
    end = time.perf_counter() + asked.get("seconds", 5)
    while len(rounds) < asked.get("rounds", 9) and time.perf_counter() + build + run < end:
        gc.collect()
        rounds.append(_round(peer, graph)[:2])
    timed = rounds[1:] if len(rounds) > 2 else rounds  # the first one finds cold caches
    return {
        "nodes": len(graph.nodes),
        "setup": setup,
        "build": [b for b, _ in timed],
        "run": [r for _, r in timed],
        "memory": memory,
        "count": count,
        "checksum": number,
        "exact": peer.exact,
    }


def _round(peer: Engine, graph: Graph) -> tuple[float, float, Any]:
    """Processor time of both steps: every engine is one thread, and other processes disturb it less."""
    start = time.process_time()
    built = peer.build(graph)
    middle = time.process_time()
    result = peer.run(built)
    return middle - start, time.process_time() - middle, result


if __name__ == "__main__":
    question = json.loads(sys.argv[1])
    if question["kind"] in KINDS:
        print(json.dumps(measured(question)))
    else:
        from benchmarks.lowering import WORKLOADS  # what peers have no part in, with all of the package

        print(json.dumps(WORKLOADS[question["kind"]](question["size"])))
