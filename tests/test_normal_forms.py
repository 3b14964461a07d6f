# SPDX-License-Identifier: Apache-2.0
"""The driver against the plainest there can be: same normal forms, any depth, each step told, nothing runs away."""

from __future__ import annotations

import gc
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import printed
from programs import EXACT, Program, drawn

import ngraph_rewrite as ng
from ngraph_rewrite import garbage
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.driver import adopt, normalise, replace_in_order
from ngraph_rewrite.lowering.passes import library, lower, matchers_of
from ngraph_rewrite.lowering.reduction import NESTED
from ngraph_rewrite.lowering.stage import ARGUMENTS, Forward, Replaced, Step, Taken
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.matcher import Make, Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

H = ng.Axis("H", 3)


@pytest.fixture
def x() -> Op:
    return ng.placeholder([H], name="x")


@pytest.fixture(scope="module")
def matchers() -> dict[str, Matcher]:
    return matchers_of(library(), Cache())


def program(data: st.DataObject) -> Op:
    found = Program(data.draw, ("float64", "int64", "bool"), {"H": 2, "W": 3, "K": 3})
    found.leaf(st.integers(-3, 3))
    found.leaf(st.integers(-3, 3))
    found.grow(EXACT, data.draw(st.integers(1, 8)))
    return found.terms[-1]


def matcher_of(text: str) -> Matcher:
    """Rules that nobody checked."""
    return Matcher(parse_rules(textwrap.dedent(text), "own.rules", "own"), Cache())


def rewritten(text: str, *terms: Op, budget: int | None = None) -> tuple[list[Op], ReplacementTable]:
    table, bank = ReplacementTable(), TermBank()
    return normalise(adopt(terms, table, bank), matcher_of(text), table, bank, CPU, "simplify", budget), table


def plainly(term: Op, matcher: Matcher, bank: TermBank) -> Op:
    """The normal form, by the definition of innermost rewriting: arguments first, then a step, and again."""
    args = tuple(plainly(arg, matcher, bank) for arg in term.args)
    term = bank.make(term.definition, args, term.attrs)
    step = matcher.step(term, bank.make, CPU)
    return term if step is None else plainly(step[1], matcher, bank)


# -- the same normal forms ---------------------------------------------------------------------------


@drawn(60)
@given(data=st.data())
def test_the_normal_form_is_that_of_the_definition(matchers: dict[str, Matcher], data: st.DataObject) -> None:
    term = program(data)
    table, bank = ReplacementTable(), TermBank()
    found = adopt([term], table, bank)
    expected = found[0]
    for name, matcher in matchers.items():
        found = normalise(found, matcher, table, bank, CPU, name)
        expected = plainly(expected, matcher, bank)
        assert found[0] is expected


@drawn(40)
@given(data=st.data())
def test_the_normal_forms_of_a_pass_have_no_redex(matchers: dict[str, Matcher], data: st.DataObject) -> None:
    """Those of the terms that right sides were built of included."""
    table, bank = ReplacementTable(), TermBank()
    normalise(adopt([program(data)], table, bank), matchers["lower"], table, bank, CPU, "lower")
    for form in set(table.stages[-1].normal.values()):
        assert all(table.stages[-1].normal[arg] is arg for arg in form.args)
        assert matchers["lower"].step(form, bank.make, CPU) is None


@drawn(40)
@given(data=st.data())
def test_what_a_pass_left_need_not_be_looked_at_again(matchers: dict[str, Matcher], data: st.DataObject) -> None:
    term = program(data)
    table, bank = ReplacementTable(), TermBank()
    found = adopt([term], table, bank)
    for name, matcher in matchers.items():
        found = normalise(found, matcher, table, bank, CPU, name)
    assert lower([term], CPU, matchers, complete=False).roots[0].same_as(found[0])


