# SPDX-License-Identifier: Apache-2.0
"""The catalogue: declared once, found by name, types inferred once and never wrongly."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from ngraph_rewrite.errors import (
    ArgumentError,
    AttributeValueError,
    NGraphRewriteError,
    RewriteError,
    RuleFileError,
    UnknownOpError,
)
from ngraph_rewrite.frontend.functions import parameter
from ngraph_rewrite.frontend.storage import placeholder
from ngraph_rewrite.lowering.strategies import innermost, outermost
from ngraph_rewrite.ops import axes, semi  # noqa: F401  (they declare the ops looked up here)
from ngraph_rewrite.ops.checks import type_of
from ngraph_rewrite.rewriting import registry
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.rewriting.domains import argument_domain, argument_types
from ngraph_rewrite.rewriting.domains_attributes import attribute_domain, attribute_values
from ngraph_rewrite.rewriting.inline import rule as simplification
from ngraph_rewrite.rewriting.registry import attribute_function, term_function
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewritten import rewrite
from ngraph_rewrite.targets.evaluation import evaluate
from ngraph_rewrite.terms import catalogue
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import TRAITS, definitions, find, lookup, op
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tensor import TensorType

SCALAR = TensorType("float32")
# Domains stay as long as the process.
NUMBERS = count()


@pytest.fixture(autouse=True)
def own_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declarations of a test are gone after it."""
    monkeypatch.setattr(catalogue, "_CATALOGUE", dict(catalogue._CATALOGUE))


def counted(name: str) -> tuple[Any, list[Any]]:
    """An op with one attribute, and the attributes its type rule was asked about."""
    asked: list[Any] = []

    @op(name)
    def rule(x: TensorType, *, k: Any) -> TensorType:
        asked.append(k)
        return x

    return lookup(name), asked


def test_a_signature_says_what_an_op_takes() -> None:
    @op("mine.two", "commutative", "elementwise")
    def two(x: TensorType, y: TensorType, *, axis: int, k: str) -> TensorType:
        """Two things."""
        return x

    found = lookup("mine.two")
    assert (found.arity, found.least, found.attributes) == (2, 2, ("axis", "k"))
    assert (found.family, found.short, found.doc, repr(found)) == ("mine", "two", "Two things.", "mine.two")
    assert found.commutative and "elementwise" in found.traits
    assert found.type_rule is two


def test_a_starred_parameter_takes_any_number() -> None:
    @op("mine.many")
    def many(x: TensorType, *xs: TensorType) -> TensorType:
        return x

    assert (lookup("mine.many").arity, lookup("mine.many").least) == (None, 1)


def test_definitions_come_in_the_order_of_declaration() -> None:
    for name in ("mine.b", "mine.a"):
        op(name)(lambda x: x)
    assert [d.name for d in definitions("mine")] == ["mine.b", "mine.a"]
    ranks = [d.rank for d in definitions()]
    assert ranks == sorted(set(ranks))


def test_an_op_may_be_declared_in_a_namespace_without_a_name() -> None:
    """As text that is executed has it: functions made there belong to no module."""
    nameless = FunctionType((lambda x: x).__code__, {})
    op("mine.nameless", meaning=FunctionType((lambda term, x: x).__code__, {}))(nameless)
    assert nameless.__module__ is None and not lookup("mine.nameless").shipped
    assert len(simplification("-(-x) => x")) == 1


@pytest.mark.parametrize(
    "name", ["semi.add", "add", "semi.", ".add", "a b.c", "semi.a b", "", "semi.a.b", "semi.lambda"]
)
def test_a_name_is_new_and_has_a_family(name: str) -> None:
    declare: Callable[..., Any] = op(name)
    said = f"there is an op called '{name}' already" if name == "semi.add" else f"an op cannot be called '{name}'"
    with pytest.raises(AttributeValueError, match=f"^{said}\n  use a"):
        declare(lambda x: x)


def test_a_misspelt_trait_is_refused() -> None:
    with pytest.raises(AttributeValueError, match=r"'mine.bar' cannot have the trait 'elmentwise'\n.*commutative"):
        op("mine.bar", "elmentwise")
    assert {t for d in definitions() for t in d.traits} == set(TRAITS)


