# SPDX-License-Identifier: Apache-2.0
"""The benchmarks measure what they say: graphs, rules, what peers are given, and the rows that are printed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import harness, latency, rewriting, threads
from benchmarks.equations import App, Reading, compiled, functions, left_source, number, read_equations, right_source
from benchmarks.graphs import SHAPES, Graph, arities, checksum, dag, tree
from benchmarks.lowering import from_arrays, to_arrays
from benchmarks.networks import lstm, resnet
from benchmarks.peers import ENGINES, engine
from benchmarks.peers.ours import Peer
from benchmarks.rulesets import FEW, RuleChoice, idle_rules, rule_files
from benchmarks.worker import measured
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.checks import check_order, check_rules_static
from ngraph_rewrite.terms.walking import topological

ROOT = Path(__file__).parent.parent
sizes = st.integers(20, 200)
seeds = st.integers(0, 10_000)
a_while = settings(deadline=None)  # another process may be running
_peer = lru_cache(Peer)


@a_while
@given(sizes, seeds)
def test_a_dag_has_no_node_twice_and_none_that_nothing_uses(size: int, seed: int) -> None:
    graph = dag(size, seed)
    assert len({(n, s) for n, s in zip(graph.nodes, graph.shapes, strict=True)}) == len(graph.nodes)
    used = {a for node in graph.nodes for a in node.args}
    assert used | set(graph.roots) == set(range(len(graph.nodes)))
    assert all(a < i for i, node in enumerate(graph.nodes) for a in node.args)
    assert all(arities()[n.op] == (len(n.args), n.attribute is not None) for n in graph.nodes)


@a_while
@given(sizes, seeds)
def test_in_a_tree_only_leaves_are_shared(size: int, seed: int) -> None:
    graph = tree(size, seed)
    counts: dict[int, int] = {}
    for node in graph.nodes:
        for a in node.args:
            counts[a] = counts.get(a, 0) + 1
    assert all(count == 1 or not graph.nodes[i].args for i, count in counts.items())
    assert graph.shapes[graph.roots[0]] == SHAPES[0]


@a_while
@given(st.sampled_from([dag, tree]), sizes, seeds)
def test_our_terms_have_the_shapes_of_the_graph_and_show_it_again(make: Any, size: int, seed: int) -> None:
    peer, graph = _peer(RuleChoice(10, 10)), make(size, seed)
    bank, roots = peer.build(graph)
    assert [r.shape for r in roots] == [graph.shapes[r] for r in graph.roots]
    assert all(term in bank and str(term.dtype) == "float32" for term in topological(roots))
    assert peer.checksum(roots) == checksum(graph.nodes, graph.roots)


@a_while
@given(sizes, seeds)
def test_arrays_hold_all_of_a_graph(size: int, seed: int) -> None:
    peer = _peer(RuleChoice(10, 10))
    _, roots = peer.build(dag(size, seed))
    assert peer.checksum(from_arrays(*to_arrays(roots))) == peer.checksum(roots)


def test_the_checksum_sees_a_change_and_not_the_order_of_a_sum() -> None:
    nodes = [("placeholder", 0, ()), ("placeholder", 1, ()), ("add", None, (0, 1)), ("subtract", None, (2, 0))]
    other = [*nodes[:2], ("add", None, (1, 0)), nodes[3]]
    turned = [*nodes[:3], ("subtract", None, (0, 2))]
    assert checksum(nodes, [3]) == checksum(other, [3]) != checksum(turned, [3])
    assert checksum([*nodes, *nodes], [3])[0] == 4


# -- rules --------------------------------------------------------------------------------------------


def test_the_rules_are_seventy_that_are_typed_and_terminate() -> None:
    rules = RuleChoice(70, 70).ours()
    assert len(rules) == 70
    check_rules_static(rules)
    check_order(rules)


@pytest.mark.parametrize(("count", "firing"), [(10, 10), (70, 10), (70, 70), (300, 10), (1000, 70)])
def test_there_are_as_many_rules_as_were_asked_for(count: int, firing: int) -> None:
    choice = RuleChoice(count, firing)
    ours, theirs = choice.ours(), choice.equations()
    assert len({r.name for r in ours}) == len(ours) == count
    names = {r.name.split(".", 1)[1] for r in ours}
    assert names == {e.name for e in theirs}
    assert {r.left.definition.short for r in ours} == {e.left.op for e in theirs}


def test_every_rule_of_the_files_fires_and_no_other_does() -> None:
    peer, table = Peer(RuleChoice(200, 70)), ReplacementTable()
    bank, roots = peer.build(dag(10_000))
    peer.normalise(roots, bank, table)
    fired = {step.why.name for step in table.redexes()}
    assert fired == {r.name for r in RuleChoice(70, 70).ours()}


def test_more_rules_change_nothing() -> None:
    graph = dag(500)
    answers = [measure_once(RuleChoice(n, 10), graph) for n in (10, 300)]
    assert answers[0] == answers[1]
    assert answers[0] != measure_once(RuleChoice(70, 70), graph)


def measure_once(rules: RuleChoice, graph: Graph) -> tuple[int, int]:
    peer = _peer(rules)
    return peer.checksum(peer.run(peer.build(graph)))


def test_few_rules_are_rules_of_the_files() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in rule_files())
    assert all(f"rule {name} " in text for name in FEW)


def test_idle_rules_begin_with_present_and_absent_ops_in_turns() -> None:
    found = {e.name: e.left.op.startswith("absent") for e in read_equations(idle_rules(40))}
    assert found == {f"idle_{i}": bool(i % 2) for i in range(40)}


# -- what peers are given -----------------------------------------------------------------------------


def test_an_equation_is_written_in_every_order_of_a_sum() -> None:
    found = read_equations("rule a @real:  x + 0  =>  x\nrule b:  negative(x) * negative(y)  =>  x * y\n")
    assert [e.left.args for e in found if e.name == "a"] == [(found[0].right, number(0)), (number(0), found[0].right)]
    assert len([e for e in found if e.name == "b"]) == 1  # the other order is the same up to names


def test_equations_written_as_python_rewrite_as_the_rules_do() -> None:
    """The plainest peer there could be: the sources that peers are written from, run on tuples."""
    reading = Reading("{0}[0] == {1!r}", "{0}[2][{1}]", "{0}[1]", "{0} == {1}")
    rules = RuleChoice(70, 70)
    names = {**functions(), "make": lambda *term: term}
    by_op: dict[str, list[Any]] = {}
    for one in rules.equations():
        lines = [*left_source(one, reading), *right_source(one, _as_tuple)]
        by_op.setdefault(one.left.op, []).append(compiled("rewrite", "root", lines, names))

    def normal(term: Any) -> Any:
        term = (term[0], term[1], tuple(map(normal, term[2])))
        for rewrite in by_op.get(term[0], ()):
            made = rewrite(term)
            if made is not None:
                return normal(made)
        return term

    for seed in range(20):
        graph = tree(40, seed)
        terms: list[Any] = []
        for op, attribute, args in graph.nodes:
            terms.append((op, attribute, tuple(terms[a] for a in args)))
        nodes: list[Any] = []
        root = _numbered(normal(terms[graph.roots[0]]), nodes)
        assert checksum(nodes, [root]) == measure_once(rules, graph)


def _as_tuple(op: str, attribute: str | None, args: list[str]) -> str:
    return f"make({op!r}, {attribute}, ({''.join(a + ', ' for a in args)}))"


def _numbered(term: Any, nodes: list[Any]) -> int:
    args = [_numbered(a, nodes) for a in term[2]]
    nodes.append((term[0], term[1], args))
    return len(nodes) - 1


def test_shapes_are_forgotten_and_attributes_kept() -> None:
    text = (
        "rule a:\n    f(x, axes=k)  =>  broadcast(sum(x, axes=k), shape=x.shape, dims=r)\n    where r = others(k, 2)\n"
    )
    (one,) = read_equations(text)
    assert isinstance(one.right, App)
    assert (one.left.attribute, one.right.op, one.right.attribute, one.wheres) == (
        "k",
        "broadcast",
        "r",
        (("r", "others(k, 2)"),),
    )


# -- measuring ----------------------------------------------------------------------------------------


def test_a_worker_measures_times_memory_and_the_answer() -> None:
    asked = {"engine": "ngraph_rewrite", "kind": "dag", "size": 200, "rules": 70, "firing": 70, "rounds": 4}
    answer = measured({**asked, "seconds": 600})
    assert len(answer["run"]) == len(answer["build"]) == 3 and min(answer["run"]) > 0
    assert (answer["count"], answer["checksum"]) == measure_once(RuleChoice(70, 70), dag(200))
    assert answer["memory"] >= 0 and answer["nodes"] == len(dag(200).nodes)


def test_the_command_prints_rows_and_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    command = "benchmarks.rewriting --only dag_300 --size 300 --rules 10 --json".split()
    done = subprocess.run(
        [sys.executable, "-m", *command, str(file), "--peers", ""], cwd=ROOT, capture_output=True, text=True, check=True
    )
    _, header, row = done.stdout.splitlines()
    assert header == "workload, engine, median_s, spread, ratio, us_per_node, peak_mb, note"
    assert row.startswith("dag_300, ngraph_rewrite, ") and done.stderr == ""
    (written,) = json.loads(file.read_text(encoding="utf-8"))
    assert (written["workload"], written["engine"], written["ratio"]) == ("dag_300", harness.OURS, 1.0)


def compared(size: int, monkeypatch: pytest.MonkeyPatch) -> list[harness.Row]:
    """The rows of two engines whose answers are different, of a graph of a size."""
    answers = {"ngraph_rewrite": 7, "tinygrad": 8}
    monkeypatch.setattr(rewriting, "installed", lambda: list(ENGINES))
    monkeypatch.setattr(rewriting, "_asked", lambda task, name, timeout: _answer(answers[name]))
    chosen = harness.options("").parse_args(["--peers", "tinygrad"])
    chosen.timeout = 1
    return list(rewriting.rows_of(rewriting.Task(f"dag_{size}", "dag", size), chosen, set()))


def test_a_wrong_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="tinygrad has a normal form of 5 terms"):
        compared(10, monkeypatch)


def test_of_a_million_nodes_a_few_terms_may_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms of a peer that have no shapes are equal a little more often."""
    rows = compared(1_000_000, monkeypatch)
    assert [row.note for row in rows if row.note] == ["set-up 0.10 s", "set-up 0.10 s; 5 terms, ours 5"]


