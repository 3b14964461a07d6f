# SPDX-License-Identifier: Apache-2.0
"""What is searched for, runs between sequences and operands of nests, is found as matchpy and brute force find it."""

from __future__ import annotations

import os
import sys
from random import Random
from typing import Any

import matchpy
import numpy as np
import pytest
from brute_force import Heap, every_match
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import printed_in_any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.bounds import OPERANDS
from ngraph_rewrite.rewriting.instances import matches
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.nests import is_nest, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.reference import reference_matches
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.search import matches as found_by_search
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef, find, lookup, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.tensor import TensorType

SEEDS = st.integers(0, 2**32 - 1)
SQUARE = TensorType("float32", anonymous([2, 2]))
drawn = settings(max_examples=60, deadline=None, derandomize=True)


if find("searching.join") is None:

    @op("searching.join", "associative", "elementwise", meaning=np.add)
    def _join(x: TensorType, y: TensorType) -> TensorType:
        """An op that may be regrouped, and whose operands may not be exchanged."""
        return x

    @op("searching.row", meaning=None)
    def _row(*xs: TensorType, kind: int) -> TensorType:
        """An op of any number of arguments of any type."""
        return SQUARE


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("searches"))


def rules_of(*equations: str) -> RuleSet:
    text = "\n".join(f"rule r{i}: {equation}" for i, equation in enumerate(equations))
    return parse_rules(f"simplify semi\n{text}\n", "my.rules", "my")


class Builder:
    """Square float matrices over one bank."""

    def __init__(self, random: Random | None = None) -> None:
        self.bank, self.random = TrialBank(), random or Random(0)

    def leaf(self, name: str) -> Op:
        return self.bank.leaf(name, SQUARE)

    def number(self, value: float) -> Op:
        return self.bank.make(lookup("core.constant"), (), (Literal(value, "float32"), SQUARE.axes))

    def op(self, name: str, *args: Op, attrs: tuple[Any, ...] = ()) -> Op:
        return self.bank.make(lookup(name if "." in name else f"semi.{name}"), args, attrs)

    def nest(self, definition: OpDef, args: list[Op]) -> Op:
        """The operands in any grouping; in any order if the op commutes."""
        if definition.commutative:
            args = self.random.sample(args, len(args))
        while len(args) > 1:
            at = self.random.randrange(len(args) - 1)
            args = [*args[:at], self.bank.make(definition, (args[at], args[at + 1]), ()), *args[at + 2 :]]
        return args[0]

    def small(self) -> Op:
        kind = self.random.randrange(8)
        leaf = self.leaf(self.random.choice("ab"))
        if kind == 0:
            return self.number(self.random.choice((0.0, 1.0)))
        return self.op(("negative", "exp")[kind % 2], leaf) if kind < 4 else leaf

    def filled(self, pattern: Pattern, given: dict[str, Any]) -> list[Op]:
        """Terms that a pattern matches, wherever names that repeat were filled alike; sometimes one more."""
        if isinstance(pattern, Var):
            return [given.setdefault(pattern.name, self.small())]
        if isinstance(pattern, SeqVar):
            some = [self.small() for _ in range(self.random.randrange(3))]
            return given.setdefault(pattern.name, some)  # type: ignore[no-any-return]
        if isinstance(pattern, Num):
            return [self.number(float(pattern.value))]
        args = [t for arg in pattern.args for t in self.filled(arg, given)]
        if is_nest(pattern):
            more = [self.small()] if self.random.random() < 0.3 or len(args) < 2 else []
            return [self.nest(pattern.definition, [*args, *more])]
        if pattern.definition.commutative and self.random.random() < 0.5:
            args.reverse()
        attrs = tuple(self.random.randrange(2) for _ in pattern.definition.attributes)
        return [self.bank.make(pattern.definition, tuple(args), attrs)]


# -- what is drawn --------------------------------------------------------------------------------------


def one_of(random: Random, depth: int) -> Pattern:
    """A pattern for one term."""
    kind = random.randrange(7)
    if kind < 3:
        return Var(random.choice("xyz"))
    if kind == 3:
        return Num(random.choice((0, 1)))
    if kind == 6 and depth:
        return row(random, depth - 1)
    if kind == 5:
        names = [Var(random.choice("xyz")) for _ in range(2)]
        other = random.choice((names[1], Num(1), App(lookup("semi.exp"), (names[1],))))
        return App(lookup("semi.multiply"), (names[0], other))
    return App(lookup(random.choice(("semi.negative", "semi.exp"))), (Var(random.choice("xyz")),))


