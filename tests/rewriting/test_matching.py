# SPDX-License-Identifier: Apache-2.0
"""matchpy says what matching means; the generated decision trees find the same, in the order of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import matchpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matchpy.matching.code_generation import CodeGenerator
from processes import printed_in_any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.emit import emit
from ngraph_rewrite.rewriting.expression_checks import check_expression
from ngraph_rewrite.rewriting.instances import first_match
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.reference import reference_matches
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.strategies import begin, random_domain
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

SEEDS = st.integers(0, 2**32 - 1)
SQUARE = TensorType("float32", anonymous([2, 2]))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("matchers"))


def rules_of(*equations: str) -> RuleSet:
    text = "\n".join(f"rule r{i}: {equation}" for i, equation in enumerate(equations))
    return parse_rules(f"simplify semi\n{text}\n", "my.rules", "my")


class Builder:
    """Terms of the semi family over one bank."""

    def __init__(self) -> None:
        self.bank = TrialBank()

    def leaf(self, name: str, type_: TensorType = SQUARE) -> Op:
        return self.bank.leaf(name, type_)

    def number(self, value: Any, type_: TensorType = SQUARE) -> Op:
        return self.bank.make(lookup("core.constant"), (), (Literal(value, type_.dtype), type_.axes))

    def op(self, name: str, *args: Op, **attributes: Any) -> Op:
        definition = lookup(f"semi.{name}")
        return self.bank.make(definition, args, tuple(attributes[a] for a in definition.attributes))


def substitutions(found: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> set[frozenset[tuple[str, Any]]]:
    return {frozenset(s.items()) for s in found}


def assert_same_matches(matcher: Matcher, term: Op) -> None:
    """The decision tree and matchpy find the same substitutions of every rule at the root of a term."""
    compiled: dict[str, list[dict[str, Any]]] = {}
    for rule, substitution in matcher.matches(term):
        compiled.setdefault(rule.name, []).append(substitution)
    for rule in matcher.rules:
        if rule.left.definition is term.definition:
            expected = substitutions(reference_matches(rule, term))
            assert substitutions(compiled.get(rule.name, [])) == expected, f"{rule.name} on {term!r}"


# -- the property, on the rules that ship -------------------------------------------------------------


@cache
def library_matcher(*kinds: str) -> Matcher:
    return Matcher(library().of_kind(*kinds), Cache())


STEPS = ("simplify", "lower", "recognize", "select")


def mutated(random: Random, term: Op, bank: TrialBank) -> Op:
    """The term with one place changed: exchanged arguments, another part, a number; the same if that is ill-typed."""
    path = []
    place = term
    while place.args and random.random() < 0.7:
        path.append(random.randrange(len(place.args)))
        place = place.args[path[-1]]
    new = _replaced(term, path, _changed(random, place, term, bank), bank)
    return term if new is None else new


def _changed(random: Random, place: Op, term: Op, bank: TrialBank) -> Op | None:
    parts = [t for t in topological([term]) if t.type == place.type]
    if isinstance(place.type, TupleType):
        return random.choice(parts)
    numbers = [Literal(v, place.dtype) for v in (0, 1, *((-0.0, 2.5) if is_float(place.dtype) else ()))]
    constants = [bank.attempt(lookup("core.constant"), (), (v, place.axes)) for v in numbers]
    swapped = bank.attempt(place.definition, place.args[::-1], place.attrs)
    return random.choice([*parts, *constants, swapped])


def _replaced(term: Op, path: list[int], new: Op | None, bank: TrialBank) -> Op | None:
    if new is None or not path:
        return new
    inner = _replaced(term.args[path[0]], path[1:], new, bank)
    if inner is None:
        return None
    return bank.attempt(term.definition, (*term.args[: path[0]], inner, *term.args[path[0] + 1 :]), term.attrs)


@settings(max_examples=160, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_trees_of_all_shipped_rules_find_what_matchpy_finds(seed: int) -> None:
    random, bank = Random(seed), TrialBank()
    rule = random.choice(library().of_kind(*STEPS, "derive").rules)
    found = first_match(rule, random_domain(random), begin(random), bank, 60)
    if found is not None:
        term = found.term
        assert rule in [matched for matched, _ in library_matcher(*STEPS, "derive").matches(term)]
        assert_same_matches(library_matcher(*STEPS, "derive"), term)
        assert_same_matches(library_matcher(*STEPS, "derive"), mutated(random, mutated(random, term, bank), bank))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_generated_code_makes_what_the_rule_says(seed: int) -> None:
    """The interpretation of the rule that fired, on one of its matches, is the very term that the step made."""
    random, bank = Random(seed), TrialBank()
    matcher = library_matcher(*STEPS)
    rules = [rule for rule in matcher.rules if not rule.graph]  # of a whole graph no step takes them
    found = first_match(random.choice(rules), random_domain(random), begin(random), bank, 60)
    if found is None:
        return
    term, _, target = found
    step = matcher.step(term, bank.make, target)
    assert step is not None
    fired, made = step
    matches = [Application(r, term, s, bank.make, target) for r, s in matcher.matches(term) if r is fired]
    assert any(m.guard_holds() and m.right() == [made] for m in matches), fired.name


# -- the property, on drawn rules ---------------------------------------------------------------------

NAMES = ("x", "y", "z")
PERMS = ((1, 0), (0, 1))


def drawn_pattern(random: Random, depth: int) -> Pattern:
    """Variables that may repeat, numbers, commutative ops, attributes bound, compared or left open, one sequence."""
    kind = random.randrange(8) if depth else random.randrange(3)
    if kind in (0, 1):
        return Var(random.choice(NAMES))
    if kind == 2:
        return Num(random.choice((0, 1, -0.0, 0.0, 2.5, True)))
    return drawn_application(random, depth)


def drawn_application(random: Random, depth: int) -> App:
    name = random.choice(("add", "add", "multiply", "subtract", "negative", "transpose", "concat"))
    definition = lookup(f"semi.{name}")
    if name == "concat":
        args: list[Pattern] = [drawn_pattern(random, depth - 1) for _ in range(random.randrange(3))]
        if random.random() < 0.7 or not args:
            args.insert(random.randint(0, len(args)), SeqVar("s"))
        return App(definition, tuple(args), **_attribute(random, "axis", ("0", "1")))
    patterns = tuple(drawn_pattern(random, depth - 1) for _ in range(definition.arity or 0))
    return App(
        definition, patterns, **(_attribute(random, "perm", ("(1, 0)", "(0, 1)")) if name == "transpose" else {})
    )


def _attribute(random: Random, name: str, values: tuple[str, ...]) -> dict[str, Any]:
    expression = check_expression(ast.parse(random.choice(values), mode="eval").body)
    return random.choice(({"binds": ((name, "k"),)}, {"compares": ((name, expression),)}, {}))


def drawn_rule(random: Random, index: int) -> Rule:
    left = drawn_application(random, 2)
    return Rule(f"my.r{index}", "simplify", left, (Var("self"),), (), None, "exact", str(left), "my.rules", index + 1)


def drawn_term(random: Random, build: Builder, depth: int) -> Op:
    """Square float matrices, from a few leaves and the numbers patterns ask for."""
    kind = random.randrange(6) if depth else random.randrange(2)
    if kind == 0:
        return build.leaf(random.choice("ab"))
    if kind == 1:
        return build.number(random.choice((0.0, -0.0, 1.0, 2.5)))
    args = [drawn_term(random, build, depth - 1) for _ in range(2)]
    if kind == 2:
        return build.op("negative", args[0])
    if kind == 3:
        return build.op("transpose", args[0], perm=random.choice(PERMS))
    return build.op(random.choice(("add", "multiply", "subtract")), *args)


def filled(pattern: Pattern, random: Random, build: Builder, given: dict[str, Any]) -> tuple[Op, ...]:
    """A term the pattern matches, where that is well-typed and repeated names may have been filled alike."""
    if isinstance(pattern, Var):
        return (given.setdefault(pattern.name, drawn_term(random, build, 1)),)
    if isinstance(pattern, SeqVar):
        terms = tuple(drawn_term(random, build, 1) for _ in range(random.randrange(3)))
        return given.setdefault(pattern.name, terms)  # type: ignore[no-any-return]
    if isinstance(pattern, Num):
        return (build.number(float(pattern.value)),)
    args = [t for a in pattern.args for t in filled(a, random, build, given)]
    if random.random() < 0.3:
        args = args[::-1]
    definition: OpDef = pattern.definition
    options: dict[str, Any] = {"perm": random.choice(PERMS), "axis": random.randrange(2)}
    term = (
        build.bank.attempt(definition, tuple(args), tuple(options[a] for a in definition.attributes)) if args else None
    )
    return (term if term is not None else build.leaf("a"),)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_trees_of_drawn_rules_find_what_matchpy_finds(seed: int) -> None:
    random, build = Random(seed), Builder()
    rules = RuleSet(drawn_rule(random, i) for i in range(6))
    matcher = Matcher(rules, Cache())
    for rule in rules:
        (term,) = filled(rule.left, random, build, {})
        assert_same_matches(matcher, term)
        assert_same_matches(matcher, mutated(random, term, build.bank))
    assert_same_matches(matcher, drawn_term(random, build, 3))


# -- the trees, by example ----------------------------------------------------------------------------


def fired(matcher: Matcher, build: Builder, term: Op) -> str | None:
    step = matcher.step(term, build.bank.make, Target())
    return None if step is None else step[0].name


def test_rules_are_tried_in_the_order_of_the_file(folder: Cache) -> None:
    build = Builder()
    x = build.leaf("x")
    term = build.op("negative", build.op("negative", x))
    general, special = "-x => x", "-(-x) => x"
    assert fired(Matcher(rules_of(special, general), folder), build, term) == "my.r0"
    assert fired(Matcher(rules_of(general, special), folder), build, term) == "my.r0"
    assert [r.name for r, _ in Matcher(rules_of(general, special), folder).matches(term)] == ["my.r0", "my.r1"]


def test_a_rule_whose_guard_refuses_leaves_the_term_to_the_next(folder: Cache) -> None:
    build = Builder()
    rules = parse_rules("simplify semi\nrule a: -x => x\n    if x.rank == 7\nrule b: -x => x\n", "my.rules", "my")
    assert fired(Matcher(rules, folder), build, build.op("negative", build.leaf("x"))) == "my.b"


def test_commutative_arguments_match_in_either_order(folder: Cache) -> None:
    build = Builder()
    x, y, z = (build.leaf(n) for n in "xyz")
    matcher = Matcher(rules_of("x * y + x * z => x * (y + z)"), folder)
    one, other = build.op("multiply", x, y), build.op("multiply", z, x)
    found = [s for _, s in matcher.matches(build.op("add", one, other))]
    assert substitutions(found) == substitutions([{"x": x, "y": y, "z": z}, {"x": x, "y": z, "z": y}])


def test_a_subtraction_does_not_commute(folder: Cache) -> None:
    build = Builder()
    matcher = Matcher(rules_of("x - 0 => x"), folder)
    assert fired(matcher, build, build.op("subtract", build.leaf("x"), build.number(0.0))) == "my.r0"
    assert fired(matcher, build, build.op("subtract", build.number(0.0), build.leaf("x"))) is None


def test_a_repeated_variable_stands_for_one_term(folder: Cache) -> None:
    build = Builder()
    x, y = build.leaf("x"), build.leaf("y")
    matcher = Matcher(rules_of("x - x => 0"), folder)
    assert fired(matcher, build, build.op("subtract", x, x)) == "my.r0"
    assert fired(matcher, build, build.op("subtract", x, y)) is None
    assert fired(matcher, build, build.op("subtract", build.op("exp", x), build.op("exp", x))) == "my.r0"


def test_a_repeated_attribute_name_stands_for_one_value(folder: Cache) -> None:
    build = Builder()
    x, y = build.leaf("x"), build.leaf("y")
    matcher = Matcher(rules_of("transpose(x, perm=p) + transpose(y, perm=p) => transpose(x + y, perm=p)"), folder)
    turned, same = build.op("transpose", x, perm=(1, 0)), build.op("transpose", y, perm=(0, 1))
    assert fired(matcher, build, build.op("add", turned, build.op("transpose", y, perm=(1, 0)))) == "my.r0"
    assert fired(matcher, build, build.op("add", turned, same)) is None


@pytest.mark.parametrize(
    ("number", "value", "dtype", "expected"),
    [
        ("0", 0.0, "float32", True),
        ("0", -0.0, "float32", False),
        ("-0.0", -0.0, "float32", True),
        ("-0.0", 0.0, "float32", False),
        ("0", 0, "int8", True),
        ("-0.0", 0, "int8", False),
        ("1", True, "bool", False),
        ("True", True, "bool", True),
        ("0.1", 0.1, "float32", True),
        ("2.0", 2, "int64", True),
    ],
)
def test_a_number_matches_a_constant_filled_with_it(
    number: str, value: float, dtype: str, expected: bool, folder: Cache
) -> None:
    build = Builder()
    type_ = TensorType(dtype, anonymous([3]))
    term = build.op("equal", build.leaf("x", type_), build.number(value, type_))
    rules = rules_of(f"x == {number} => x == {number}")
    assert (fired(Matcher(rules, folder), build, term) is not None) is expected
    assert bool(reference_matches(rules.rules[0], term)) is expected


def test_a_number_does_not_match_an_array_of_several(folder: Cache) -> None:
    build = Builder()
    mixed = build.bank.make(lookup("core.constant"), (), (Literal(np.array([0.0, 1.0])), anonymous([2])))
    term = build.op("add", build.leaf("x", mixed.type), mixed)
    assert fired(Matcher(rules_of("x + 0 => x"), folder), build, term) is None


@pytest.mark.parametrize(
    ("pattern", "count", "expected"),
    [
        ("concat(s..., axis=k) => x", 3, {"s": "abc"}),
        ("concat(x, s..., axis=k) => x", 3, {"x": "a", "s": "bc"}),
        ("concat(s..., x, axis=k) => x", 3, {"x": "c", "s": "ab"}),
        ("concat(x, s..., y, axis=k) => x", 2, {"x": "a", "y": "b", "s": ""}),
        ("concat(x, s..., y, axis=k) => x", 1, None),
        ("concat(x, y, axis=k) => x", 3, None),
    ],
)
def test_a_sequence_variable_takes_what_is_left(
    pattern: str, count: int, expected: dict[str, str] | None, folder: Cache
) -> None:
    build = Builder()
    leaves = {n: build.leaf(n) for n in "abc"}
    term = build.op("concat", *list(leaves.values())[:count], axis=0)
    left = pattern.replace("=> x", "=> 0")
    found = [s for _, s in Matcher(rules_of(left), folder).matches(term)]
    wanted = [] if expected is None else [
        {"k": 0, **{n: tuple(leaves[c] for c in v) if n == "s" else leaves[v] for n, v in expected.items()}}
    ]  # fmt: skip
    assert found == wanted == reference_matches(rules_of(left).rules[0], term)


# -- the generated file ---------------------------------------------------------------------------------


def test_the_generated_source_is_a_file_to_read(folder: Cache) -> None:
    matcher = Matcher(rules_of("x + 0 => x", "transpose(transpose(x, perm=p), perm=q) => x"), folder)
    text = matcher.source("semi.add").read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert "# my.rules:2  my.r0 @exact" in text and "# x + 0 => x" in text
    assert max(map(len, text.splitlines())) < 200


def test_a_test_that_rules_share_is_done_once(folder: Cache) -> None:
    rules = rules_of(
        "transpose(exp(x), perm=p) => x", "transpose(log(x), perm=p) => x", "transpose(x, perm=(1, 0)) => x"
    )
    text = Matcher(rules, folder).source("semi.transpose").read_text(encoding="utf-8")
    assert text.count("arg_0.definition") == 1


def test_what_a_rule_makes_twice_is_made_once() -> None:
    """A part of a right side that a number stands beside, and a function of attributes in a clause."""
    text = (
        "lower axes -> semi\n"
        "rule sum: exp(x) => label(y / y, axes=self.axes)\n"
        "    let y = reshape(strip(x) + 1, shape=(size(x.axes), size(x.axes)))\n"
        "rule number: log(x) => label((exp(strip(x)) + 1) / (exp(strip(x)) + 1), axes=self.axes)"
    )
    source = emit(parse_rules(text, "my.rules", "my"))
    assert source.count("fn_size(") == source.count("make(op_semi_exp,") == 1


def test_emission_does_not_depend_on_the_process() -> None:
    """The file's name is a hash of its text: the same rules must give the same text everywhere."""
    program = (
        "import hashlib\n"
        "from ngraph_rewrite.lowering.passes import library\n"
        "from ngraph_rewrite.rewriting.emit import emit\n"
        "print(hashlib.sha256(emit(library().of_kind('simplify', 'lower').rules[::3]).encode()).hexdigest())\n"
    )
    assert printed_in_any(program, PYTHONPATH=str(Path(__file__).parent.parent.parent))
    assert emit(rules_of("x + 0 => x")) == emit(rules_of("x + 0 => x"))


