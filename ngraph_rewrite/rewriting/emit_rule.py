# SPDX-License-Identifier: Apache-2.0
"""A rule as a Python function: its clauses, its guard, and the terms of its right side."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator
from itertools import count

from ngraph_rewrite.rewriting.conditional import (
    Conditional,
    in_order,
    matchings,
    new_names,
    pattern_names,
)
from ngraph_rewrite.rewriting.conditions import with_rest
from ngraph_rewrite.rewriting.direct import may_be_direct, taken_apart
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.expression_source import BOUNDED, as_source
from ngraph_rewrite.rewriting.frame import REWRITE
from ngraph_rewrite.rewriting.frame_parts import printable
from ngraph_rewrite.rewriting.hoisting import direct, hoisted
from ngraph_rewrite.rewriting.nests import is_nest, may_be_empty
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
from ngraph_rewrite.rewriting.pieces import PAD, items_source, op_name
from ngraph_rewrite.rewriting.rule import Asking, Clause, Condition, Let, Matching, Rule, Where
from ngraph_rewrite.rewriting.sorting import held_names

_BOUNDED = frozenset(function.__name__ for function in BOUNDED.values())
_TAKEN = frozenset({"make", "target", "fill", "op", "fn", "zip", "float", "r", "chain", "run"}) | _BOUNDED


class _Names:
    """Rule names as Python names."""

    def __init__(self, rule: Rule) -> None:
        terms = variables(rule.left)
        self.parameters = [*terms, *attribute_names(rule.left)]
        self.sequences = rule.sequences
        later = [name for own in new_names(rule) for name in own]
        everything = [*self.parameters, *(c.name for c in rule.clauses), *later]
        self.python = {n: self._safe(n) for n in everything}
        # Of a rule of a signature: what it binds to terms that need not be normal, and whether it builds one now.
        self.held = held_names(rule.left).union(*(held_names(c.pattern) for c in matchings(rule)))
        self.fresh = (n for n in map("t{}".format, count()) if n not in self.python.values())
        self.holding = False
        # Statements that come before an expression, and whether it stands in one for each term of a sequence.
        self.before: list[str] = []
        self.repeated = False
        self.known: dict[str, str] = {}
        # What surely is one term, by its name in Python.
        self.terms = {"self", *(self.python[n] for n, sequence in terms.items() if not sequence)}

    def once(self, source: str) -> str:
        """A name for what an expression makes, which is used several times."""
        if source.isidentifier() or self.repeated:
            return source
        if source not in self.known:
            self.known[source] = next(self.fresh)
            self.before.append(f"{self.known[source]} = {source}")
        return self.known[source]

    def statements(self) -> list[str]:
        """What is to come before an expression, once."""
        found, self.before = self.before, []
        return found

    @staticmethod
    def _safe(name: str) -> str:
        plain = name.rstrip("_")  # so that no other name becomes the same
        clash = plain in _TAKEN or keyword.iskeyword(plain) or name.startswith(("op_", "fn_", "matching_"))
        return f"{name}_" if clash else name

    def expression(self, expression: Expression) -> str:
        return ast.unparse(direct(as_source(expression, self.python), self.terms))

    def name(self, name: str) -> str:
        return self.python.get(name, name)


def applying(index: int, rule: Rule) -> Iterator[str]:
    """The function that makes the right side of a rule of what its left side binds; None if the guard refuses."""
    rule = with_rest(rule)
    names = _Names(rule)
    yield f"def apply_{index}({', '.join(['self', 'make', 'target', *map(names.name, names.parameters)])}):"
    about = f"{' '.join(rule.place.split())}  {' '.join(rule.name.split())} @{rule.grade}"
    yield from (f"{PAD}# {printable(line.strip())}" for line in [about, *rule.text.splitlines()])
    if rule.kind == "derive":
        yield f"{PAD}d = target"
    early = _before_guard(rule)
    for clause in rule.clauses:
        if clause.name in early:
            yield from (PAD + line for line in _clause(clause, names))
    if rule.guard is not None:
        yield f"{PAD}if not ({names.expression(rule.guard)}):"
        yield f"{PAD}{PAD}return None"
    if rule.kind == REWRITE:
        yield from _conditional(index, rule, early, names)
        return
    for clause in rule.clauses:
        if clause.name not in early:
            yield from (PAD + line for line in _clause(clause, names))
    right = _right(rule, names)
    yield from (PAD + line for line in names.statements())
    if rule.kind != "derive":
        lines, right = hoisted(right, names.terms)
        yield from (PAD + line for line in lines)
    yield f"{PAD}return {index}, {right}"
    yield ""


def _conditional(index: int, rule: Rule, early: set[str], names: _Names) -> Iterator[str]:
    """What a rule of a signature does after its guard: `run` has normal forms, and makes terms that need not be one.

    A condition that matches is a loop: where what comes after it fails, the next match is tried.
    """
    lines, pad, refuse, place = list[str](), "", "return None", 0
    for step in in_order(rule, early):
        found = (
            _matching(index, place, rule, names, refuse) if isinstance(step, Matching) else _asked(step, names, refuse)
        )
        lines += [pad + line for line in found]
        place += isinstance(step, Matching)
        if found[-1].startswith("for "):
            pad, refuse = pad + PAD, "continue"
    lines += [f"{pad}return {index}, {_outermost(rule, names)}", ""]
    if any("run." in line for line in lines):
        yield f"{PAD}run = make.__self__"
    yield from (PAD + line if line else "" for line in lines)


def _asked(step: Clause | Conditional, names: _Names, refuse: str) -> list[str]:
    """A clause, or a condition that holds or not."""
    if isinstance(step, Let | Where):
        return _clause(step, names)
    if isinstance(step, Asking):
        return [f"if not ({names.expression(step.expression)}):", PAD + refuse]
    assert isinstance(step, Condition)
    one, other = (f"run.ready({_template(side, names, '', '')})" for side in (step.left, step.right))
    return [f"if {one} is {'not ' if step.equal else ''}{other}:", PAD + refuse]


def _matching(index: int, place: int, rule: Rule, names: _Names, refuse: str) -> list[str]:
    """The loop over the matches of a condition, which gets what its pattern has that is bound already.

    What matches in one way at most is asked, and taken apart, where it stands.
    """
    condition, new = matchings(rule)[place], new_names(rule)[place]
    term = _template(condition.term, names, "", "")
    if may_be_direct(condition.pattern):
        name = next(names.fresh)
        known = {n: f"run.ready({_given(n, names)})" for n in variables(condition.pattern) if n not in new}
        tests, found = taken_apart(
            condition.pattern, name, known, {n: names.name(n) for n in names.python if n not in new}
        )
        refused = [f"if not ({' and '.join(tests)}):", PAD + refuse] if tests else []
        bound = [f"{names.name(n)} = {value}" for n, value in found.items()]
        return [f"{name} = run.found({term}, {index})", *refused, *bound]
    given = [_given(name, names) for name in pattern_names(condition.pattern) if name not in new]
    targets = "".join(f"{names.name(name)}, " for name in new).strip()
    return [f"for {targets or '()'} in run.matched({', '.join([f'matching_{index}_{place}', term, *given])}):"]


def _given(name: str, names: _Names) -> str:
    """What a name is bound to, in normal form."""
    if name in names.held and name in names.sequences:
        return f"tuple([run.force(t) for t in {names.name(name)}])"
    return _template(Var(name), names, "", "")


def _outermost(rule: Rule, names: _Names) -> str:
    """The right side as a step gives it: what is built last is not rewritten inside the step, but in the next one."""
    right = rule.right[0]
    if isinstance(right, Build):
        return _operation(right, names, "run.hold")
    if isinstance(right, Var) and right.name in names.held:
        return f"run.late({names.name(right.name)})"
    return _right(rule, names)


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


def _clause(clause: Clause, names: _Names) -> list[str]:
    if isinstance(clause, Let):
        made = _template(clause.template, names, "self.dtype", "self.axes")
        lines, made = hoisted(made, names.terms)
        return [*names.statements(), *lines, f"{names.name(clause.name)} = {made}"]
    return [f"{names.name(clause.name)} = {names.expression(clause.expression)}"]


def _template(template: Template, names: _Names, dtype: str, axes: str) -> str:
    if isinstance(template, Var):
        own = names.name(template.name)
        return f"run.force({own})" if template.name in names.held and not names.holding else own
    if isinstance(template, Num):
        number = repr(template.value)
        return f"fill(make, {f'float({number!r})' if number in ('inf', '-inf', 'nan') else number}, {dtype}, {axes})"
    if isinstance(template, Spread):
        return _spread(template, names, dtype, axes)
    if isinstance(template, Pick):
        return f"{names.name(template.name)}[{names.expression(template.index)}]"
    if isinstance(template, Computed):
        return f"fn_{template.function}(make, {', '.join(_template(a, names, dtype, axes) for a in template.args)})"
    return _build(template, names, dtype, axes)


def _build(template: Build, names: _Names, dtype: str, axes: str) -> str:
    """Numbers beside a term take its dtype and, where operands must have equal shapes, its axes; so do empty nests."""
    if template.definition.profile is not None:
        return _operation(template, names)
    late = [isinstance(a, Num) or may_be_empty(a) for a in template.args]
    args = [
        "" if wait else _template(a, names, "self.dtype", "self.axes")
        for wait, a in zip(late, template.args, strict=True)
    ]
    if "" in args:
        beside = [i for i, a in enumerate(args) if a and not a.startswith("*")]
        numeric = [i for i in beside if i or template.definition.short != "select"]
        for i in {*beside[:1], *numeric[:1]}:
            args[i] = names.once(args[i])
        like = f"{args[numeric[0]]}.type.dtype" if numeric else "self.type.dtype"
        shape = "()" if template.definition.kin == "axes" else f"{args[beside[0]]}.type.axes" if beside else "self.axes"
        args = [a or _template(t, names, like, shape) for a, t in zip(args, template.args, strict=True)]
    if is_nest(template):
        return f"chain(make, {op_name(template.definition.name)}, [{', '.join(args)}], fill, {dtype}, {axes})"
    attributes = [names.expression(e) for _, e in template.attributes]
    return f"make({op_name(template.definition.name)}, ({items_source(args)}), ({items_source(attributes)}))"


def _operation(template: Build, names: _Names, make: str = "make") -> str:
    """A term of a signature; in the place of a lazy argument it is built as it is written."""
    profile, holding, args = template.definition.profile, names.holding, list[str]()
    assert profile is not None
    for place, arg in enumerate(template.args):
        names.holding = holding or place in profile.held
        args.append(_template(arg, names, "", ""))
    names.holding = holding
    attributes = items_source([names.expression(e) for _, e in template.attributes])
    make = "run.hold" if holding else make
    return f"{make}({op_name(template.definition.name)}, ({items_source(args)}), ({attributes}))"


def _spread(template: Spread, names: _Names, dtype: str, axes: str) -> str:
    inside = sorted(_reads(Let("", template.template)) & names.sequences)
    if not inside:
        return f"*({_template(template.template, names, dtype, axes)},)"
    own, outer = [names.name(n) for n in inside], names.repeated
    names.repeated = True
    each = _template(template.template, names, dtype, axes)
    names.repeated = outer
    source = f"zip({', '.join(own)}, strict=True)" if len(own) > 1 else own[0]
    return f"*[{each} for {', '.join(own)} in {source}]" if each != own[0] else f"*{own[0]}"
