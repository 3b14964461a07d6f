# SPDX-License-Identifier: Apache-2.0
"""Decision trees are written as Python source that can be read: a function per root op, one per rule.

`step_OP(self, make, target)` returns ``(rule index, new term)`` for the first rule that matches and whose
guard holds; `match_OP(self)` yields every ``(rule index, substitution)``, guards aside.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator

from ngraph_rewrite.rewriting.expression import BOUNDED, Expression, as_source, called_functions
from ngraph_rewrite.rewriting.frame import printable
from ngraph_rewrite.rewriting.pattern import (
    Build,
    Computed,
    Num,
    Pick,
    Spread,
    Template,
    Var,
    attribute_names,
    variables,
)
from ngraph_rewrite.rewriting.rule import Clause, Let, Rule, Where
from ngraph_rewrite.rewriting.tree import (
    Both,
    HasArguments,
    HasAttribute,
    If,
    IsNumber,
    IsOp,
    Leaf,
    Place,
    Row,
    Slot,
    Switch,
    Test,
    Tree,
    grow,
    rows,
)
from ngraph_rewrite.terms.catalogue import OpDef

_BOUNDED = frozenset(function.__name__ for function in BOUNDED.values())
_TAKEN = frozenset({"make", "target", "fill", "op", "fn", "zip", "float", "r"}) | _BOUNDED
_PAD = "    "


def emit(rules: Iterable[Rule]) -> str:
    """The source of a module whose `trees(op, fn, fill)` returns the step and match functions by op."""
    numbered = list(enumerate(rules))
    by_root: dict[OpDef, list[tuple[int, Rule]]] = {}
    for index, rule in numbered:
        by_root.setdefault(rule.left.definition, []).append((index, rule))
    body = [line for index, rule in numbered for line in _apply(index, rule)]
    for definition, own in by_root.items():
        tree = grow([row for index, rule in own for row in rows(index, rule)])
        body += _function(f"step_{_id(definition)}(self, make, target)", tree, _step_leaf, "return None")
        body += _function(f"match_{_id(definition)}(self)", tree, _match_leaf, "return; yield")
    pairs = ", ".join(f'"{d.name}": (step_{_id(d)}, match_{_id(d)})' for d in by_root)
    text = "\n".join(["", *body, f"return {{{pairs}}}"])
    header = [f"{_id_name(name)} = op({name!r})" for name in sorted(_named(text, _all_ops(numbered)))]
    header += [f"fn_{name} = fn[{name!r}]" for name in sorted(_functions(numbered))]
    header += [f"{name} = fn['bounded {name}']" for name in sorted(_BOUNDED) if f"{name}(" in text]
    lines = [f"{_PAD}{line}" if line else "" for line in [*header, *text.splitlines()]]
    title = '"""Decision trees of a rule set, generated from its rule files. Read it; do not edit it."""'
    return "\n".join([title, "", "", "def trees(op, fn, fill):", *lines, ""])


def _id(definition: OpDef) -> str:
    return definition.name.replace(".", "_")


def _id_name(name: str) -> str:
    return "op_" + name.replace(".", "_")


def _all_ops(numbered: list[tuple[int, Rule]]) -> dict[str, str]:
    found = {"op_core_constant": "core.constant"}
    for _, rule in numbered:
        for definition in _ops_of(rule):
            found[_id_name(definition.name)] = definition.name
    return found


def _ops_of(rule: Rule) -> Iterator[OpDef]:
    for row in rows(0, rule):
        yield from (t.definition for t in row.tests if isinstance(t, IsOp))
    templates = [*rule.right, *(c.template for c in rule.clauses if isinstance(c, Let))]
    while templates:
        template = templates.pop()
        if isinstance(template, Build | Computed):
            if isinstance(template, Build):
                yield template.definition
            templates.extend(template.args)
        elif isinstance(template, Spread):
            templates.append(template.template)


def _named(text: str, known: dict[str, str]) -> set[str]:
    return {name for identifier, name in known.items() if identifier in text}


def _functions(numbered: list[tuple[int, Rule]]) -> set[str]:
    called = {name for _, rule in numbered for e in _expressions(rule) for name in called_functions(e)}
    return called | {t.function for _, rule in numbered for t in rule.right if isinstance(t, Computed)}


def _expressions(rule: Rule) -> Iterator[Expression]:
    if rule.guard is not None:
        yield rule.guard
    for row in rows(0, rule):
        yield from (t.expression for t in row.tests if isinstance(t, HasAttribute))
    yield from (c.expression for c in rule.clauses if isinstance(c, Where))
    templates = [*rule.right, *(c.template for c in rule.clauses if isinstance(c, Let))]
    while templates:
        template = templates.pop()
        if isinstance(template, Build | Computed):
            yield from (e for _, e in getattr(template, "attributes", ()))
            templates.extend(template.args)
        elif isinstance(template, Spread):
            templates.append(template.template)
        elif isinstance(template, Pick):
            yield template.index


# -- a function per rule ------------------------------------------------------------------------------


class _Names:
    """Rule names as Python names."""

    def __init__(self, rule: Rule) -> None:
        terms = variables(rule.left)
        self.parameters = [*terms, *attribute_names(rule.left)]
        self.sequences = {n for n, s in terms.items() if s}
        self.sequences |= {c.name for c in rule.clauses if isinstance(c, Where) and c.sequence}
        everything = [*self.parameters, *(c.name for c in rule.clauses)]
        self.python = {n: self._safe(n) for n in everything}

    @staticmethod
    def _safe(name: str) -> str:
        plain = name.rstrip("_")  # so that no other name becomes the same
        clash = plain in _TAKEN or keyword.iskeyword(plain) or name.startswith(("op_", "fn_"))
        return f"{name}_" if clash else name

    def expression(self, expression: Expression) -> str:
        return as_source(expression, self.python)

    def name(self, name: str) -> str:
        return self.python.get(name, name)


def _apply(index: int, rule: Rule) -> Iterator[str]:
    names = _Names(rule)
    yield f"def apply_{index}({', '.join(['self', 'make', 'target', *map(names.name, names.parameters)])}):"
    about = f"{' '.join(rule.place.split())}  {' '.join(rule.name.split())} @{rule.grade}"
    yield from (f"{_PAD}# {printable(line.strip())}" for line in [about, *rule.text.splitlines()])
    if rule.kind == "derive":
        yield f"{_PAD}d = target"
    early = _before_guard(rule)
    for clause in rule.clauses:
        if clause.name in early:
            yield _PAD + _clause(clause, names)
    if rule.guard is not None:
        yield f"{_PAD}if not ({names.expression(rule.guard)}):"
        yield f"{_PAD}{_PAD}return None"
    for clause in rule.clauses:
        if clause.name not in early:
            yield _PAD + _clause(clause, names)
    yield f"{_PAD}return {index}, {_right(rule, names)}"
    yield ""


def _right(rule: Rule, names: _Names) -> str:
    """The new term; for derive, pairs of a variable's value and its adjoint (both lists for a sequence)."""
    if rule.kind != "derive":
        assert rule.right[0] is not None
        return _template(rule.right[0], names, "self.dtype", "self.axes")
    pairs = []
    for (name, sequence), template in zip(variables(rule.left).items(), rule.right, strict=True):
        adjoint = "None" if template is None else _template(template, names, "d.dtype", "d.axes")
        pairs.append(f"({names.name(name)}, {f'[{adjoint}]' if sequence and template is not None else adjoint})")
    return f"[{', '.join(pairs)}]"


