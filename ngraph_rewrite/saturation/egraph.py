# SPDX-License-Identifier: Apache-2.0
"""An e-graph in egglog: terms go in by tables, matches and classes come out as rows.

Nothing is named and no term is sent as an expression: both are slow for large graphs. A term is a row of a table of
its constructor, with the numbers of its children; a rule of egglog makes the e-node, in the class of the term's number.
Classes are merged by rows as well. So a graph of 10,000 terms is loaded in a tenth of a second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ngraph_rewrite.errors import ExtensionError
from ngraph_rewrite.saturation.nodes import Constructor, Nodes
from ngraph_rewrite.saturation.queries import Node, Query, Test, Variable, tests
from ngraph_rewrite.terms.catalogue import OpDef

try:
    from egglog import bindings as egglog
except ImportError as error:
    raise ExtensionError(
        "equality saturation needs the package egglog", do='install it: pip install "ngraph_rewrite[saturate]"'
    ) from error

_START = """
(sort E)
(constructor at (i64) E)
(relation same (i64 i64))
(relation is (i64 i64))
(ruleset load)
(ruleset merge)
(ruleset forget)
(rule ((same a b)) ((union (at a) (at b)) (delete (same a b))) :ruleset merge)
"""


class ENode(NamedTuple):
    """An e-node: its head, and the classes of its children and its own, by number."""

    head: int
    children: tuple[int, ...]
    own: int


class Row(NamedTuple):
    """A match: the heads of a query's nodes, and for each variable the number of a term of its class."""

    heads: tuple[int, ...]
    terms: tuple[int, ...]


class Snapshot:
    """What egglog has worked out: the class of each term, and all e-nodes.

    Attributes:
        own: The class of each term by its number; the number of a class is that of its first term.
    """

    def __init__(self, engine: Any, terms: int) -> None:
        self._engine, self._functions = engine, engine.freeze().functions
        value, first = engine.value_to_i64, dict[Any, int]()
        rows = sorted((value(row.inputs[0]), row.output) for row in self._functions["at"].rows)
        self.own = [first.setdefault(output, number) for number, output in rows]
        self._first = first
        assert len(self.own) == terms

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self._first)

    def rows(self, table: str, heads: int) -> list[Row]:
        """The rows of an answer, sorted: egglog's order is an accident."""
        value, first, found = self._engine.value_to_i64, self._first, list[Row]()
        for row in self._functions[table].rows:
            inputs = row.inputs
            found.append(Row(tuple(map(value, inputs[:heads])), tuple([first[v] for v in inputs[heads:]])))
        return sorted(found)

    def enodes(self, table: str) -> Iterator[ENode]:
        """The e-nodes of a constructor."""
        value, first = self._engine.value_to_i64, self._first
        for row in self._functions[table].rows:
            yield ENode(value(row.inputs[0]), tuple([first[v] for v in row.inputs[1:]]), first[row.output])

    def size(self, tables: Iterable[str]) -> int:
        """How many e-nodes there are."""
        return sum(len(self._functions[t].rows) for t in tables)


