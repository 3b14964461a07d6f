# SPDX-License-Identifier: Apache-2.0
"""A decision tree as a Python function; a crowd of rules as a search and a function for each that it may find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ngraph_rewrite.rewriting.crowds import Crowd, Few, Lookup, Several, crowd
from ngraph_rewrite.rewriting.expression_source import as_source
from ngraph_rewrite.rewriting.pattern import (
    attribute_names,
    variables,
)
from ngraph_rewrite.rewriting.pieces import PAD, identifier, items_source, op_name
from ngraph_rewrite.rewriting.rows import (
    HasArguments,
    HasAttribute,
    HasOperands,
    Holds,
    IsNumber,
    Row,
    Same,
    Structural,
    Test,
)
from ngraph_rewrite.rewriting.slots import Place, slot_source, term_source, with_arguments
from ngraph_rewrite.rewriting.tree import If, Leaf, Switch, Tree, grow
from ngraph_rewrite.terms.catalogue import OpDef


def trying(definition: OpDef, what: str, parameters: str, pending: list[Row], leaf: Any, last: str) -> Iterator[str]:
    """The function that tries the rows at an op in their order: by a tree, or one by one as a crowd is searched."""
    name, tree = f"{what}_{identifier(definition)}", grow(pending)
    if tree is not None or not pending:
        yield f"def {name}({parameters}):"
        lines = [*_tree(tree, frozenset(), leaf), last, ""]
        yield from (PAD + line if line else "" for line in with_arguments(definition.arity, lines))
        return
    before, seek = _search(f"{name}_seek", crowd([replace(row, bit=i) for i, row in enumerate(pending)]))
    yield from before
    for i, row in enumerate(pending):
        late = tuple(test for test in row.tests if not isinstance(test, Structural))
        yield f"def {name}_{i}({parameters}):"
        yield from (PAD + line for line in leaf(replace(row, tests=late)))
        yield from (f"{PAD}{last}", "")
    found = [f"r = f({parameters})", "if r is not None:", f"{PAD}return r"]
    yield f"{name}_rows = [{', '.join(f'{name}_{i}' for i in range(len(pending)))}]"
    yield f"def {name}({parameters}):"
    yield from (PAD + line for line in seek)  # here, as most searches find nothing
    yield f"{PAD}while m:"
    yield f"{PAD}{PAD}f = {name}_rows[(m & -m).bit_length() - 1]"
    yield from (f"{PAD}{PAD}{line}" for line in (found if what == "step" else [f"yield from f({parameters})"]))
    yield f"{PAD}{PAD}m &= m - 1"
    yield from (f"{PAD}{last}", "")


def _search(name: str, found: Crowd) -> tuple[list[str], list[str]]:
    """The lines that say which rows of a crowd match, as the bits of `m`; and before them those that they need."""
    before, lines = list[str](), ["m = 0"]
    for i, part in enumerate(found.parts if isinstance(found, Several) else (found,)):
        if isinstance(part, Lookup):
            branches = []
            for j, (definition, inner) in enumerate(part.found):
                before += _seeking(f"{name}_{i}_{j}", inner)
                branches.append(f"{op_name(definition.name)}: {name}_{i}_{j}")
            before.append(f"{name}_{i} = {{{', '.join(branches)}}}.get")
            lines.append(f"f = {name}_{i}({term_source(part.place)}.definition)")
            lines += ["if f is not None:", f"{PAD}m |= f(self)"]
        elif isinstance(part, Few):
            lines += _tree(part.tree, frozenset(), _bit_leaf)
        else:
            before += _seeking(f"{name}_{i}", part)
            lines.append(f"m |= {name}_{i}(self)")
    return before, lines


def _seeking(name: str, found: Crowd) -> list[str]:
    """The function that says which rows of a crowd match."""
    before, lines = _search(name, found)
    return [*before, f"def {name}(self):", *(PAD + line for line in lines), f"{PAD}return m", ""]


def _bit_leaf(row: Row) -> Iterator[str]:
    bit = str(1 << row.bit) if row.bit < 64 else f"1 << {row.bit}"  # digits of all of them grow with their square
    yield from _leaf(row, [f"m |= {bit}"])


def _tree(tree: Tree | None, known: frozenset[str], leaf: object) -> Iterator[str]:
    if isinstance(tree, Leaf):
        yield from leaf(tree.row)  # type: ignore[operator]
        yield from _tree(tree.otherwise, known, leaf)
    elif isinstance(tree, Switch):
        name = f"o_{_term_name(tree.place)}"
        if name not in known:
            yield f"{name} = {term_source(tree.place)}.definition"
        known |= {name}
        for i, (definition, branch) in enumerate(tree.branches):
            yield f"{'elif' if i else 'if'} {name} is {op_name(definition.name)}:"
            yield from _block(branch, known, leaf)
        if tree.otherwise is not None:
            yield "else:"
            yield from _block(tree.otherwise, known, leaf)
        yield from _tree(tree.after, known, leaf)
    elif isinstance(tree, If):
        yield f"if {_test(tree.test)}:{_asker([tree.test])}"
        yield from _block(tree.then, known, leaf)
        if tree.otherwise is not None:
            yield "else:"
            yield from _block(tree.otherwise, known, leaf)
        yield from _tree(tree.after, known, leaf)


def _block(tree: Tree | None, known: frozenset[str], leaf: object) -> Iterator[str]:
    yield from (PAD + line for line in _tree(tree, known, leaf) or ())
    if tree is None:
        yield f"{PAD}pass"


def _term_name(place: Place) -> str:
    return "_".join(str(i).replace("-", "m") for i in place) or "root"


def _test(test: Test) -> str:
    if isinstance(test, Holds):
        return test.source if test.wanted else f"not ({test.source})"
    if isinstance(test, Same):
        same = "==" if test.first.of_op else "is"
        return f"{slot_source(test.first)} {same} {slot_source(test.other)}"
    term = term_source(test.place)
    if isinstance(test, HasOperands):
        ops = items_source([op_name(d.name) for d in test.ops])
        return f"nest_{identifier(test.definition)}.has({term}, ({ops}), {test.count}, {test.exact})"
    if isinstance(test, IsNumber):
        return f"{term}.attrs[0].is_number({_number(test.value)})"
    if isinstance(test, HasAttribute):
        return f"{term}.attrs[{test.index}] == {as_source(test.expression, {})}"
    assert isinstance(test, HasArguments)
    return f"len({term}.args) {'==' if test.exact else '>='} {test.count}"


def _operand(test: Test) -> str:
    """A test as an operand of `and`."""
    return f"({_test(test)})" if isinstance(test, Holds) else _test(test)


def _asker(tests: Iterable[Test]) -> str:
    """The comment by which errors find the rule that asked, where a test may fail."""
    asked = next((t.rule for t in tests if isinstance(t, Holds) and not t.certain), None)
    return "" if asked is None else f"  # rule {asked}"


def _number(value: object) -> str:
    return f"float({repr(value)!r})" if repr(value) in ("inf", "-inf", "nan") else repr(value)


def _leaf(row: Row, call: list[str]) -> Iterator[str]:
    if row.tests:
        yield f"if {' and '.join(map(_operand, row.tests))}:{_asker(row.tests)}"
        yield from (PAD + line for line in call)
    else:
        yield from call


def _arguments(row: Row) -> list[tuple[str, str]]:
    slots = dict(row.slots)
    order = [*variables(row.rule.left), *attribute_names(row.rule.left)]
    return [(name, slot_source(slots[name][0])) for name in order]


def step_leaf(row: Row) -> Iterator[str]:
    """Where a row matches, its rule is applied; what that makes is returned."""
    if row.searched:
        call = f"r = apply_{row.index}(self, make, target, *values)"
        loop = [call, "if r is not None:", f"{PAD}return r"]
        search = f"for values in search_{row.index}(self):  # rule {row.index}"  # which may take too many steps
        yield from _leaf(row, [search, *(PAD + line for line in loop)])
        return
    values = ", ".join(["self", "make", "target", *(value for _, value in _arguments(row))])
    yield from _leaf(row, [f"r = apply_{row.index}({values})", "if r is not None:", f"{PAD}return r"])


def match_leaf(row: Row) -> Iterator[str]:
    """Where a row matches, what its rule binds is listed."""
    if row.searched:
        names = [*variables(row.rule.left), *attribute_names(row.rule.left)]
        found = f"yield {row.index}, dict(zip(({items_source([repr(n) for n in names])}), values))"
        yield from _leaf(row, [f"for values in search_{row.index}(self):", f"{PAD}{found}"])
        return
    pairs = ", ".join(f"{name!r}: {value}" for name, value in _arguments(row))
    yield from _leaf(row, [f"yield {row.index}, {{{pairs}}}"])