def test_a_pass_asks_only_rules_that_the_one_before_lacked(x: Op) -> None:
    rules = parse_rules("simplify axes\nrule twice: -(-x) => x", "own.rules", "own")
    more = parse_rules("simplify axes\nrule even: exp(-x) => reciprocal(exp(x))", "more.rules", "more")
    before, after, asked = Matcher(rules, Cache()), Matcher(rules + more, Cache()), []

    def asking(step: Any) -> Any:
        return lambda term, *rest: (asked.append(str(term)), step(term, *rest))[1]

    after.steps = {definition: asking(step) for definition, step in after.steps.items()}
    lowered = lower([ng.exp(-x), -ng.sin(x)], CPU, {"one": before, "two": after}, complete=False)
    assert [str(root) for root in lowered.roots] == ["axes.reciprocal(axes.exp(x))", "axes.negative(axes.sin(x))"]
    assert asked == ["axes.exp(axes.negative(x))", "axes.exp(x)"]


class _Instead(ng.GraphPass):
    """The sines of a graph become cosines of what `made` makes of their operands."""

    def __init__(self, made: Callable[[Op], Op]) -> None:
        super().__init__(before="two")
        self.made = made

    def run(self, roots: Sequence[Op]) -> None:
        for sine in topological(roots):
            if sine.definition.short == "sin":
                self.replace_op(sine, ng.make_op("axes.cos", self.made(sine.args[0])))


def test_rules_are_asked_about_what_a_pass_between_changed(x: Op) -> None:
    rules = parse_rules("simplify axes\nrule twice: -(-x) => x", "own.rules", "own")
    one, two, asked = Matcher(rules, Cache()), Matcher(rules, Cache()), []

    def asking(step: Any) -> Any:
        return lambda term, *rest: (asked.append(str(term)), step(term, *rest))[1]

    two.steps = {definition: asking(step) for definition, step in two.steps.items()}
    roots = [-ng.exp(x), -ng.sin(x)]
    lowered = lower(roots, CPU, {"one": one, "between": _Instead(lambda x: x), "two": two}, complete=False)
    assert [str(root) for root in lowered.roots] == ["axes.negative(axes.exp(x))", "axes.negative(axes.cos(x))"]
    assert asked == ["axes.negative(axes.cos(x))"]


def test_what_a_pass_builds_again_is_rewritten_again(x: Op) -> None:
    """The pass before had met the term, and left another one for it."""
    rules = parse_rules("simplify axes\nrule twice: -(-x) => x", "own.rules", "own")
    passes = {
        "one": Matcher(rules, Cache()),
        "between": _Instead(lambda x: ng.negative(-x)),
        "two": Matcher(rules, Cache()),
    }
    lowered = lower([ng.sin(x), ng.exp(ng.negative(-x))], CPU, passes, complete=False)
    assert [str(root) for root in lowered.roots] == ["axes.cos(x)", "axes.exp(x)"]


def test_where_terms_went_stays_as_it_is_though_it_is_to_be_replaced_later(x: Op) -> None:
    table, bank = ReplacementTable(), TermBank()
    roots = adopt([-ng.exp(x), -ng.sin(x), ng.tan(x)], table, bank)
    sine, why = roots[1].args[0], Replaced("for a test", "here")

    def replaced(term: Op, forms: Mapping[Op, Op]) -> Forward | None:
        goes = {roots[0].args[0]: sine, roots[1]: roots[2]}
        return Forward(goes[term], why) if term in goes else None

    found = replace_in_order(topological(roots), roots, replaced, table, bank, "between")
    assert found == [roots[1], roots[1], roots[2]]
    assert [table.snap(root) for root in roots] == found


# -- every step is told ------------------------------------------------------------------------------


@drawn(40)
@given(data=st.data())
def test_every_term_that_was_met_leads_to_its_normal_form(matchers: dict[str, Matcher], data: st.DataObject) -> None:
    term = program(data)
    table = lower([term], CPU, matchers).table
    for handle in topological([term]):
        steps = table.history(handle)
        assert not steps or steps[-1].after is table.snap(handle)
    for stage in table.stages:
        for before, (to, _) in stage.forward.items():
            assert stage.end(before) is stage.end(to)
            assert before.type == to.type


