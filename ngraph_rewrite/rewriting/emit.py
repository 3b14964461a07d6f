# SPDX-License-Identifier: Apache-2.0
"""Decision trees are written as Python source that can be read: a function per root op, one per rule.

`step_OP(self, make, target)` returns ``(rule index, new term)`` for the first rule that matches and whose
guard holds; `match_OP(self)` yields every ``(rule index, substitution)``, guards aside.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from ngraph_rewrite.rewriting.collapse import collapsing
from ngraph_rewrite.rewriting.conditions import with_rest
from ngraph_rewrite.rewriting.crowds import Crowd, Few, Lookup, Several, crowd
from ngraph_rewrite.rewriting.expression import BOUNDED, Expression, as_source, called_functions
from ngraph_rewrite.rewriting.frame import REWRITE, printable
from ngraph_rewrite.rewriting.hoisting import hoisted
from ngraph_rewrite.rewriting.nests import is_nest, is_searched, may_be_empty
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
from ngraph_rewrite.rewriting.slots import Place, slot_source, term_source
from ngraph_rewrite.rewriting.sorting import held_names
from ngraph_rewrite.rewriting.tree import (
    HasArguments,
    HasAttribute,
    HasOperands,
    Holds,
    If,
    IsNumber,
    IsOp,
    Leaf,
    Row,
    Same,
    Structural,
    Switch,
    Test,
    Tree,
    grow,
    rows,
)
from ngraph_rewrite.terms.catalogue import OpDef

_BOUNDED = frozenset(function.__name__ for function in BOUNDED.values())
_TAKEN = frozenset({"make", "target", "fill", "op", "fn", "zip", "float", "r", "chain", "run"}) | _BOUNDED
_PAD = "    "


def emit(rules: Iterable[Rule]) -> str:
    """The source of a module whose `trees(op, fn, fill)` returns the step and match functions by op."""
    numbered = list(enumerate(rules))
    by_root: dict[OpDef, list[tuple[int, Rule]]] = {}
    for index, rule in numbered:
        by_root.setdefault(rule.left.definition, []).append((index, rule))
    body = [line for index, rule in numbered for line in _apply(index, rule)]
    for definition, own in by_root.items():
        taken = [row for i, rule in own if not rule.graph for row in rows(i, rule, guarded=True)]
        body += _found(definition, "step", "self, make, target", taken, _step_leaf, "return None")
        body += collapsing(definition, own, as_source)
        every = [row for i, rule in own for row in rows(i, rule)]
        body += _found(definition, "match", "self", every, _match_leaf, "return; yield")
    pairs = ", ".join(f'"{d.name}": (step_{_id(d)}, match_{_id(d)})' for d in by_root)
    text = "\n".join(["", *body, f"return {{{pairs}}}"])
    header = [f"{_id_name(name)} = op({name!r})" for name in sorted(_named(text, _all_ops(numbered)))]
    header += [f"fn_{name} = fn[{name!r}]" for name in sorted(_functions(numbered))]
    header += [f"{name} = fn['bounded {name}']" for name in sorted(_BOUNDED) if f"{name}(" in text]
    header += [f"nest_{_id(d)} = fn['nest of']()" for d in _nests(numbered) if f"nest_{_id(d)}." in text]
    header += [f"search_{i} = fn['search of']({i})" for i, rule in numbered if is_searched(rule.left)]
    header += ["chain = fn['chain of']"] if "chain(" in text else []
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


def _nests(numbered: list[tuple[int, Rule]]) -> Iterator[OpDef]:
    """The ops whose nests are looked through, each once."""
    tests = (test for i, rule in numbered if is_searched(rule.left) for row in rows(i, rule) for test in row.tests)
    yield from dict.fromkeys(test.definition for test in tests if isinstance(test, HasOperands))


def _ops_of(rule: Rule) -> Iterator[OpDef]:
    for row in rows(0, rule):
        yield from (t.definition for t in row.tests if isinstance(t, IsOp))
        yield from (d for t in row.tests if isinstance(t, HasOperands) for d in t.ops)
    templates = _templates(rule)
    while templates:
        template = templates.pop()
        if isinstance(template, Build | Computed):
            if isinstance(template, Build):
                yield template.definition
            templates.extend(template.args)
        elif isinstance(template, Spread):
            templates.append(template.template)


def _templates(rule: Rule) -> list[Template | None]:
    """Everything that a rule builds."""
    lets = (c.template for c in rule.clauses if isinstance(c, Let))
    return [*rule.right, *lets, *(side for c in rule.conditions for side in (c.left, c.right))]


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
    templates = _templates(rule)
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
        # Of a rule of a signature: what it binds to terms that need not be normal, and whether it builds one now.
        self.held = held_names(rule.left)
        self.fresh = (n for n in map("t{}".format, count()) if n not in self.python.values())
        self.holding = False
        # Statements that come before an expression, and whether it stands in one for each term of a sequence.
        self.before: list[str] = []
        self.repeated = False

    def once(self, source: str) -> str:
        """A name for what an expression makes, which is used several times."""
        if source.isidentifier() or self.repeated:
            return source
        name = next(self.fresh)
        self.before.append(f"{name} = {source}")
        return name

    def statements(self) -> list[str]:
        """What is to come before an expression, once."""
        found, self.before = self.before, []
        return found

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
    rule = with_rest(rule)
    names = _Names(rule)
    yield f"def apply_{index}({', '.join(['self', 'make', 'target', *map(names.name, names.parameters)])}):"
    about = f"{' '.join(rule.place.split())}  {' '.join(rule.name.split())} @{rule.grade}"
    yield from (f"{_PAD}# {printable(line.strip())}" for line in [about, *rule.text.splitlines()])
    if rule.kind == "derive":
        yield f"{_PAD}d = target"
    early = _before_guard(rule)
    for clause in rule.clauses:
        if clause.name in early:
            yield from (_PAD + line for line in _clause(clause, names))
    if rule.guard is not None:
        yield f"{_PAD}if not ({names.expression(rule.guard)}):"
        yield f"{_PAD}{_PAD}return None"
    if rule.kind == REWRITE:
        yield from _conditional(index, rule, early, names)
        return
    for clause in rule.clauses:
        if clause.name not in early:
            yield from (_PAD + line for line in _clause(clause, names))
    right = _right(rule, names)
    yield from (_PAD + line for line in names.statements())
    if rule.kind != "derive":
        single = [names.name(n) for n, sequence in variables(rule.left).items() if not sequence]
        lines, right = hoisted(right, {"self", *single})
        yield from (_PAD + line for line in lines)
    yield f"{_PAD}return {index}, {right}"
    yield ""


def _conditional(index: int, rule: Rule, early: set[str], names: _Names) -> Iterator[str]:
    """What a rule of a signature does after its guard: `run` has normal forms, and makes terms that need not be one."""
    lines, done = list[str](), set(early)
    for wanted in [*rule.conditions, None]:
        asked = None if wanted is None else _needed(rule, (wanted.left, wanted.right))
        for clause in rule.clauses:
            if clause.name not in done and (asked is None or clause.name in asked):
                done.add(clause.name)
                lines += _clause(clause, names)
        if wanted is not None:
            one, other = (f"run.ready({_template(side, names, '', '')})" for side in (wanted.left, wanted.right))
            lines += [f"if {one} is {'not ' if wanted.equal else ''}{other}:", f"{_PAD}return None"]
    lines += [f"return {index}, {_outermost(rule, names)}", ""]
    if any("run." in line for line in lines):
        yield f"{_PAD}run = make.__self__"
    yield from (_PAD + line if line else "" for line in lines)


def _outermost(rule: Rule, names: _Names) -> str:
    """The right side as a step gives it: what is built last is not rewritten inside the step, but in the next one."""
    right = rule.right[0]
    if isinstance(right, Build):
        return _operation(right, names, "run.hold")
    if isinstance(right, Var) and right.name in names.held:
        return f"run.late({names.name(right.name)})"
    return _right(rule, names)


def _needed(rule: Rule, templates: Iterable[Template]) -> set[str]:
    """The clauses that templates need, directly or through others."""
    reads = {c.name: _reads(c) for c in rule.clauses}
    needed: set[str] = set()
    pending = [n for t in templates for n in _reads(Let("", t)) if n in reads]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending.extend(n for n in reads[name] if n in reads)
    return needed


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
        return [*names.statements(), f"{names.name(clause.name)} = {made}"]
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
        return f"chain(make, {_id_name(template.definition.name)}, [{', '.join(args)}], fill, {dtype}, {axes})"
    attributes = [names.expression(e) for _, e in template.attributes]
    return f"make({_id_name(template.definition.name)}, ({_items(args)}), ({_items(attributes)}))"


def _operation(template: Build, names: _Names, make: str = "make") -> str:
    """A term of a signature; in the place of a lazy argument it is built as it is written."""
    profile, holding, args = template.definition.profile, names.holding, list[str]()
    assert profile is not None
    for place, arg in enumerate(template.args):
        names.holding = holding or place in profile.held
        args.append(_template(arg, names, "", ""))
    names.holding = holding
    attributes = _items([names.expression(e) for _, e in template.attributes])
    make = "run.hold" if holding else make
    return f"{make}({_id_name(template.definition.name)}, ({_items(args)}), ({attributes}))"


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


def _items(items: list[str]) -> str:
    return "".join(f"{item}, " for item in items).strip() if len(items) == 1 else ", ".join(items)


# -- a function per tree ------------------------------------------------------------------------------


def _found(definition: OpDef, what: str, parameters: str, pending: list[Row], leaf: Any, last: str) -> Iterator[str]:
    """The function that tries the rows at an op in their order: by a tree, or one by one as a crowd is searched."""
    name, tree = f"{what}_{_id(definition)}", grow(pending)
    if tree is not None or not pending:
        yield from _function(f"{name}({parameters})", tree, leaf, last)
        return
    yield from seeking(f"{name}_seek", crowd([replace(row, bit=i) for i, row in enumerate(pending)]))
    for i, row in enumerate(pending):
        late = tuple(test for test in row.tests if not isinstance(test, Structural))
        yield f"def {name}_{i}({parameters}):"
        yield from (_PAD + line for line in leaf(replace(row, tests=late)))
        yield from (f"{_PAD}{last}", "")
    found = [f"r = f({parameters})", "if r is not None:", f"{_PAD}return r"]
    yield f"{name}_rows = [{', '.join(f'{name}_{i}' for i in range(len(pending)))}]"
    yield f"def {name}({parameters}):"
    yield f"{_PAD}m = {name}_seek(self)"
    yield f"{_PAD}while m:"
    yield f"{_PAD}{_PAD}f = {name}_rows[(m & -m).bit_length() - 1]"
    yield from (f"{_PAD}{_PAD}{line}" for line in (found if what == "step" else [f"yield from f({parameters})"]))
    yield f"{_PAD}{_PAD}m &= m - 1"
    yield from (f"{_PAD}{last}", "")


def seeking(name: str, found: Crowd) -> Iterator[str]:
    """The function that says which rows of a crowd match, as the bits of a number."""
    lines, own = list[str](), [f"def {name}(self):", f"{_PAD}m = 0"]
    for i, part in enumerate(found.parts if isinstance(found, Several) else (found,)):
        if isinstance(part, Lookup):
            branches = []
            for j, (definition, inner) in enumerate(part.found):
                lines += seeking(f"{name}_{i}_{j}", inner)
                branches.append(f"{_id_name(definition.name)}: {name}_{i}_{j}")
            lines.append(f"{name}_{i} = {{{', '.join(branches)}}}.get")
            own.append(f"{_PAD}f = {name}_{i}({term_source(part.place)}.definition)")
            own += [f"{_PAD}if f is not None:", f"{_PAD}{_PAD}m |= f(self)"]
        elif isinstance(part, Few):
            own += (_PAD + line for line in _tree(part.tree, frozenset(), _bit_leaf))
        else:
            lines += seeking(f"{name}_{i}", part)
            own.append(f"{_PAD}m |= {name}_{i}(self)")
    yield from (*lines, *own, f"{_PAD}return m", "")


def _bit_leaf(row: Row) -> Iterator[str]:
    yield from _leaf(row, [f"m |= {1 << row.bit}"])


def _function(signature: str, tree: Tree | None, leaf: object, last: str) -> Iterator[str]:
    yield f"def {signature}:"
    yield from (_PAD + line for line in _tree(tree, frozenset(), leaf))
    yield f"{_PAD}{last}"
    yield ""


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
            yield f"{'elif' if i else 'if'} {name} is {_id_name(definition.name)}:"
            yield from _block(branch, known, leaf)
        if tree.otherwise is not None:
            yield "else:"
            yield from _block(tree.otherwise, known, leaf)
    elif isinstance(tree, If):
        yield f"if {_test(tree.test)}:{_asker([tree.test])}"
        yield from _block(tree.then, known, leaf)
        if tree.otherwise is not None:
            yield "else:"
            yield from _block(tree.otherwise, known, leaf)


def _block(tree: Tree | None, known: frozenset[str], leaf: object) -> Iterator[str]:
    yield from (_PAD + line for line in _tree(tree, known, leaf) or ())
    if tree is None:
        yield f"{_PAD}pass"


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
        ops = _items([_id_name(d.name) for d in test.ops])
        return f"nest_{_id(test.definition)}.has({term}, ({ops}), {test.count}, {test.exact})"
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
        yield from (_PAD + line for line in call)
    else:
        yield from call


def _arguments(row: Row) -> list[tuple[str, str]]:
    slots = dict(row.slots)
    order = [*variables(row.rule.left), *attribute_names(row.rule.left)]
    return [(name, slot_source(slots[name][0])) for name in order]


def _step_leaf(row: Row) -> Iterator[str]:
    if row.searched:
        call = f"r = apply_{row.index}(self, make, target, *values)"
        loop = [call, "if r is not None:", f"{_PAD}return r"]
        yield from _leaf(row, [f"for values in search_{row.index}(self):", *(_PAD + line for line in loop)])
        return
    values = ", ".join(["self", "make", "target", *(value for _, value in _arguments(row))])
    yield from _leaf(row, [f"r = apply_{row.index}({values})", "if r is not None:", f"{_PAD}return r"])


def _match_leaf(row: Row) -> Iterator[str]:
    if row.searched:
        names = [*variables(row.rule.left), *attribute_names(row.rule.left)]
        found = f"yield {row.index}, dict(zip(({_items([repr(n) for n in names])}), values))"
        yield from _leaf(row, [f"for values in search_{row.index}(self):", f"{_PAD}{found}"])
        return
    pairs = ", ".join(f"{name!r}: {value}" for name, value in _arguments(row))
    yield from _leaf(row, [f"yield {row.index}, {{{pairs}}}"])