# -- matchpy's faults, so that nobody walks into one again ----------------------------------------------

F = matchpy.Operation.new("f", matchpy.Arity.variadic)
G = matchpy.Operation.new("g", matchpy.Arity.unary)
AC = matchpy.Operation.new(
    "ac", matchpy.Arity.variadic, associative=True, commutative=True, one_identity=True
)  # fmt: skip
C = matchpy.Operation.new("c", matchpy.Arity.variadic, commutative=True)
A, B = matchpy.Symbol("a"), matchpy.Symbol("b")


def test_fault_a_named_symbol_in_a_commutative_operation_never_matches() -> None:
    named = matchpy.Symbol("a", variable_name="x")
    assert list(matchpy.match(C(A, B), matchpy.Pattern(C(named, B)))) == []


def test_fault_the_net_accepts_too_many_operands_with_one_identity_and_a_sequence() -> None:
    pattern = matchpy.Pattern(F(AC(matchpy.Wildcard.plus("u"))))
    subject = F(G(A), B)
    assert list(matchpy.match(subject, pattern)) == []
    assert [dict(s) for _, s in matchpy.ManyToOneMatcher(pattern).match(subject)] == [{"u": (G(A), B)}]


def test_fault_the_net_does_not_keep_the_order_of_patterns() -> None:
    first, second = matchpy.Pattern(F(matchpy.Wildcard.dot("x"))), matchpy.Pattern(F(A))
    found = [pattern for pattern, _ in matchpy.ManyToOneMatcher(first, second).match(F(A))]
    assert found == [second, first]


def test_fault_the_net_cannot_say_whether_anything_matches() -> None:
    with pytest.raises(TypeError):
        matchpy.ManyToOneMatcher(matchpy.Pattern(F(A))).is_match(F(A))


def test_fault_the_code_generator_writes_code_that_is_not_python() -> None:
    net = matchpy.ManyToOneMatcher(matchpy.Pattern(AC(matchpy.Wildcard.plus("u"))))
    with pytest.raises(SyntaxError):
        ast.parse("\n".join(CodeGenerator(net).generate_code()))


def test_fault_matching_recurses_where_the_trees_do_not(folder: Cache) -> None:
    build = Builder()
    term = build.leaf("x")
    for _ in range(5000):
        term = build.op("negative", term)
    rules = rules_of("-(-x) => x")
    assert fired(Matcher(rules, folder), build, term) == "my.r0"
    with pytest.raises(RecursionError):
        reference_matches(rules.rules[0], term)