@drawn(40)
@given(data=st.data())
def test_every_step_is_one_of_the_rule_that_is_named(matchers: dict[str, Matcher], data: st.DataObject) -> None:
    """Also where the term was not built to take it: applied again, the rule gives what has the same normal form."""
    table, bank = ReplacementTable(), TermBank()
    normalise(adopt([program(data)], table, bank), matchers["lower"], table, bank, CPU, "lower")
    for step in list(table.redexes()):
        again = matchers["lower"].step(step.before, bank.make, CPU)
        assert again is not None and again[0] is step.why
        assert plainly(again[1], matchers["lower"], bank) is table.stages[-1].end(step.after)


@drawn(20)
@given(data=st.data())
def test_steps_that_are_asked_for_one_by_one_are_those_of_all(
    matchers: dict[str, Matcher], data: st.DataObject
) -> None:
    term = program(data)
    alone, whole = (lower([term], CPU, matchers).table for _ in range(2))
    every = [list(stage.forward.items()) for stage in whole.stages]
    handles = topological([term])
    assert [(s.stage, s.why) for h in handles for s in alone.history(h)] == [
        (s.stage, s.why) for h in handles for s in whole.history(h)
    ]
    for stage, steps in zip(whole.stages, every, strict=True):
        assert all(stage.step(before) == found for before, found in steps)
    redexes = list(whole.redexes())
    for name in {step.why.name for step in redexes if isinstance(step.why, Rule)}:
        assert list(whole.redexes(name)) == [s for s in redexes if isinstance(s.why, Rule) and s.why.name == name]
        assert len(list(alone.redexes(name))) == len(list(whole.redexes(name)))
    met = {step.before for handle in handles for step in whole.history(handle)}
    assert whole.on_the_way(handles) == met


def test_a_term_of_which_a_part_is_given_back_is_not_built(x: Op) -> None:
    matcher = matcher_of("simplify axes\nrule first: sin(x) => -(-exp(x))\nrule twice: -(-x) => x")
    table, bank = ReplacementTable(), TermBank()
    (found,) = normalise(adopt([ng.sin(x)], table, bank), matcher, table, bank, CPU, "simplify")
    assert str(found) == "axes.exp(x)"
    negative = next(op for op in bank.tables if op.name == "axes.negative")
    assert len(bank.tables[negative]) == 1
    assert [(str(s.before), s.why.name) for s in table.redexes()] == [
        ("axes.negative(axes.negative(axes.exp(x)))", "own.twice"),
        ("axes.sin(x)", "own.first"),
    ]


def test_a_step_from_a_term_that_was_not_built_is_told_in_its_place(x: Op) -> None:
    rules = """\
        simplify axes
        rule first: sin(x) => exp(cast(x, dtype=x.dtype))
        rule same: cast(x, dtype=t) => x
            if t == x.dtype
        rule last: exp(x) => cos(x)
    """
    (found,), table = rewritten(rules, ng.sin(ng.sin(x)))
    assert found.same_as(ng.cos(ng.cos(x)))
    told = [(step.why.name, step.before.definition.short) for step in table.redexes() if isinstance(step.why, Rule)]
    assert told == 2 * [("own.same", "cast"), ("own.last", "exp"), ("own.first", "sin")]


def test_steps_are_told_while_others_are_still_taken(x: Op) -> None:
    rules = """\
        simplify axes
        rule same: cast(x, dtype=t) => x
            if t == x.dtype
        rule first: sin(x) => cast(x, dtype=x.dtype)
    """
    _, table = rewritten(rules, ng.sin(x))
    stage = table.stages[-1]
    assert list(stage.forward.items()) == list(stage.forward.items())
    before = len(stage.forward)
    stage.taken[x] = (-1, x)
    assert len(stage.forward) == before + 1 and stage.forward[x].why == ARGUMENTS
    assert Step("simplify", x, x, ARGUMENTS) not in list(table.redexes())