def test_an_unknown_op_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownOpError, match=r"^no op is called axes.tanhh\n  did you mean axes.tanh") as raised:
        lookup("axes.tanhh")
    assert isinstance(raised.value, NGraphRewriteError) and isinstance(raised.value, KeyError)
    with pytest.raises(UnknownOpError, match=r"^no op is called qqqqqqqqqqqqqqqqqq$"):
        lookup("qqqqqqqqqqqqqqqqqq")
    assert find("axes.tanhh") is None


def test_a_type_is_inferred_once() -> None:
    definition, asked = counted("mine.once")
    for _ in range(3):
        assert definition.infer((SCALAR,), ("a",)) == (("a",), SCALAR)
    assert asked == ["a"]
    definition.infer((SCALAR.with_dtype("int8"),), ("a",))
    assert asked == ["a", "a"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0.0, -0.0),
        ((1, 0.0), (1, -0.0)),
        (((0.0,),), ((-0.0,),)),
        (np.float32(0.0), np.float32(-0.0)),
        (1.0, 1),
        (True, 1),
        ((2, (False,)), (2, (0,))),
    ],
    ids=repr,
)
def test_equal_attributes_that_differ_are_told_apart(first: Any, second: Any) -> None:
    definition, _ = counted("mine.apart")
    assert first == second
    for k in (first, second, first):
        stored, _ = definition.infer((SCALAR,), (k,))
        assert repr(stored[0]) == repr(k)


def test_attributes_without_a_hash_are_asked_every_time() -> None:
    asked: list[Any] = []

    def as_tuple(x: TensorType, *, k: Any) -> dict[str, Any]:
        asked.append(k)
        return {"k": tuple(k)}

    op("mine.lists", normalise=as_tuple)(lambda x, *, k: x)
    for _ in range(2):
        assert lookup("mine.lists").infer((SCALAR,), ([1],)) == (((1,),), SCALAR)
    assert asked == [[1], [1]]


def test_an_error_is_not_remembered() -> None:
    calls: list[int] = []

    @op("mine.fails")
    def fails(x: TensorType, *, k: int) -> TensorType:
        calls.append(k)
        if len(calls) == 1:
            raise AttributeValueError("not yet")
        return x

    with pytest.raises(AttributeValueError):
        lookup("mine.fails").infer((SCALAR,), (1,))
    assert lookup("mine.fails").infer((SCALAR,), (1,)) == ((1,), SCALAR)


# -- what a declaration says ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "near"), [("semi.dott", "\n  did you mean semi.dot, .*"), ("mine.itself", ""), ("zzzzzz", "")]
)
def test_an_op_stands_below_an_op_that_there_is(below: str, near: str) -> None:
    said = rf"^the op 'mine.itself' cannot stand below '{below}', which no op is called{near}$"
    with pytest.raises(AttributeValueError, match=said):
        op("mine.itself", below=below)
    assert find("mine.itself") is None