def row(random: Random, depth: int) -> App:
    """Up to four patterns and sequences, which may repeat."""
    args = [
        SeqVar(random.choice("st")) if random.random() < 0.5 else one_of(random, depth)
        for _ in range(random.randint(1, 4))
    ]
    return App(lookup("searching.row"), tuple(args), (("kind", random.choice("kl")),))


def nest(random: Random, name: str) -> App:
    """Up to three operands, and a rest for most, or two that stand anywhere."""
    definition = lookup(name)
    args = [p for p in (one_of(random, 0) for _ in range(random.randint(1, 3))) if not is_operand(p, definition)]
    args = args or [Var("x")]
    for rest in ("rest", "more"):
        if len(args) in (1, 2) or random.random() < 0.7:
            args.insert(random.randint(0, len(args)), SeqVar(rest))
    return App(definition, tuple(args))


def shared(random: Random) -> App:
    """A sum with up to three sequences, which may repeat, and hardly anything else."""
    args: list[Pattern] = [SeqVar(random.choice("ssttu")) for _ in range(random.randint(2, 3))]
    if random.random() < 0.6:
        args.insert(random.randint(0, len(args)), one_of(random, 0))
    return App(lookup("semi.add"), tuple(args))


def products(random: Random) -> App:
    """A sum of products, rows and a rest, which may share variables and sequences."""

    def factor() -> Pattern:
        name = Var(random.choice("xyz"))
        return name if random.random() < 0.6 else App(lookup("semi.exp"), (name,))

    def product() -> App:
        factors = [SeqVar(random.choice("stu")), *(factor() for _ in range(random.randint(1, 2)))]
        return App(lookup("semi.multiply"), tuple(random.sample(factors, len(factors))))

    def few() -> App:
        return App(lookup("searching.row"), (SeqVar(random.choice("stu")), factor()), (("kind", "k"),))

    kinds = (product, product, few, factor)
    args = [product(), *(random.choice(kinds)() for _ in range(random.randint(0, 1)))]
    return App(lookup("semi.add"), (*random.sample(args, len(args)), SeqVar(random.choice("stuv"))))


def is_operand(pattern: Pattern, definition: OpDef) -> bool:
    return any(isinstance(p, App) and p.definition is definition for p in subpatterns(pattern))


def left_side(random: Random) -> App:
    left = random.choice(
        (
            lambda: row(random, 1),
            lambda: nest(random, "semi.add"),
            lambda: nest(random, "searching.join"),
            lambda: App(lookup("semi.negative"), (nest(random, "semi.add"),)),
            lambda: App(lookup("semi.subtract"), (nest(random, "semi.add"), one_of(random, 0))),
            lambda: products(random),
            lambda: products(random),
            lambda: shared(random),
            lambda: App(lookup("semi.subtract"), (shared(random), shared(random))),
            lambda: App(lookup("searching.row"), (shared(random), *row(random, 0).args)),
            lambda: App(lookup("semi.multiply"), (shared(random), one_of(random, 0))),
        )
    )()
    return left


def rule_of(left: App, index: int = 0) -> Rule:
    return Rule(f"my.r{index}", "simplify", left, (Var("self"),), (), None, "exact", str(left), "my.rules", index + 1)


def unordered(left: App, substitution: dict[str, Any]) -> frozenset[tuple[str, Any]]:
    """The substitution; of a sequence that stands only among operands in any order, how often it has each."""
    apps = [p for p in subpatterns(left) if isinstance(p, App)]
    rows = {a.name for p in apps for a in p.args if isinstance(a, SeqVar) and not p.definition.commutative}
    free = {a.name for p in apps for a in p.args if isinstance(a, SeqVar)} - rows
    return frozenset((n, Heap.of(v) if n in free and isinstance(v, tuple) else v) for n, v in substitution.items())


def ours(matcher: Matcher, rule: Rule, term: Op) -> set[frozenset[tuple[str, Any]]]:
    return {unordered(rule.left, s) for found, s in matcher.matches(term) if found is rule}


# -- the properties -------------------------------------------------------------------------------------


@drawn
@given(SEEDS)
def test_a_search_finds_what_brute_force_finds(folder: Cache, seed: int) -> None:
    random = Random(seed)
    build = Builder(random)
    rules = RuleSet(rule_of(left_side(random), i) for i in range(3))
    matcher = Matcher(rules, folder)
    for rule in rules:
        (term,) = build.filled(rule.left, {})
        for own in rules:
            expected = {unordered(own.left, s) for s in every_match(own.left, term)}
            assert ours(matcher, own, term) == expected, f"{own.left} on {term!r}"