def test_metadata_moves_from_a_term_that_a_right_side_needed_first(x: Op) -> None:
    with ng.metadata(unit=1):
        inner = ng.tanh(x)
    rules = "simplify axes\nrule one: sin(x) => tanh(x)\nrule two: tanh(x) => exp(x)"
    (one, other), table = rewritten(rules, ng.sin(x), inner)
    assert one is other
    assert dict(table.metadata(one)) == {"unit": 1}


# -- any depth ---------------------------------------------------------------------------------------

DOWN = """\
    simplify axes
    rule push: negative(exp(x)) => exp(negative(x))
    rule turn: negative(sin(x)) => sin(tanh(tanh(negative(x))))
"""


@pytest.mark.parametrize(("build", "depth"), [(ng.exp, 30_000), (ng.sin, 10_000)])
def test_a_rule_that_walks_down_is_not_stopped_by_depth(build: Any, depth: int, x: Op) -> None:
    """Each step needs the next one inside: they are nested as deep as the chain is long."""
    term = x
    for _ in range(depth):
        term = build(term)
    room = len(inspect.stack(0)) + 6 * NESTED + 100
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(room)
    try:
        (found,), table = rewritten(DOWN, ng.negative(term))
    finally:
        sys.setrecursionlimit(limit)
    order = topological([found])
    assert len(order) == (depth + 2 if build is ng.exp else 3 * depth + 2)
    assert order[1].definition.short == "negative" and order[0] is table.snap(x)


@given(st.integers(1, 4 * NESTED), st.sampled_from([ng.exp, ng.sin]))
def test_what_is_put_off_comes_to_the_same(depth: int, build: Any) -> None:
    matcher, x = matcher_of(DOWN), ng.placeholder([H])
    term = x
    for _ in range(depth):
        term = build(term)
    term = ng.negative(term) + term
    table, bank = ReplacementTable(), TermBank()
    root = adopt([term], table, bank)
    assert normalise(root, matcher, table, bank, CPU, "simplify") == [plainly(root[0], matcher, bank)]
    stage = table.stages[-1]
    assert all(stage.normal[before] is stage.end(forward.to) for before, forward in stage.forward.items())


class _Stepping(NamedTuple):
    """Steps written in Python, in the place of a matcher."""

    steps: Mapping[OpDef, Any]
    reasons: Sequence[Replaced] = ()


def test_a_term_that_its_own_right_side_built_is_rewritten_once() -> None:
    """Here it was built and dropped: so it was met inside its own step, over and over."""
    tanh, exp, negative, absolute = (lookup(f"semi.{name}") for name in ("tanh", "exp", "negative", "absolute"))

    def of_tanh(term: Op, make: Make, _: Any) -> Taken:
        make(tanh, term.args, ())
        return 0, make(exp, term.args, ())

    def of_negative(term: Op, make: Make, _: Any) -> Taken:
        return 2, make(exp, (make(absolute, term.args, ()),), ())

    def nothing(*_: Any) -> None:
        """No rule fires on a term that is there."""

    def argument(args: tuple[Op, ...], _: Any) -> Taken | None:
        return (1, args[0]) if args[0].definition is exp else None

    nothing.collapse = argument  # type: ignore[attr-defined]
    reasons = [Replaced(name, "here") for name in ("tanh", "absolute", "negative")]
    stepping = _Stepping({tanh: of_tanh, negative: of_negative, absolute: nothing}, reasons)
    table, bank = ReplacementTable(), TermBank()
    x = ng.placeholder(ng.anonymous((3,)))
    terms = [bank.make(x.definition, (), x.attrs)]
    for definition in (tanh, negative, negative):
        terms.append(bank.make(definition, (terms[-1],), ()))
    (found,) = normalise(terms[-1:], stepping, table, bank, CPU, "here", 5)
    assert [term.definition.short for term in topological([found])] == ["placeholder", "exp", "exp", "exp"]
    fired = [step.why.name for step in table.stages[-1].forward.values() if isinstance(step.why, Replaced)]
    assert fired == ["tanh", "absolute", "negative", "absolute", "negative"]