@pytest.mark.parametrize(
    "declare",
    [
        lambda: op(lambda x: x),
        lambda: op(3),
        lambda: op("mine.bad", 3),
        lambda: op("mine.bad", ["commutative"]),
        lambda: op("mine.bad", below=3),
    ],
    ids=["no name", "number", "trait", "list of traits", "below"],
)
def test_an_op_is_declared_by_words(declare: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^an op is declared by words, and .* is none\n  write `@op"):
        declare()


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (lambda: op("mine.bad")(3), "`type_rule` of mine.bad is 3, which cannot be called"),
        (lambda: op("mine.bad")(None), "`type_rule` of mine.bad is None, which cannot be called"),
        (lambda: op("mine.bad", meaning=3)(lambda x: x), "`meaning` of mine.bad is 3, which cannot be called"),
        (lambda: op("mine.bad", normalise={})(lambda x: x), "`normalise` of mine.bad is {}, which cannot be called"),
        (lambda: op("mine.bad")(lambda x, **k: x), "the type rule of mine.bad takes any attributes"),
        (lambda: op("mine.bad")(lambda x, *, name: x), "mine.bad cannot have an attribute called name: "),
        (lambda: op("mine.bad")(lambda x, *, initial: x), "mine.bad cannot have an attribute called initial: "),
        (lambda: op("mine.bad", "commutative")(lambda x: x), "cannot be commutative: it takes 1 arguments, and not 2"),
        (lambda: op("mine.bad", "associative")(lambda *x: x), "cannot be associative: it takes at least 0 arguments"),
    ],
)
def test_a_declaration_that_nothing_could_be_built_by_is_refused(declare: Callable[[], Any], says: str) -> None:
    with pytest.raises((ArgumentError, AttributeValueError), match=says):
        declare()
    assert find("mine.bad") is None


# -- what a declaration gives back ------------------------------------------------------------------------


@pytest.mark.parametrize("found", [None, 3, "float32", (SCALAR,)], ids=repr)
def test_a_type_rule_that_gives_no_type_is_named_where_the_op_is_built(found: Any) -> None:
    def rule(x: TensorType) -> Any:
        return found

    op("mine.typeless")(rule)
    with pytest.raises(ArgumentError) as raised:
        make_op("mine.typeless", 1.0)
    what, where, do = str(raised.value).split("\n")
    assert what == f"mine.typeless(float32[]): the type rule of mine.typeless gives {found!r}, which is no type"
    assert where.startswith(f"  at {__file__}:")
    assert do == f"  let the type rule at {__file__}:{rule.__code__.co_firstlineno} return a TensorType, or raise"


def test_a_right_side_of_an_op_whose_type_rule_gives_no_type_is_the_rules_mistake() -> None:
    op("mine.typeless")(lambda x: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(RuleFileError, match=r"rule rule.rule fails on .*: the type rule of mine.typeless gives None"):
        simplification("exp(x) => mine.typeless(x)", kind="lower")


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, np.arange(2), (1, [2])], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("operands", [(), (1.0,)], ids=["source", "function"])
def test_an_attribute_without_a_hash_is_refused_where_the_op_is_built(value: Any, operands: tuple[float, ...]) -> None:
    op("mine.source")(lambda *, k: SCALAR)
    op("mine.function")(lambda x, *, k: x)
    name = "mine.function" if operands else "mine.source"
    said = rf"^{name}\(.*k=.*\): the attribute k of {name} has no hash \(unhashable type: '.*'\)\n  at {__file__}:\d+\n"
    with pytest.raises(ArgumentError, match=said):
        make_op(name, *operands, k=value)


@pytest.mark.parametrize("stored", [None, {}, {"j": 1}, {"k": 1, "j": 2}], ids=repr)
def test_each_attribute_is_stored(stored: Any) -> None:
    op("mine.partly", normalise=lambda x, *, k: stored)(lambda x, *, k: x)
    said = r"`normalise` of mine.partly gives .*, and not each attribute\n  at .*\n  let .* return a dict of k$"
    with pytest.raises(ArgumentError, match=said):
        make_op("mine.partly", 1.0, k=1)


@pytest.mark.parametrize("function", [3, partial(len), lambda x: x], ids=["number", "partial", "lambda"])
def test_rules_call_functions_by_their_names(function: Any) -> None:
    for register in (attribute_function, term_function(consumes="semi.exp")):
        with pytest.raises(ArgumentError, match="cannot be called in rules: it is no function with a name"):
            register(function)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda make, x: make("semi.add", x.args, {}), "the definition 'semi.add'"),
        (lambda make, x: make(lookup("semi.add"), [*x.args], ()), r"the terms \[x, y\]"),
        (lambda make, x: make(lookup("semi.add"), x.args, {}), r"the attributes {}, and semi.add has \(\)"),
        (lambda make, x: make(lookup("semi.add"), x.args), "2 arguments, and it takes 3 by their places"),
    ],
)
def test_how_a_term_function_makes_terms_is_told_if_it_does_so_wrongly(
    call: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_TERM_FUNCTIONS", dict(registry._TERM_FUNCTIONS))

    @term_function(consumes="semi.hypot")
    def wrongly_made(make: Any, x: Any) -> Any:
        return call(make, x)

    with pytest.raises(RuleFileError, match=f"the term function wrongly_made calls `make` with {says}"):
        simplification("hypot(x, y) => wrongly_made(self)")
    terms = [placeholder((3,), name=name) for name in "xy"]
    with pytest.raises(ArgumentError, match="write make.*a definition, a tuple of terms") as caught:
        registry.term_of("wrongly_made", TermBank().make, make_op("semi.hypot", *terms))
    assert f"{__file__}:" in str(caught.value.where)


def test_a_term_function_gives_a_term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TERM_FUNCTIONS", dict(registry._TERM_FUNCTIONS))

    @term_function(consumes="semi.exp")
    def nothing(make: Any, x: Any) -> None:
        """Forgets to return what it makes."""

    with pytest.raises(RuleFileError, match=r"rule.rule fails on semi.exp\(x\) .*the term function nothing gives None"):
        simplification("exp(x) => nothing(self)")
    unchecked = parse_rules("simplify semi\nrule r: exp(x) => nothing(self)", "my.rules", "my")
    for strategy in (innermost, outermost):
        with pytest.raises(
            RewriteError, match=r"^rule my.r fails on semi.exp\(x\) .*nothing gives None, which is no term"
        ):
            rewrite(make_op("semi.exp", placeholder((3,), name="x")), strategy(unchecked))


def test_the_meaning_of_a_binder_goes_step_by_step() -> None:
    def twice(term: Op, x: Any, *_: Any) -> Any:
        for _ in range(2):
            _, x = yield {term.attribute("parameters")[0]: x}
        return x / term.attribute("by")

    def bound(x: TensorType, result: TensorType, *, parameters: Any, by: int) -> TensorType:
        return result

    op("mine.twice", "binder", meaning=twice)(bound)
    x, p = placeholder((), "float64", name="x"), parameter((), "float64")
    term, wrong = (make_op("mine.twice", x, p * p, parameters=(p.attribute("uid"),), by=by) for by in (2, "2"))
    assert evaluate([term], {x: np.array(3.0)})[term] == 40.5
    with pytest.raises(TypeError) as raised:
        evaluate([wrong], {x: np.array(3.0)})
    assert raised.value.__notes__[0].startswith("raised by the meaning of mine.twice, for mine.twice(x, ")
    said = r"the meaning of mine.once takes body by keyword, .*\n  let .*test_catalogue.py:\d+ yield the parameters'"
    with pytest.raises(ArgumentError, match=said):
        op("mine.once", "binder", meaning=lambda term, *args, body: body({}))(bound)


def test_what_an_op_s_functions_raise_is_noted_with_the_op_and_the_line() -> None:
    """The error stays what it is: its author has to see where it comes from."""
    op("mine.fails", meaning=lambda term, x: {}["key"])(lambda x: x)
    op("mine.untyped")(lambda x, *, k: x.nothing)
    x = placeholder((3,), name="x")
    with pytest.raises(KeyError, match="key") as meant:
        evaluate([make_op("mine.fails", x)], {x: np.zeros(3, np.float32)})
    assert re.fullmatch(
        r"raised by the meaning of mine.fails, for mine.fails\(x\) at .*\.py:\d+", meant.value.__notes__[0]
    )
    with pytest.raises(AttributeError, match="nothing") as typed:
        make_op("mine.untyped", x, k=2)
    said = r"raised by the declaration of mine.untyped, for mine.untyped\(float32\[3\], k=2\) at .*\.py:\d+"
    assert re.fullmatch(said, typed.value.__notes__[0])


def test_a_type_rule_may_ask_for_the_type_of_another_op() -> None:
    x = TensorType("float32", [2, 3])
    assert type_of("semi.sum", x, axes=(0,)) == TensorType("float32", [3])
    for types, attributes in (((), {"axes": ()}), ((x, x), {"axes": ()}), ((x,), {}), ((x,), {"axes": (), "k": 1})):
        with pytest.raises(ArgumentError, match=r"^semi.sum has no type of .*\n  give 1 types, axes$"):
            type_of("semi.sum", *types, **attributes)


def test_a_domain_is_a_function_of_an_op_that_there_is() -> None:
    op("mine.drawn")(lambda x, *, k: x)
    for domain in (argument_domain, attribute_domain):
        with pytest.raises(UnknownOpError, match=r"^no op is called mine.drawm\n  did you mean mine.drawn\?"):
            domain("mine.drawm")
        with pytest.raises(ArgumentError, match="^`domain` of mine.drawn is 3, which cannot be called"):
            domain("mine.drawn")(3)  # type: ignore[type-var]


def test_a_domain_is_declared_once_and_not_for_an_op_that_ships() -> None:
    op("mine.drawn_once")(lambda x, *, k: x)
    for declare, name in ((argument_domain, "semi.add"), (attribute_domain, "semi.sum")):
        of = "arguments" if declare is argument_domain else "attributes"
        given: Any = lambda *of: []  # noqa: E731
        declare("mine.drawn_once")(given)
        declare("mine.drawn_once")(given)
        for taken in ("mine.drawn_once", name):
            with pytest.raises(AttributeValueError, match=rf"^the {of} of {taken} have a domain already\n"):
                declare(taken)(lambda *of: [])


def given_by_nobody(*of: object) -> Any:
    return {}["x"]


@pytest.mark.parametrize(
    ("given", "what", "do"),
    [
        (lambda *of: [1.0, 2.0], "gives [1.0, 2.0], and not tuples of attributes", "tuples (k,), with a value for"),
        (lambda *of: None, "gives None, and not tuples of attributes", "tuples (k,), with a value for"),
        (lambda *of: [(1, 2)], "gives [(1, 2)], and not tuples of attributes", "tuples (k,), with a value for"),
        (lambda *of: "k", "gives 'k', and not tuples of attributes", "tuples (k,), with a value for"),
        (lambda *of: [([1],)], "gives ([1],): the attribute k of", "give a tuple, a number, a word"),
        (given_by_nobody, "fails: KeyError: 'x', at ", "mend it"),
    ],
)
def test_what_a_domain_of_attributes_gives_wrongly_is_told_with_its_place(given: Any, what: str, do: str) -> None:
    name = f"mine.ill_drawn{next(NUMBERS)}"
    op(name)(lambda x, *, k: x)
    attribute_domain(name)(given)
    with pytest.raises(ArgumentError) as error:
        attribute_values(lookup(name), (TensorType("float32", [3]),), None, SYMBOLIC)
    assert str(error.value).startswith(f"the domain of the attributes of {name} {what}")
    assert error.value.where == f"{__file__}:{given.__code__.co_firstlineno}"
    assert do in str(error.value.do)


@pytest.mark.parametrize(
    ("given", "what"), [(lambda *of: [1], "gives [1], and not types"), (given_by_nobody, "fails: KeyError: 'x', at ")]
)
def test_what_a_domain_of_arguments_gives_wrongly_is_told_with_its_place(given: Any, what: str) -> None:
    name = f"mine.ill_drawn{next(NUMBERS)}"
    op(name)(lambda x: x)
    argument_domain(name)(given)
    with pytest.raises(ArgumentError) as error:
        argument_types(lookup(name), 0, {}, None, SYMBOLIC)
    assert str(error.value).startswith(f"the domain of the arguments of {name} {what}")
    assert error.value.where == f"{__file__}:{given.__code__.co_firstlineno}"


@pytest.mark.parametrize(
    ("meaning", "gives"),
    [
        (lambda term, x: x[:2], "float32[2]"),
        (lambda term, x: x[None], "float32[1, 3]"),
        (lambda term, x: x.astype(np.float64), "float64[3]"),
        (lambda term, x: x.sum(), "float32[]"),
        (lambda term, x: None, "object[]"),
    ],
)
def test_a_meaning_gives_an_array_of_the_type_of_its_term(meaning: Callable[..., Any], gives: str) -> None:
    @op("mine.meant", meaning=meaning)
    def meant(x: TensorType) -> TensorType:
        """An op whose meaning is not what its type rule says."""
        return x

    x = placeholder([Axis("H", 3)], name="x")
    said = rf"the meaning of mine.meant gives {re.escape(gives)} for mine.meant\(x\) of type float32\[H:3\]\n  at .*"
    with pytest.raises(ArgumentError, match=said):
        evaluate([make_op("mine.meant", x)], {x: np.ones(3, np.float32)})


@pytest.mark.parametrize(
    ("name", "above", "says"),
    [
        ("my fam", "semi", "an op family cannot be called 'my fam'"),
        (3, "semi", "an op family cannot be called 3"),
        ("numpy", "semi", "the family 'numpy' ships, and stands where it does"),
        ("my_family", "core", "the family 'my_family' cannot stand above 'core'"),
    ],
)
def test_a_family_that_cannot_be_placed_says_what_is_wrong(name: Any, above: str, says: str) -> None:
    with pytest.raises(AttributeValueError, match=re.escape(says)):
        catalogue.place_family(name, above=above)