def _answer(number: int) -> dict[str, Any]:
    times = {"run": [1.0, 2.0, 3.0], "build": [1.0, 1.0]}
    return {**times, "nodes": 10, "setup": 0.1, "memory": 1, "count": 5, "checksum": number, "exact": True}


def test_what_ran_out_of_time_is_shown_and_not_started_on_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(task: rewriting.Task, name: str, timeout: float) -> Any:
        return _answer(7) if name == harness.OURS else "timed out at 1 s"

    monkeypatch.setattr(rewriting, "installed", lambda: list(ENGINES))
    monkeypatch.setattr(rewriting, "_asked", asked)
    chosen = harness.options("").parse_args(["--peers", "xdsl"])
    chosen.timeout, slow = 1, set[tuple[str, str]]()
    small, large = rewriting.Task("dag_10", "dag", 10), rewriting.Task("dag_100000", "dag", 100_000)
    rows = [*rewriting.rows_of(small, chosen, slow), *rewriting.rows_of(large, chosen, slow)]
    notes = [row.note for row in rows if row.engine == "xdsl"]
    assert notes == ["timed out at 1 s", "not started: a smaller one ran out of time"]
    assert str(rows[2]) == "dag_10, xdsl, -, -, -, -, -, timed out at 1 s"


@pytest.mark.parametrize(
    ("arguments", "message"), [("--only nothing", "no workload"), ("--peers nobody", "nobody is none")]
)
def test_unknown_names_are_refused(arguments: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.rewriting", *arguments.split()], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and message in done.stderr


@pytest.mark.parametrize("workload", ["idle", "map_1000", "launches_1000"])
def test_threads_are_compared_with_one(workload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "usable_threads", lambda: 3)
    monkeypatch.setattr(harness, "SECONDS", 0.05)
    chosen = harness.options("").parse_args(["--only", workload, "--size", "1000"])
    rows = threads.run(chosen)
    assert [(r.workload, r.engine) for r in rows] == [(workload, harness.OURS), (workload, "2 threads")]
    assert rows[0].ratio == 1


def test_calls_are_compared_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "_is_there", lambda engine: False)
    monkeypatch.setattr(harness, "SECONDS", 0.05)
    rows = latency.run(harness.options("").parse_args(["--only", "call_50", "--size", "50"]))
    assert [r.engine for r in rows] == [harness.OURS, "entry", "entry_out", "numpy"]
    for kind in ("number", "branch", "dict", "turns"):
        rows = latency.run(harness.options("").parse_args(["--only", f"{kind}_50", "--size", "50"]))
        assert [(r.workload, r.engine) for r in rows] == [(f"{kind}_50", harness.OURS), (f"{kind}_50", "numpy")]