# -- nothing runs away -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ("rule a: sin(x) => cos(x)\nrule b: cos(x) => tanh(x)\nrule c: tanh(x) => sin(x)", r"own\.[abc] .*own\.[abc] "),
        ("rule a: sin(x) => exp(cos(x))\nrule b: cos(x) => log(sin(x))", r"own\.[ab] "),
        ("rule a: sin(x) => sin(x) + sin(x)", r"own\.a "),
        ("rule a: sin(x) => y + y\nlet y = cos(x)\nrule b: cos(x) => exp(sin(x)) * sin(x)", r"own\.[ab] "),
    ],
)
def test_a_cycle_inside_right_sides_is_found_and_named(rules: str, named: str, x: Op) -> None:
    with pytest.raises(ng.RewriteError, match=rf"runs in a cycle: {named}"):
        rewritten("simplify axes\n" + rules.replace("\nlet", "\n    let"), ng.exp(ng.sin(x)))


@pytest.mark.parametrize(
    "right", ["exp(sin(tanh(x)))", "sin(tanh(x)) + sin(cos(x))", "tanh(sin(sin(exp(x))))", "sin(sin(tanh(x)))"]
)
def test_rules_that_grow_in_every_way_are_stopped_and_named(right: str, x: Op) -> None:
    with pytest.raises(ng.RewriteError, match=r"did not reach a normal form[\s\S]*own.grow \(own.rules:2\)"):
        rewritten(f"simplify axes\nrule grow: sin(x) => {right}", ng.sin(x), budget=2000)


def test_a_rule_that_gives_an_argument_of_another_type_is_named(x: Op) -> None:
    """It is asked before its term is built, inside the right side of another rule."""
    rules = "simplify axes\nrule wrong: cast(x, dtype=t) => x\nrule first: sin(x) => exp(cast(x, dtype='float64'))"
    with pytest.raises(ng.RewriteError, match=r"own.wrong rewrites float64\[H:3\] to float32\[H:3\][\s\S]*own.rules:2"):
        rewritten(rules, ng.sin(x))


def test_a_guard_that_fails_before_its_term_is_built_is_named(x: Op) -> None:
    rules = """\
        simplify axes
        rule wrong: cast(x, dtype=t) => x
            if x.shape[7] == 1
        rule first: sin(x) => cast(x, dtype='int8')
    """
    with pytest.raises(ng.RewriteError, match=r"own.wrong fails on axes.cast[\s\S]*own.rules:2"):
        rewritten(rules, ng.sin(x))


# -- garbage -----------------------------------------------------------------------------------------


# A program that drops large cycles: a small one, since the old objects of all tests take seconds to search.
DROPS_CYCLES = """
import weakref
from ngraph_rewrite import garbage

class Cycle:
    def __init__(self):
        self.itself, self.others = self, [[number] for number in range(20_000)]

garbage._PAUSE = 0
seen = []
while len(seen) < 12 and sum(cycle() is None for cycle in seen) < 3:
    with garbage.no_garbage_collection():
        seen.append(weakref.ref(Cycle()))
print(sum(cycle() is None for cycle in seen))
"""


def test_cycles_that_grow_old_unseen_are_found() -> None:
    """A program that lowered again and again kept all that was dropped in cycles."""
    assert int(printed(DROPS_CYCLES)) >= 3


@pytest.mark.usefixtures("thawed")
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("frozen", [True, False])
def test_the_garbage_collector_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch, enabled: bool, frozen: bool) -> None:
    monkeypatch.setattr(garbage._Frozen, "until", 0.0)
    monkeypatch.setattr(garbage, "_PAUSE", 1)  # what is old is not searched
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    if frozen:
        gc.freeze()
    count = gc.get_freeze_count()
    try:
        with no_garbage_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
        assert (gc.get_freeze_count() > 0) is frozen and (not frozen or gc.get_freeze_count() >= count - 100)
    finally:
        gc.unfreeze()
        (gc.enable if was else gc.disable)()


def test_frozen_objects_are_not_counted_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage._Frozen, "until", 0.0)
    counts = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counts.append(1) or 1)
    for _ in range(100):
        with no_garbage_collection():
            pass
    assert len(counts) == 1