@drawn
@given(SEEDS)
def test_a_search_finds_what_matchpy_finds(folder: Cache, seed: int) -> None:
    random = Random(seed)
    build = Builder(random)
    rule = rule_of(left_side(random))
    matcher = Matcher(RuleSet([rule]), folder)
    (term,) = build.filled(rule.left, {})
    expected = {unordered(rule.left, s) for s in reference_matches(rule, term)}
    assert ours(matcher, rule, term) == expected, f"{rule.left} on {term!r}"


@drawn
@given(SEEDS)
def test_no_match_comes_twice(folder: Cache, seed: int) -> None:
    random = Random(seed)
    build = Builder(random)
    rule = rule_of(left_side(random))
    (term,) = build.filled(rule.left, {})
    found = [unordered(rule.left, s) for _, s in Matcher(RuleSet([rule]), folder).matches(term)]
    sequences = [tuple(sorted(map(repr, s))) for s in found]
    assert len(set(found)) == len(found), sequences


# -- where matchpy is wrong, brute force judges ------------------------------------------------------------


def test_matchpy_takes_a_named_symbol_for_none_where_arguments_commute() -> None:
    """So patterns are translated without named symbols: ours and brute force find the constant."""
    commutes = matchpy.Operation.new("commutes", matchpy.Arity.variadic, commutative=True)
    a, b, wild = matchpy.Symbol("a"), matchpy.Symbol("b"), matchpy.Symbol("a", variable_name="x")
    assert list(matchpy.match(commutes(a, b), matchpy.Pattern(commutes(wild, b)))) == []
    build = Builder()
    rule = rules_of("add(x, 1, y...) => add(x, 1, y...)").rules[0]
    term = build.op("add", build.number(1.0), build.leaf("b"))
    (found,) = found_by_search(rule.left, term, {})
    assert [unordered(rule.left, found)] == [unordered(rule.left, s) for s in every_match(rule.left, term)]


def test_matchpy_opens_an_operation_that_a_pattern_has_and_the_subject_does_not() -> None:
    """With `one_identity`, many-to-one, it matches what one-to-one does not; nests are no such operations."""
    f = matchpy.Operation.new("f", matchpy.Arity.variadic)
    ac = matchpy.Operation.new(
        "ac", matchpy.Arity.variadic, associative=True, commutative=True, one_identity=True, infix=False
    )
    subject = f(f(matchpy.Symbol("a")), matchpy.Symbol("b"))
    pattern = matchpy.Pattern(f(ac(matchpy.Wildcard.plus("u"))))
    assert list(matchpy.match(subject, pattern)) == []
    assert len(list(matchpy.ManyToOneMatcher(pattern).match(subject))) == 1
    build = Builder()
    rule = rules_of("negative(add(x, y...)) => x").rules[0]
    term = build.op("negative", build.leaf("a"))
    assert list(found_by_search(rule.left, term, {})) == list(every_match(rule.left, term)) == []


def test_an_operand_is_never_a_part_of_the_nest_as_with_matchpy_it_may_be() -> None:
    """Its associative ops bind a bare variable to any run of operands, which takes exponential time on the way."""
    ac = matchpy.Operation.new("ac2", matchpy.Arity.variadic, associative=True, commutative=True, infix=False)
    symbols = [matchpy.Symbol(c) for c in "abc"]
    bare = matchpy.Pattern(ac(matchpy.Wildcard.dot("x"), matchpy.Wildcard.star("y")))
    assert len(list(matchpy.match(ac(*symbols), bare))) > 3
    build = Builder()
    rule = rules_of("add(x, y...) => add(y..., x)").rules[0]
    term = build.op("add", build.op("add", build.leaf("a"), build.leaf("b")), build.leaf("c"))
    assert len(list(found_by_search(rule.left, term, {}))) == len(list(every_match(rule.left, term))) == 3


def test_matchpy_is_shown_an_op_without_arguments_as_one(folder: Cache) -> None:
    """A row may be empty: it is no leaf, then."""
    build = Builder()
    rule = rule_of(App(lookup("semi.add"), (App(lookup("searching.row"), (SeqVar("s"),)), SeqVar("rest"))))
    term = build.op("add", build.leaf("a"), build.op("searching.row", attrs=(0,)))
    (found,) = ours(Matcher(RuleSet([rule]), folder), rule, term)
    assert [found] == [unordered(rule.left, s) for s in reference_matches(rule, term)]


