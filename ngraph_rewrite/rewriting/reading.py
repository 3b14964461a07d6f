# SPDX-License-Identifier: Apache-2.0
"""The terms of an equation, patterns on the left and templates on the right, are read from Python's syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.conditional import template_names
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.expression_checks import Refused, check_dtype
from ngraph_rewrite.rewriting.nests import IDENTITIES, nests
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Computed,
    Pattern,
    Pick,
    SeqVar,
    Spread,
    Template,
    Var,
    subpatterns,
)
from ngraph_rewrite.rewriting.reading_names import Names, is_sequence, span_of
from ngraph_rewrite.rewriting.registry import term_functions
from ngraph_rewrite.rewriting.typeclasses import CLASSES as TYPE_CLASSES
from ngraph_rewrite.rewriting.typeclasses import asked
from ngraph_rewrite.terms.catalogue import OpDef, find, lookup
from ngraph_rewrite.types.dtypes import DTYPES

# Names that no variable has, and what they are.
RESERVED = {
    "self": "is the matched term",
    "target": "is what the rules run for",
    "d": "is the incoming adjoint, in a derive file",
    "none": "says that no derivative passes, in a derive file",
}
ONCE = "once"
_DTYPES = frozenset(map(str, DTYPES))


class Reader(Names):
    """Reads the two sides of one rule."""

    # -- the left side --------------------------------------------------------------------------

    def pattern(self, node: ast.expr) -> Pattern:
        if isinstance(node, ast.Name):
            if node.id in RESERVED:
                raise self.error(
                    node, f"`{node.id}` {RESERVED[node.id]}, and cannot be a variable", "choose another name"
                )
            return Var(self.name(node.id, node), span_of(node))
        if is_sequence(node):
            return self.sequence(node)
        number = _number(node)
        if number is not None:
            return self.number(node, number)
        operator = self.operator(node)
        if operator is not None:
            return self.application(node, operator[0], operator[1], [])
        if isinstance(node, ast.Call) and _called(node) == ONCE and not self.is_op(ONCE):
            return self.once(node)
        if isinstance(node, ast.Call) and _called(node) in TYPE_CLASSES and not self.is_op(_called(node)):
            return self.restricted(node)
        if isinstance(node, ast.Call) and _called(node) in self.sorts and not self.is_operation(_called(node)):
            return self.of_sort(node)
        if isinstance(node, ast.Call):
            return self.application(node, self.definition(node, node.func), node.args, node.keywords)
        raise self.error(node, "not a pattern", "a pattern is a variable, a number, or an op applied to patterns")

    def sequence(self, node: ast.expr) -> SeqVar:
        assert isinstance(node, ast.Subscript)
        if not isinstance(node.value, ast.Name):
            raise self.error(node, "a sequence on the left is a variable: `x...`")
        return SeqVar(self.name(node.value.id, node), span_of(node))

    def is_op(self, short: str) -> bool:
        """Whether an op of the families of this side has the name of a class of types, and so hides it.

        Terms of a signature are of no such class.
        """
        if "core" not in self.families:
            return True
        return any(find(f"{family}.{self.alternative.get(short, short)}") for family in self.families)

    def is_operation(self, short: str) -> bool:
        """Whether an operation of the signature has the name of a sort, and so hides it."""
        return any(find(f"{family}.{self.alternative.get(short, short)}") for family in self.families)

    def once(self, node: ast.Call) -> Pattern:
        """An op whose term has no other user."""
        pattern = self.pattern(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(pattern, App):
            raise self.error(node, f"`{ONCE}` takes one op applied to patterns", f"write `{ONCE}(f(x))`")
        return replace(pattern, once=True)

    def roots(self, node: ast.Tuple) -> App:
        """Several left sides as one: a tuple of their terms. Each shares a variable with one before it."""
        patterns = [self.pattern(part) for part in node.elts]
        known: set[str] = set()
        for pattern, part in zip(patterns, node.elts, strict=True):
            if not isinstance(pattern, App) or pattern.once:
                raise self.error(part, "each of several left sides is an op applied to patterns")
            own = {p.name for p in subpatterns(pattern) if isinstance(p, Var)}
            if known and known.isdisjoint(own):
                raise self.error(part, "it shares no variable with a left side before it", "write two rules")
            known |= own
        return App(lookup("core.make_tuple"), tuple(patterns), span=span_of(node))

    def restricted(self, node: ast.Call) -> Pattern:
        """A variable of a class of types."""
        pattern = self.pattern(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(pattern, Var):
            what = f"`{_called(node)}` is a class of types: it is asked of one variable"
            raise self.error(node, what, f"write `{_called(node)}(x)`")
        self.conditions.append(asked(_called(node), pattern.name))
        return pattern

    def of_sort(self, node: ast.Call) -> Pattern:
        """A variable of a sort, or a sequence of which each is."""
        pattern = self.pattern(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(pattern, Var | SeqVar) or pattern.sort is not None:
            what = f"`{_called(node)}` is a sort: it is asked of one variable"
            raise self.error(node, what, f"write `{_called(node)}(x)` or `{_called(node)}(x...)`")
        return replace(pattern, sort=self.sorts[_called(node)])

    def application(
        self, node: ast.expr, definition: OpDef, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Pattern:
        patterns = tuple(self.pattern(a) for a in args)
        self.check_arity(node, definition, patterns)
        binds, compares = [], []
        for attribute, value in self.attributes(keywords, definition).items():
            if isinstance(value, ast.Name):
                if value.id in RESERVED.keys() - {"d"}:
                    raise self.error(
                        value, f"`{value.id}` {RESERVED[value.id]}, and cannot be bound", "choose another name"
                    )
                if value.id in _DTYPES and "core" in self.families:
                    what = f"`{value.id}` is a dtype, and here it would be a variable that stands for any {attribute}"
                    raise self.error(value, what, f"write {attribute}='{value.id}', or choose another name")
                binds.append((attribute, self.name(value.id, value)))
            else:
                compares.append((attribute, self.compared(attribute, value)))
        return App(definition, patterns, tuple(binds), tuple(compares), span_of(node))

    def compared(self, attribute: str, value: ast.expr) -> Expression:
        """What an attribute is compared with; a dtype is one that there is."""
        do = f"write {attribute}= with a name of its own here, and compare that in the guard"
        found = self.expression(value, (), do)
        if attribute == "dtype" and "core" in self.families and isinstance(found.tree, ast.Constant):
            try:
                check_dtype(found.tree)
            except Refused as refused:
                raise self.error(value, refused.message, refused.do) from None
        return found

    def check_arity(self, node: ast.expr, definition: OpDef, args: tuple[object, ...]) -> None:
        sequences = sum(isinstance(a, SeqVar | Spread) for a in args)
        if nests(definition) and (sequences or len(args) > 2):
            self.check_nest(node, definition, args)
            return
        if sequences and definition.arity is not None:
            what = f"{definition} takes {_arguments(definition.arity)}: a sequence cannot stand here"
            raise self.error(node, what, "it may among the operands of an associative op")
        if definition.arity is not None and len(args) != definition.arity:
            raise self.error(node, f"{definition} takes {_arguments(definition.arity)}, not {len(args)}")
        if len(args) < definition.least and not sequences:
            raise self.error(node, f"{definition} takes at least {_arguments(definition.least)}, not {len(args)}")

    def check_nest(self, node: ast.expr, definition: OpDef, args: tuple[object, ...]) -> None:
        """Whether the operands of a nest can be found on the left, or leave one to be built on the right."""
        runs = [a.name for a in args if isinstance(a, SeqVar)]
        if any(isinstance(a, Spread) for a in args):
            if all(isinstance(a, Spread) for a in args) and definition.short not in IDENTITIES:
                what = f"{definition} of no operands has no value"
                raise self.error(node, what, "write an operand that is always there beside the sequence")
            return
        if len(runs) == len(args) and runs and (len(runs) == 1 or not definition.commutative):
            raise self.error(node, "only sequences among the operands: they match in any way", "write one operand")
        if any(isinstance(a, App) and a.definition is definition for a in args):
            what = f"an operand of nested {definition.short} is no {definition.short} itself"
            raise self.error(node, what, "write all operands in one list")

    # -- the right side -------------------------------------------------------------------------

    def template(self, node: ast.expr, terms: dict[str, bool], names: Iterable[str]) -> Template:
        if isinstance(node, ast.Name):
            if node.id not in terms:
                raise self.no_term(node, terms, names)
            if terms[node.id]:
                raise self.error(node, f"`{node.id}` stands for several terms", f"write `{node.id}...` among arguments")
            return Var(node.id, span_of(node))
        if is_sequence(node):
            assert isinstance(node, ast.Subscript)
            one = self.template(node.value, dict.fromkeys(terms, False), names)
            if template_names(one).isdisjoint(self.several.union(name for name, several in terms.items() if several)):
                raise self.error(node, "`...` stands behind what names no sequence", "leave it out, or name one inside")
            return Spread(one, span_of(node))
        if isinstance(node, ast.Subscript) and is_sequence(node.value):
            return self.pick(node, terms, names)
        number = _number(node)
        if number is not None:
            return self.number(node, number)
        operator = self.operator(node)
        if operator is not None:
            return self.build(node, operator[0], operator[1], [], terms, names)
        if isinstance(node, ast.Call):
            if _called(node) in term_functions():
                raise self.error(node, f"`{_called(node)}` makes terms: it can only be a whole right side")
            return self.build(node, self.definition(node, node.func), node.args, node.keywords, terms, names)
        raise self.error(node, "not a term", "a term is a bound variable, a number, or an op applied to terms")

    def no_term(self, node: ast.Name, terms: dict[str, bool], names: Iterable[str]) -> RuleFileError:
        """What to say of a name that no term has: it may be that of an attribute, or of what is computed."""
        if node.id not in {*names} - {"target"}:
            return self.error(node, f"`{node.id}` is not bound by the left side", "use its variables, self or a let")
        like = next((name for name, several in terms.items() if not several), "self")
        filled = f"constant(value=literal({node.id}, {like}.dtype), axes=axes_of())"
        do = f"if it is a number, fill a constant with it: `{filled}`" if "core" in self.families else None
        return self.error(node, f"`{node.id}` is an attribute, or computed of some, and no term", do)

    def whole(self, node: ast.expr, terms: dict[str, bool], names: Iterable[str]) -> Template:
        """A right side: a template, or a term function of templates."""
        if not isinstance(node, ast.Call) or _called(node) not in term_functions():
            return self.template(node, terms, names)
        if node.keywords:
            raise self.error(node.keywords[0].value, f"`{_called(node)}` takes terms only, by their places")
        return Computed(_called(node), tuple(self.template(a, terms, names) for a in node.args), span_of(node))

    def pick(self, node: ast.Subscript, terms: dict[str, bool], names: Iterable[str]) -> Template:
        assert isinstance(node.value, ast.Subscript)
        sequence = node.value.value
        if not isinstance(sequence, ast.Name) or not terms.get(sequence.id):
            raise self.error(node, "only of a sequence variable can one term be picked: `x...[i]`")
        return Pick(sequence.id, self.expression(node.slice, names), span_of(node))

    def build(
        self,
        node: ast.expr,
        definition: OpDef,
        args: list[ast.expr],
        keywords: list[ast.keyword],
        terms: dict[str, bool],
        names: Iterable[str],
    ) -> Template:
        names = list(names)
        templates = tuple(self.template(a, terms, names) for a in args)
        self.check_arity(node, definition, templates)
        given = self.attributes(keywords, definition)
        missing = [a for a in definition.attributes if a not in given]
        if missing:
            do = f"write {', '.join(f'{a}=...' for a in missing)}"
            raise self.error(node, f"{definition} needs the attribute {', '.join(missing)}", do)
        attributes = tuple((a, self.expression(given[a], names)) for a in definition.attributes)
        return Build(definition, templates, attributes, span_of(node))


def _called(node: ast.Call) -> str:
    """The name a call calls; nothing if it is no plain name."""
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _number(node: ast.expr) -> bool | int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inside = _number(node.operand)
        return None if inside is None or isinstance(inside, bool) else -inside
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return node.value
    if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    return None


def _arguments(count: int) -> str:
    return f"{count} argument{'s' * (count != 1)}"