def test_starts_are_of_processes_that_find_what_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with all, without object code, or empty; here no process is started, and none compiles."""
    kept = {"a.o": b"object", "b.py": b"source"}
    found: list[tuple[str, set[str]]] = []

    def started(engine: str, folder: Path) -> dict[str, Any]:
        found.append((engine, {path.name for path in folder.iterdir()}))
        for name, data in kept.items():
            (folder / name).write_bytes(data)
        return {"import": 0.2, "first": 0.3, "result": 2.0, "imported": ["llvmlite"]}

    monkeypatch.setattr(latency, "_started", started)
    monkeypatch.setattr(latency, "STARTS", 2)
    for kind, files in (("start_warm", {"a.o", "b.py"}), ("start_kernels", {"b.py"}), ("start_cold", set())):
        found.clear()
        (row,) = latency._starts(kind, [])
        assert (row.workload, row.engine, row.ratio, row.note) == (kind, harness.OURS, 1.0, "imported: llvmlite")
        assert [files_ for _, files_ in found[-1:]] == [files] and row.median_s == 0.5


def test_growth_compares_ten_times_the_nodes() -> None:
    rows = [harness.Row(f"dag_{n}", "a", n / 1e6, 0, 1) for n in (1_000, 10_000)]
    assert list(rewriting.growth(rows)) == ["a: dag_10000 takes 10.00 times dag_1000"]


def test_engines_have_a_module_each() -> None:
    assert all((ROOT / "benchmarks" / "peers" / f"{module}.py").exists() for module, _ in ENGINES.values())
    assert engine("ngraph_rewrite", RuleChoice(10, 10)).exact


def test_the_networks_are_real_ones_with_a_gradient_for_each_weight() -> None:
    assert len(lstm(2)) == 1 + 4 * 3 + 2
    convolutions = [t for t in topological(resnet(35)[:1]) if t.definition.short == "convolution"]
    assert len(convolutions) + 1 == 35 + 4  # with the dense layer; 4 lead around the first block of a stage