# -- by example -------------------------------------------------------------------------------------------


def results(folder: Cache, equation: str, term: Op, build: Builder) -> Op | None:
    step = Matcher(rules_of(equation), folder).step(term, build.bank.make, Target())
    return None if step is None else step[1]


def test_runs_between_sequences_are_tried_from_the_left_the_shortest_first(folder: Cache) -> None:
    build = Builder()
    a, b, c = (build.leaf(n) for n in "abc")
    term = build.op("searching.row", a, b, c, attrs=(0,))
    rule = rule_of(App(lookup("searching.row"), (SeqVar("s"), Var("x"), SeqVar("t"))))
    found = [s for _, s in Matcher(RuleSet([rule]), folder).matches(term)]
    expected = [((), a, (b, c)), ((a,), b, (c,)), ((a, b), c, ())]
    assert [(s["s"], s["x"], s["t"]) for s in found] == expected


def test_the_search_goes_on_where_the_guard_refuses(folder: Cache) -> None:
    build = Builder()
    a, b = build.leaf("a"), build.leaf("b")
    narrow, wide = build.op("concat", a, attrs=(0,)), build.op("concat", b, b, attrs=(1,))
    alone = build.op("concat", wide, attrs=(0,))
    term = build.op("concat", narrow, alone, attrs=(1,))
    equation = "concat(a..., concat(x, axis=j), c..., axis=k) => concat(a..., x, c..., axis=k)"
    assert results(folder, equation, term, build) is build.op("concat", a, alone, attrs=(1,))
    guarded = results(folder, f"{equation}\n    if x.shape[1] == 4", term, build)
    assert guarded is build.op("concat", narrow, wide, attrs=(1,))
    assert results(folder, f"{equation}\n    if x.shape[1] == 5", term, build) is None


def test_operands_are_found_in_any_grouping_and_the_rest_keeps_its_order(folder: Cache) -> None:
    build = Builder()
    a, b, c, d = (build.leaf(n) for n in "abcd")
    minus_b = build.op("negative", b)

    def add(x: Op, y: Op) -> Op:
        return build.op("add", x, y)

    equation = "x + -x + rest... => add(rest...)"
    for term in (add(add(d, minus_b), add(b, add(c, a))), add(add(add(add(minus_b, d), c), a), b)):
        assert results(folder, equation, term, build) is add(add(d, c), a)
    assert results(folder, equation, add(add(a, minus_b), b), build) is a
    assert results(folder, equation, add(minus_b, b), build) is build.number(0.0)
    assert results(folder, equation, add(add(a, minus_b), c), build) is None


def test_an_empty_nest_is_the_identity_of_its_op(folder: Cache) -> None:
    build = Builder()
    a = build.leaf("a")
    product = build.op("multiply", build.op("exp", a), a)
    made = results(folder, "multiply(exp(x), x, rest...) => x + multiply(rest...)", product, build)
    assert made is build.op("add", a, build.number(1.0))
    flag = build.bank.leaf("p", SQUARE.with_dtype("bool"))
    both = build.op("logical_and", flag, build.op("logical_not", flag))
    never = results(folder, "logical_and(x, ~x, rest...) => logical_or(rest...)", both, build)
    assert never is build.bank.make(lookup("core.constant"), (), (Literal(False, "bool"), SQUARE.axes))


def test_a_nest_may_have_exactly_so_many_operands(folder: Cache) -> None:
    build = Builder()
    a, b, c = (build.leaf(n) for n in "abc")
    three = build.op("add", a, build.op("add", b, c))
    assert results(folder, "add(x, y, z) => x", three, build) is a
    assert results(folder, "add(x, y, z) => x", build.op("add", three, a), build) is None
    assert results(folder, "add(x, y, z) => x", build.op("add", a, b), build) is None


def test_what_an_op_matches_that_only_regroups_stands_in_a_row(folder: Cache) -> None:
    build = Builder()
    a, b, c = (build.leaf(n) for n in "abc")

    def join(x: Op, y: Op) -> Op:
        return build.op("searching.join", x, y)

    pattern = App(lookup("searching.join"), (SeqVar("s"), Var("x"), App(lookup("semi.exp"), (Var("x"),)), SeqVar("t")))
    matcher = Matcher(RuleSet([rule_of(pattern)]), folder)
    exp_b = build.op("exp", b)
    assert [s for _, s in matcher.matches(join(join(a, b), join(exp_b, c)))] == [{"s": (a,), "x": b, "t": (c,)}]
    assert [s for _, s in matcher.matches(join(join(a, exp_b), join(b, c)))] == []


