# SPDX-License-Identifier: Apache-2.0
"""Operands in any order are shared out to several sequences in every way, as matchpy and brute force share them out."""

from __future__ import annotations

from functools import cache
from itertools import islice
from random import Random
from typing import Any

import pytest
from brute_force import Heap, every_match
from hypothesis import given, settings
from hypothesis import strategies as st
from test_searching import Builder, results, rule_of, rules_of, unordered

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.rewriting import bounds
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.nests import is_searched
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, restricted, variables
from ngraph_rewrite.rewriting.reference import reference_matches
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.search import matches

SEEDS = st.integers(0, 2**32 - 1)
drawn = settings(max_examples=60, deadline=None, derandomize=True)
WORDS = """
signature test_sharing
sort S
sort Small < S
sort Tiny < Small
operation a : -> Tiny
operation b : -> Small
operation c : -> S
operation nothing : -> S
operation wrap : S -> S
operation pair : S S -> S
operation bag : S S -> S [associative, commutative]
operation many : S S -> S [associative, commutative, identity nothing]
operation word : S S -> S [associative, identity nothing]
operation either : S S -> S [commutative]
rule r: pair(x, x) => x
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> ng.Signature:
    path = tmp_path_factory.mktemp("words") / "test_sharing.rules"
    path.write_text(WORDS.lstrip(), encoding="utf-8")
    return ng.signature(path)


class Drawn:
    """Terms and patterns of the signature."""

    def __init__(self, words: ng.Signature, random: Random, flat: tuple[str, ...]) -> None:
        self.words, self.random, self.flat = words, random, flat

    def term(self, depth: int = 2) -> ng.Op:
        kind = self.random.randrange(5) if depth else 0
        if kind < 2:
            return self.words[self.random.choice("aabc")]()
        if kind == 2:
            return self.words["wrap"](self.term(depth - 1))
        if kind == 3:
            return self.words[self.random.choice(("pair", "either"))](self.term(depth - 1), self.term(depth - 1))
        return self.words[self.random.choice(self.flat)](
            *[self.term(depth - 1) for _ in range(self.random.randint(2, 3))]
        )

    def pattern(self, depth: int) -> Pattern:
        kind = self.random.randrange(6) if depth else 0
        if kind < 2:
            return Var(self.random.choice("xyz"))
        if kind == 2:
            return self.applied("wrap", self.pattern(depth - 1))
        if kind == 3:
            return self.applied(
                self.random.choice(("pair", "either")), self.pattern(depth - 1), self.pattern(depth - 1)
            )
        return self.nest(self.random.choice(self.flat), depth)

    def nest(self, name: str, depth: int) -> App:
        """Up to three sequences and up to two other operands, none of which is the nest itself."""
        args: list[Pattern] = [SeqVar(self.random.choice("sstu")) for _ in range(self.random.randint(0, 3))]
        single = [self.pattern(depth - 1) for _ in range(self.random.randint(0 if args else 1, 2))]
        for one in single:
            if not (isinstance(one, App) and one.definition is self.words[name].definition):
                args.insert(self.random.randint(0, len(args)), one)
        return self.applied(name, *(args or [SeqVar("s")]))

    def applied(self, name: str, *args: Pattern) -> App:
        return App(self.words[name].definition, args)

    def filled(self, pattern: Pattern, given: dict[str, Any]) -> list[ng.Op]:
        """Terms that a pattern matches, wherever names that repeat were filled alike."""
        if isinstance(pattern, Var):
            return [given.setdefault(pattern.name, self.term(1))]
        if isinstance(pattern, SeqVar):
            some = [self.term(1) for _ in range(self.random.randrange(3))]
            return given.setdefault(pattern.name, some)  # type: ignore[no-any-return]
        assert isinstance(pattern, App)
        args = [t for arg in pattern.args for t in self.filled(arg, given)]
        args = args or [self.words["a"]()]
        return [self.words[pattern.definition.short](*args) if len(args) > 1 or pattern.args else args[0]]


@cache
def nothing() -> RuleSet:
    """A rule that no drawn term has a place for."""
    return ng.signature("test_sharing").rules("rule never: pair(pair(a(), b()), pair(c(), a())) => a()")


def of_one_bank(term: ng.Op) -> ng.Op:
    """The term with equal parts as one object, and operands in their order."""
    return ng.normal_form(term, nothing())


def subject(words: ng.Signature, random: Random, flat: tuple[str, ...]) -> tuple[Rule, ng.Op]:
    """A left side, some of whose variables may be restricted to a sort, and a term that is like it."""
    draws = Drawn(words, random, flat)
    left = random.choice(
        (
            lambda: draws.nest(random.choice(flat), 2),
            lambda: draws.applied("pair", draws.nest(flat[0], 1), draws.nest(flat[-1], 1)),
            lambda: draws.applied("either", draws.nest(flat[-1], 1), draws.pattern(1)),
            lambda: draws.applied("pair", Var("x"), draws.applied("either", Var("y"), draws.pattern(1))),
        )
    )()
    (term,) = draws.filled(left, {})
    sorts = {name: words.sorts[random.choice(("Small", "Tiny"))] for name in variables(left) if random.random() < 0.2}
    left = restricted(left, sorts)
    assert isinstance(left, App)
    return rule_of(left), of_one_bank(term if random.random() < 0.8 else draws.term())


# -- the properties -------------------------------------------------------------------------------------


@drawn
@given(SEEDS)
def test_terms_of_a_signature_match_as_brute_force_says(words: ng.Signature, seed: int) -> None:
    """Operands that may be none, and one that stands alone, included."""
    rule, term = subject(words, Random(seed), ("many", "bag", "word"))
    expected = {unordered(rule.left, s) for s in every_match(rule.left, term)}
    found = [unordered(rule.left, s) for s in matches(rule.left, term, {})]
    assert set(found) == expected, f"{rule.left} on {term!r}"


@drawn
@given(SEEDS)
def test_trees_of_a_signature_match_as_matchpy_says(words: ng.Signature, folder: Cache, seed: int) -> None:
    drawn = [subject(words, Random(seed + i), ("bag",)) for i in range(3)]
    matcher = Matcher(RuleSet(rule for rule, _ in drawn), folder)
    for rule, term in ((rule, term) for rule, _ in drawn for _, term in drawn):
        expected = {unordered(rule.left, s) for s in reference_matches(rule, term)}
        found = [unordered(rule.left, s) for one, s in matcher.matches(term) if one is rule]
        assert set(found) == expected, f"{rule.left} on {term!r}"
        assert len(found) == len(expected) or not is_searched(rule.left)  # a tree tries both orders of two equal terms


@drawn
@given(seed=SEEDS, times=st.lists(st.sampled_from("stu"), min_size=2, max_size=4))
def test_every_way_comes_once_the_fewest_for_the_first_sequence_first(
    words: ng.Signature, seed: int, times: list[str]
) -> None:
    random = Random(seed)
    term = of_one_bank(words["bag"](*(words[random.choice("abc")]() for _ in range(random.randint(2, 7)))))
    left = App(words["bag"].definition, tuple(map(SeqVar, times)))
    found = list(matches(left, term, {}))
    assert len({unordered(left, s) for s in found}) == len(found)
    sizes = [len(s[times[0]]) for s in found]
    assert sizes == sorted(sizes)
    for substitution in found:
        dealt = [t for name in times for t in substitution[name]]
        assert Heap.of(dealt) == Heap.of(term.args)
        assert all(list(own) == sorted(own, key=term.args.index) for own in substitution.values())


# -- by example -------------------------------------------------------------------------------------------


def test_two_sequences_share_what_is_left_as_it_stands(folder: Cache) -> None:
    build = Builder()
    a, b, c = (build.leaf(n) for n in "abc")
    term = build.op("add", build.op("add", a, b), build.op("add", c, a))
    left = rules_of("add(b, x..., y..., b) => add(x..., y...)").rules[0].left
    found = [(s["x"], s["y"]) for s in matches(left, term, {})]
    assert found == [((), (b, c)), ((b,), (c,)), ((c,), (b,)), ((b, c), ())]


def test_a_sequence_that_stands_twice_gets_half_of_each(words: ng.Signature) -> None:
    a, b, c = (words[n]() for n in "abc")
    twice = App(words["bag"].definition, (SeqVar("s"), SeqVar("s")))
    (found,) = matches(twice, of_one_bank(words["bag"](a, b, b, a, a, a)), {})
    assert list(map(str, found["s"])) == ["a()", "a()", "b()"]
    assert list(matches(twice, of_one_bank(words["bag"](a, b, b, a, a)), {})) == []
    uneven = App(words["bag"].definition, (SeqVar("s"), SeqVar("s"), SeqVar("t"), SeqVar("t"), SeqVar("t")))
    numbers = [(len(f["s"]), len(f["t"])) for f in matches(uneven, of_one_bank(words["bag"](*[c] * 12)), {})]
    assert numbers == [(0, 4), (3, 2), (6, 0)]


def test_a_row_says_in_what_order_a_sequence_stands(words: ng.Signature) -> None:
    """Whichever of the two is written first."""
    a, b, c = (words[n]() for n in "abc")
    bag, word = words["bag"].definition, words["word"].definition
    parts = App(bag, (SeqVar("s"), SeqVar("t"))), App(word, (SeqVar("s"), Var("x")))
    one, other = words["bag"](a, b, c), words["word"](b, a, c)
    for left, term in (
        (App(words["pair"].definition, parts), words["pair"](one, other)),
        (App(words["pair"].definition, parts[::-1]), words["pair"](other, one)),
    ):
        (found,) = matches(left, of_one_bank(term), {})
        assert [str(t) for t in found["s"]] == ["b()", "a()"]
        assert [str(t) for t in found["t"]] == ["c()"]


def test_what_something_else_binds_is_not_shared_out(words: ng.Signature) -> None:
    """Sixty operands can be shared in 2 ** 60 ways; the bag beside them says which."""
    deep, some = words["a"](), []
    for _ in range(60):
        some.append(deep)
        deep = words["wrap"](deep)
    left = App(
        words["pair"].definition,
        (
            App(words["bag"].definition, (SeqVar("s"), SeqVar("t"))),
            App(words["bag"].definition, (Var("x"), SeqVar("s"))),
        ),
    )
    term = of_one_bank(words["pair"](words["bag"](*some), words["bag"](words["b"](), *some[:30])))
    (found,) = matches(left, term, {})
    assert (len(found["s"]), len(found["t"])) == (30, 30)


def test_a_first_way_is_found_at_once_however_many_there_are(folder: Cache) -> None:
    build = Builder()
    x = build.leaf("a")
    for i in range(bounds.OPERANDS - 1):
        x = build.op("add", x, build.leaf(f"b{i}"))
    left = rules_of("add(x..., y..., z...) => add(z...)").rules[0].left
    some = [[len(s[n]) for n in "xyz"] for s in islice(matches(left, x, {}), 3)]
    assert some == [[0, 0, bounds.OPERANDS], [0, 1, bounds.OPERANDS - 1], [0, 1, bounds.OPERANDS - 1]]


def test_a_search_without_end_is_given_up_and_the_rule_is_named(
    words: ng.Signature, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SEARCHED", 10_000)
    rules = words.rules("rule half: pair(many(xs..., ys...), z) => z\n    if many(xs...) == z", unordered=True)
    few, lots = words["many"](*[words["a"]()] * 3), [words["a"]()]
    for _ in range(30):
        lots.append(words["wrap"](lots[-1]))
    b = words["b"]()
    assert ng.normal_form(words["pair"](few, b), rules).definition.short == "pair"
    with pytest.raises(ng.RewriteError, match=r"rule test_sharing\.half fails on .*more ways than can be tried"):
        ng.normal_form(words["pair"](words["many"](*lots), b), rules)


def test_a_search_without_end_among_tensors_names_its_rule_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SEARCHED", 10_000)
    text = "simplify axes\nrule r: add(x..., y...) => add(x...)\n    if self.rank == 7\n"
    rules = parse_rules(text, "my.rules", "my")
    total = ng.placeholder([], name="a0")
    for i in range(1, 20):
        total = total + ng.placeholder([], name=f"a{i}")
    with pytest.raises(ng.RewriteError, match=r"rule my\.r fails on .*more ways than can be tried"):
        ng.rewrite(total, ng.strategies.innermost(rules))


def test_a_partition_by_a_condition_is_found(words: ng.Signature) -> None:
    """A bag is two halves that are equal but for one wrap."""
    rules = words.rules(
        "rule halves: many(wrap(many(xs...)), ys..., xs...) => pair(many(xs...), many(ys...))\n"
        "    if many(ys...) == many(c(), c())",
        unordered=True,
    )
    a, b, c = (words[n]() for n in "abc")
    term = words["many"](c, a, words["wrap"](words["many"](b, a)), c, b)
    assert str(ng.normal_form(term, rules)) == "pair(many(a(), b()), many(c(), c()))"


def test_the_sums_of_both_parts_are_built(folder: Cache) -> None:
    build = Builder()
    a, b = build.leaf("a"), build.leaf("b")
    term = build.op("add", build.op("exp", a), build.op("add", a, b))
    made = results(folder, "add(exp(x), p..., q..., x) => add(p...) * add(q...)", term, build)
    assert made is build.op("multiply", build.number(0.0), b)