def _before_guard(rule: Rule) -> set[str]:
    """The clauses the guard needs, directly or through others."""
    if rule.guard is None:
        return set()
    reads = {c.name: _reads(c) for c in rule.clauses}
    needed: set[str] = set()
    pending = [n for n in rule.guard.names if n in reads]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending.extend(n for n in reads[name] if n in reads)
    return needed


def _reads(clause: Clause) -> set[str]:
    if isinstance(clause, Where):
        return set(clause.expression.names)
    found: set[str] = set()
    pending = [clause.template]
    while pending:
        template = pending.pop()
        if isinstance(template, Var):
            found.add(template.name)
        elif isinstance(template, Spread):
            pending.append(template.template)
        elif isinstance(template, Pick):
            found.update(template.index.names)
        elif isinstance(template, Build):
            found.update(n for _, e in template.attributes for n in e.names)
            pending.extend(template.args)
    return found


def _clause(clause: Clause, names: _Names) -> str:
    if isinstance(clause, Let):
        return f"{names.name(clause.name)} = {_template(clause.template, names, 'self.dtype', 'self.axes')}"
    return f"{names.name(clause.name)} = {names.expression(clause.expression)}"


def _template(template: Template, names: _Names, dtype: str, axes: str) -> str:
    if isinstance(template, Var):
        return names.name(template.name)
    if isinstance(template, Num):
        number = repr(template.value)
        return f"fill(make, {f'float({number!r})' if number in ('inf', '-inf', 'nan') else number}, {dtype}, {axes})"
    if isinstance(template, Spread):
        return _spread(template, names, dtype, axes)
    if isinstance(template, Pick):
        return f"{names.name(template.name)}[{names.expression(template.index)}]"
    if isinstance(template, Computed):
        return f"fn_{template.function}(make, {', '.join(_template(a, names, dtype, axes) for a in template.args)})"
    return _build(template, names)


def _build(template: Build, names: _Names) -> str:
    """Numbers beside a term take its dtype and, where operands must have equal shapes, its axes."""
    args = ["" if isinstance(a, Num) else _template(a, names, "self.dtype", "self.axes") for a in template.args]
    if "" in args:
        beside = [a for a in args if a]
        numeric = [a for a in args[1:] if a] if template.definition.short == "select" else beside
        dtype = f"{numeric[0]}.dtype" if numeric else "self.dtype"
        axes = "()" if template.definition.kin == "axes" else f"{beside[0]}.axes" if beside else "self.axes"
        args = [a or _template(t, names, dtype, axes) for a, t in zip(args, template.args, strict=True)]
    attributes = [names.expression(e) for _, e in template.attributes]
    return f"make({_id_name(template.definition.name)}, ({_items(args)}), ({_items(attributes)}))"