def test_a_shared_sum_that_unfolds_without_end_is_left_alone(folder: Cache) -> None:
    build = Builder()
    x = build.op("negative", build.leaf("a"))
    for _ in range(60):
        x = build.op("add", x, x)
    assert results(folder, "add(x, -x, rest...) => add(rest...)", x, build) is None
    assert 2**60 > OPERANDS


def test_a_long_chain_is_searched_without_recursion(folder: Cache) -> None:
    build = Builder()
    x = build.leaf("a")
    for i in range(OPERANDS - 3):
        x = build.op("add", x, build.leaf(f"b{i % 50}"))
    term = build.op("add", x, build.op("negative", build.leaf("b7")))
    made = results(folder, "x + -x + rest... => add(rest...)", term, build)
    assert made is not None and len(operands(made)) == OPERANDS - 3


SCRIPT = """
from random import Random
import test_searching as t
build = t.Builder(Random(5))
rules = t.RuleSet(t.rule_of(t.left_side(Random(i)), i) for i in range(12))
import tempfile
from ngraph_rewrite.cache import Cache
matcher = t.Matcher(rules, Cache(tempfile.mkdtemp()))
for rule in rules:
    (term,) = build.filled(rule.left, {})
    for found, s in matcher.matches(term):
        print(found.name, [(n, str(v)) for n, v in s.items()])
"""


def test_matches_come_in_one_order_in_every_process() -> None:
    assert printed_in_any(SCRIPT, PYTHONPATH=os.pathsep.join(sys.path)).count("my.r") > 12


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("searching.join(x..., y...) => searching.join(y..., x...)", "only sequences"),
        ("add(a..., b..., c..., d..., e..., f..., g..., h..., i...) => add(a...)", "more than 8 sequences"),
        ("add(x...) => add(x...)", "only sequences"),
        ("add(x, x + y, r...) => x", "is no add itself"),
        ("maximum(x, exp(x), r...) => maximum(r...)", "no operands has no value"),
        ("subtract(x, r...) => x", "takes 2 arguments"),
        ("exp(x, r...) => x", "takes 1 argument"),
    ],
)
def test_what_cannot_be_searched_for_is_refused(equation: str, message: str) -> None:
    with pytest.raises(RuleFileError, match=message):
        rules_of(equation)


def test_operators_with_a_sequence_among_them_are_one_nest() -> None:
    one, other = rules_of("x + (y + -x) + r... => y", "add(x, y, -x, r...) => y")
    assert one.left == other.left


# -- instances, and the interpretation ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "equation",
    [
        "x + -x + rest... => add(rest...)",
        "concat(a..., concat(b..., axis=k), c..., axis=k) => concat(a..., b..., c..., axis=k)",
        "exp(add(log(x), rest...)) => x * exp(add(rest...))",
        "multiply(x, y, z) => multiply(z, x, y)",
        "add(x, 0, rest...) => add(rest..., x)",
        "add(multiply(a, x), multiply(b, x), rest...) => add((a + b) * x, rest...)",
        "concat(a..., b..., axis=k) => concat(b..., a..., axis=k)\n    if k == 0",
        "concat(a..., x, a..., axis=k) => concat(x, a..., axis=k)",
        "add(x, a..., exp(x), b...) => exp(add(a...)) + add(b...)",
        "add(a..., b..., a...) => add(b..., a...)",
        "concat(add(a..., b..., a...), a..., axis=k) => concat(add(a..., b...), axis=k)",
    ],
)
def test_instances_match_and_code_makes_what_the_rule_says(folder: Cache, equation: str) -> None:
    rules = rules_of(equation)
    matcher, bank = Matcher(rules, folder), TrialBank()
    found = list(matches(rules.rules[0], 8, bank=bank))
    assert len(found) >= 3
    for term, bindings, target in found:
        listed = [s for _, s in matcher.matches(term)]
        assert unordered(rules.rules[0].left, dict(bindings)) in [unordered(rules.rules[0].left, s) for s in listed]
        step = matcher.step(term, bank.make, target)
        assert step is not None
        assert step[1] in [Application(step[0], term, s, bank.make, target).right()[0] for s in listed]