class EGraph:
    """An e-graph of the terms in `nodes`, which is loaded as they grow."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.constructors: dict[OpDef, dict[Constructor, str]] = {}
        self._engine = egglog.EGraph()
        self._run(_START)
        self._folder = tempfile.TemporaryDirectory(prefix="ngraph_rewrite_egglog_")
        self._queries: list[Query] = []
        self._tests: dict[OpDef, dict[str, tuple[int, Test]]] = {}
        self._count_of_tests = self._tested = self._loaded = self._again = 0
        self._pairs: list[tuple[int, int]] = []
        self._searches: dict[frozenset[int], str] = {}

    def close(self) -> None:
        """Remove its files."""
        self._folder.cleanup()

    # -- terms --------------------------------------------------------------------------------------

    def union(self, one: int, other: int) -> None:
        """Say that two terms are equal; it is known after the next `load`."""
        self._pairs.append((one, other))

    def load(self) -> bool:
        """Bring the e-graph up to date with its nodes and unions; whether there are new constructors."""
        nodes, tables, before = self.nodes, dict[str, list[tuple[int, ...]]](), self._declared
        for number in range(self._loaded, len(nodes)):
            table = self._table(nodes.constructor[number])
            tables.setdefault(f"load_{table}", []).append((number, nodes.head[number], *nodes.children[number]))
        self._loaded = len(nodes)
        if tables:
            self._feed(tables)
            self._run("(run load 1)")
        self._pairs += nodes.again[self._again :]
        self._again = len(nodes.again)
        if self._pairs:
            self._feed({"same": self._pairs})
            self._run("(run merge 1)")
            self._pairs = []
        self._judge()
        return self._declared > before

    @property
    def _declared(self) -> int:
        return sum(map(len, self.constructors.values()))

    @property
    def tables(self) -> list[str]:
        """The names of the tables of e-nodes."""
        return [name for own in self.constructors.values() for name in own.values()]

    def _table(self, constructor: Constructor) -> str:
        own = self.constructors.setdefault(constructor.definition, {})
        if constructor not in own:
            name = f"f{self._declared}"
            children = [f"c{i}" for i in range(constructor.arity)]
            classes = " ".join(f"(at {c})" for c in children)
            other = f"(union (at t) ({name} h (at c1) (at c0)))" if constructor.swaps else ""
            row = f"(load_{name} t h {' '.join(children)})"
            self._run(f"""
                (constructor {name} (i64 {"E " * constructor.arity}) E)
                (relation load_{name} (i64 i64 {"i64 " * constructor.arity}))
                (rule ({row}) ((union (at t) ({name} h {classes})) {other} (delete {row})) :ruleset load)""")
            own[constructor] = name
        return own[constructor]

    def _feed(self, tables: Mapping[str, Iterable[tuple[int, ...]]]) -> None:
        for name, rows in tables.items():
            path = Path(self._folder.name) / f"{name}.csv"
            path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="ascii")
            self._engine.run_program(egglog.Input(egglog.RustSpan("", 0, 0), name, str(path)))

    def _run(self, program: str) -> None:
        self._engine.run_program(*self._engine.parse_program(program))

    # -- matches ------------------------------------------------------------------------------------

    def add_query(self, query: Query) -> int:
        """Ask a query from now on; its number. All its constructors have to be known."""
        number = len(self._queries)
        self._queries.append(query)
        names = {v: f"v{i}" for i, v in enumerate(query.names)}
        places = {id(n): i for i, n in enumerate(query.nodes)}
        atoms = [atom for i, node in enumerate(query.nodes) for atom in self._atoms(i, node, names, places)]
        columns = [f"h{i}" for i in range(len(query.nodes))] + list(names.values())
        sorts = ["i64"] * len(query.nodes) + ["E"] * len(names)
        row = f"(m{number} {' '.join(columns)})"
        self._run(f"""
            (relation m{number} ({" ".join(sorts)}))
            (ruleset q{number})
            (rule ({" ".join(atoms)}) ({row}) :ruleset q{number})
            (rule ({row}) ((delete {row})) :ruleset forget)""")
        return number

    def _atoms(self, at: int, node: Node, names: dict[str, str], places: dict[int, int]) -> Iterator[str]:
        table = self.constructors[node.constructor.definition][node.constructor]
        args = [names[c.name] if isinstance(c, Variable) else f"n{places[id(c)]}" for c in node.children]
        yield f"(= n{at} ({table} h{at} {' '.join(args)}))"
        for test in tests(node):
            yield f"(is {self._test(node.constructor.definition, test)} h{at})"

    def _test(self, definition: OpDef, test: Test) -> int:
        """The number of a test; heads that are there already are judged by it."""
        own = self._tests.setdefault(definition, {})
        if test[0] not in own:
            number = own[test[0]] = (self._count_of_tests, test)
            self._count_of_tests += 1
            heads = [i for i in range(self._tested) if self._passes(i, definition, test)]
            if heads:
                self._feed({"is": [(number[0], head) for head in heads]})
        return own[test[0]][0]

    def _passes(self, head: int, definition: OpDef, test: Test) -> bool:
        found = self.nodes.heads[head]
        return found.definition is definition and found.binder is None and test[1](found)

    def _judge(self) -> None:
        """Ask the tests of heads that are new."""
        rows = []
        for head in range(self._tested, len(self.nodes.heads)):
            definition = self.nodes.heads[head].definition
            for number, test in self._tests.get(definition, {}).values():
                if self._passes(head, definition, test):
                    rows.append((number, head))
        self._tested = len(self.nodes.heads)
        if rows:
            self._feed({"is": rows})

    def search(self, off: Collection[int] = ()) -> Snapshot:
        """Find what is new since each query was last asked; `off` are the numbers of those that are not asked now."""
        asked = frozenset(range(len(self._queries))) - frozenset(off)
        if asked:
            self._run(f"(run {self._search(asked)} 1)")
        found = Snapshot(self._engine, self._loaded)
        if asked:
            self._run("(run forget 1)")
        return found

    def _search(self, asked: frozenset[int]) -> str:
        if asked not in self._searches:
            name = self._searches[asked] = f"search{len(self._searches)}"
            self._run(f"(unstable-combined-ruleset {name} {' '.join(f'q{i}' for i in sorted(asked))})")
        return self._searches[asked]

    def rows(self, snapshot: Snapshot, query: int) -> Sequence[Row]:
        """The matches of a query that `search` found."""
        return snapshot.rows(f"m{query}", len(self._queries[query].nodes))