def _spread(template: Spread, names: _Names, dtype: str, axes: str) -> str:
    inside = sorted(_reads(Let("", template.template)) & names.sequences)
    if not inside:
        return f"*({_template(template.template, names, dtype, axes)},)"
    own = [names.name(n) for n in inside]
    each = _template(template.template, names, dtype, axes)
    source = f"zip({', '.join(own)}, strict=True)" if len(own) > 1 else own[0]
    return f"*[{each} for {', '.join(own)} in {source}]" if each != own[0] else f"*{own[0]}"


def _items(items: list[str]) -> str:
    return "".join(f"{item}, " for item in items).strip() if len(items) == 1 else ", ".join(items)


# -- a function per tree ------------------------------------------------------------------------------


def _function(signature: str, tree: Tree | None, leaf: object, last: str) -> Iterator[str]:
    yield f"def {signature}:"
    yield from (_PAD + line for line in _tree(tree, frozenset(), leaf))
    yield f"{_PAD}{last}"
    yield ""


def _tree(tree: Tree | None, known: frozenset[str], leaf: object) -> Iterator[str]:
    if isinstance(tree, Leaf):
        yield from leaf(tree.row)  # type: ignore[operator]
        yield from _tree(tree.otherwise, known, leaf)
    elif isinstance(tree, Both):
        yield from _tree(tree.first, known, leaf)
        yield from _tree(tree.then, known, leaf)
    elif isinstance(tree, Switch):
        name = f"o_{_term_name(tree.place)}"
        if name not in known:
            yield f"{name} = {_term(tree.place)}.definition"
        known |= {name}
        for i, (definition, branch) in enumerate(tree.branches):
            yield f"{'elif' if i else 'if'} {name} is {_id_name(definition.name)}:"
            yield from _block(branch, known, leaf)
        if tree.otherwise is not None:
            yield "else:"
            yield from _block(tree.otherwise, known, leaf)
    elif isinstance(tree, If):
        yield f"if {_test(tree.test)}:"
        yield from _block(tree.then, known, leaf)
        if tree.otherwise is not None:
            yield "else:"
            yield from _block(tree.otherwise, known, leaf)


def _block(tree: Tree | None, known: frozenset[str], leaf: object) -> Iterator[str]:
    yield from (_PAD + line for line in _tree(tree, known, leaf) or ())
    if tree is None:
        yield f"{_PAD}pass"


def _term(place: Place) -> str:
    return "self" + "".join(f".args[{i}]" for i in place)


def _term_name(place: Place) -> str:
    return "_".join(str(i).replace("-", "m") for i in place) or "root"


def _test(test: Test) -> str:
    term = _term(test.place)
    if isinstance(test, IsNumber):
        return f"{term}.attrs[0].is_number({_number(test.value)})"
    if isinstance(test, HasAttribute):
        return f"{term}.attrs[{test.index}] == {as_source(test.expression, {})}"
    assert isinstance(test, HasArguments)
    return f"len({term}.args) {'==' if test.exact else '>='} {test.count}"


def _number(value: object) -> str:
    return f"float({repr(value)!r})" if repr(value) in ("inf", "-inf", "nan") else repr(value)


def _slot(slot: Slot) -> str:
    term = _term(slot.place)
    if slot.attribute is not None:
        return f"{term}.attrs[{slot.attribute}]"
    if slot.sequence is not None:
        start, after = slot.sequence
        return f"{term}.args[{start}:len({term}.args) - {after}]" if after else f"{term}.args[{start}:]"
    return term


def _repeats(row: Row) -> list[str]:
    tests = []
    for _, slots in row.slots:
        same = "==" if slots[0].attribute is not None or slots[0].sequence is not None else "is"
        tests += [f"{_slot(slots[0])} {same} {_slot(other)}" for other in slots[1:]]
    return tests


def _leaf(row: Row, call: list[str]) -> Iterator[str]:
    tests = _repeats(row)
    if tests:
        yield f"if {' and '.join(tests)}:"
        yield from (_PAD + line for line in call)
    else:
        yield from call


def _arguments(row: Row) -> list[tuple[str, str]]:
    slots = dict(row.slots)
    order = [*variables(row.rule.left), *attribute_names(row.rule.left)]
    return [(name, _slot(slots[name][0])) for name in order]


def _step_leaf(row: Row) -> Iterator[str]:
    values = ", ".join(["self", "make", "target", *(value for _, value in _arguments(row))])
    yield from _leaf(row, [f"r = apply_{row.index}({values})", "if r is not None:", f"{_PAD}return r"])


def _match_leaf(row: Row) -> Iterator[str]:
    pairs = ", ".join(f"{name!r}: {value}" for name, value in _arguments(row))
    yield from _leaf(row, [f"yield {row.index}, {{{pairs}}}"])
