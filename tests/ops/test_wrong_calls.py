# SPDX-License-Identifier: Apache-2.0
"""Whatever one changes in a right call of any op: it is refused at the user's line, or it means something.

The hand-written tables name class and message, group by group; the catalogue is walked so that no op can be left out.
"""

from typing import Any

import numpy as np
import pytest
from drawn import arrays, leaf, value
from wrong_calls_mutated import Call, calls
from wrong_calls_rows import ROWS, Row

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.terms.catalogue import OpDef, definitions, lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.tuples import TupleType

SHIPPED = [d for d in definitions() if d.shipped]
BUILTINS = (TypeError, ValueError, IndexError)
SHAPES = (errors.AxesError, errors.FamilyError, errors.LengthError, errors.AttributeValueError, errors.OutOfRangeError)
# Arguments that may be of any type: what passes terms on as they are.
ANYTHING = {
    f"core.{short}"
    for short in "strip stop_gradient value_of present after sequential doall make_tuple annotated call".split()
}
# Arguments whose dtype says what their axes are: packed columns, or rows of the transposed matrix.
PACKED = {f"cpu.gemm_of_{short}" for short in "pairs float_pairs quads".split()}


def refusal(definition: OpDef, call: Call) -> errors.NGraphRewriteError | None:
    """The error that a call raises; nothing but an error of this library may come out."""
    try:
        term = build(definition, call.args, **call.attributes)
    except errors.NGraphRewriteError as error:
        return error
    means_something(term)
    return None


def means_something(term: Op) -> None:
    """An accepted call has a value, and the value has the type that the type rule says."""
    tensors = not any(isinstance(t.type, TupleType) for t in (term, *term.args))
    if term.definition.meaning is None or term.definition.family == "core" or not tensors:
        return
    known = all(isinstance(n, int) for t in topological([term]) for n in t.shape)
    if known and np.prod(term.shape, dtype=float) < 1e6:
        result = value(term, arrays(term, 0))
        assert (result.shape, result.dtype) == (term.shape, term.dtype)


def says_it_all(error: errors.NGraphRewriteError, definition: OpDef, call: Call) -> None:
    """The message has the op, the argument, what came, and the user's line."""
    said = str(error)
    assert definition.name in said and __file__ in said and isinstance(error, BUILTINS)
    if call.kind in ("unknown", "missing"):
        wanted = "has no attribute" if call.kind == "unknown" else "needs the attribute"
        assert type(error) is errors.ArgumentError and f"{wanted} {call.place}" in said
    elif call.kind in ("fewer", "more"):
        assert type(error) is errors.ArgumentError and said.count(f"arguments, not {len(call.args)}") == 1
    elif call.kind == "attribute":
        assert isinstance(call.came, Uid) or f"{call.place}={call.came!r}"[:57] in said or call.place == "uid"
    else:
        names_forgotten = repr(leaf(call.came).type.stripped()) if call.kind == "axes" else ""  # by a coercion
        assert repr(call.came) in said or (names_forgotten and names_forgotten in said)
        is_dtype = call.kind == "dtype" and not (definition.name in PACKED and isinstance(error, errors.AxesError))
        assert type(error) is errors.DTypeError if is_dtype else isinstance(error, SHAPES)


@pytest.mark.parametrize("definition", SHIPPED, ids=str)
def test_a_wrong_call_is_refused_and_says_why(definition: OpDef) -> None:
    refused: set[Any] = set()
    for call in calls(definition):
        error = refusal(definition, call)
        if error is not None:
            says_it_all(error, definition, call)
            refused.add((call.kind in ("dtype", "axes"), call.place))
    assert all((False, name) in refused for name in definition.attributes), "an attribute takes whatever comes"
    arguments = range(max(definition.least, definition.arity or 0))
    assert all((True, i) in refused for i in arguments) or definition.name in ANYTHING


@pytest.mark.parametrize("definition", SHIPPED, ids=str)
def test_names_and_numbers_of_arguments_are_demanded(definition: OpDef) -> None:
    kinds = {call.kind for call in calls(definition) if call.kind in ("unknown", "missing", "more", "fewer")}
    wanted = {"unknown"} | ({"missing"} if definition.attributes else set())
    wanted |= ({"more"} if definition.arity is not None else set()) | ({"fewer"} if definition.least else set())
    assert kinds == wanted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name} {row.says}")
def test_a_mistake_has_its_class_and_its_words(row: Row) -> None:
    with pytest.raises(row.error, match=row.says) as caught:
        build(lookup(row.name), tuple(map(leaf, row.types)), **row.attributes)
    said = str(caught.value)
    assert type(caught.value) is row.error
    assert row.name in said and __file__ in said


X, Y = ng.placeholder({"H": 2}, name="x"), ng.placeholder((2,), name="y")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: ng.tanh(None), errors.ArgumentError, "axes.tanh: None is neither a term nor a number"),
        (lambda: X + "a", errors.ArgumentError, "axes.add: 'a' is neither a term nor a number"),
        (lambda: X * [1.0, 2.0], errors.FamilyError, "axes.multiply: a list has no axes to match by"),
        (lambda: ng.dot(X, {}), errors.ArgumentError, "axes.dot: {} is neither"),
        (lambda: ng.semi.exp(None), errors.ArgumentError, "semi.exp: None is neither"),
        (lambda: ng.numpy.add(Y, None), errors.DTypeError, "numpy.add: constant: None is no array of numbers"),
        (lambda: ng.numpy.sin("x"), errors.DTypeError, "numpy.sin: constant: 'x' is no array of numbers"),
        (lambda: ng.simple.add(Y, {}), errors.DTypeError, "simple.add: constant: {} is no array of numbers"),
        (lambda: ng.make_op("axes.tanh", None), errors.ArgumentError, "axes.tanh: None is neither"),
        (lambda: ng.make_op("axes.tahn", X), errors.UnknownOpError, "did you mean .*axes.tanh"),
        (lambda: ng.Axis("H", 10**30), errors.AxesError, "give a length of 64 bits"),
    ],
)  # fmt: skip
def test_an_operand_that_is_none_is_named(call: Any, error: type[errors.NGraphRewriteError], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: ng.numpy.asarray([Y, Y]), "put terms side by side with ng.numpy.stack"),
        (lambda: Y + [1.0, Y[0]], "put terms side by side with ng.numpy.stack"),
        (lambda: ng.numpy.sum(Y[0], axis=0), "give an operand with axes"),
        (lambda: ng.numpy.sort(Y[0]), "give an operand with axes"),
    ],
)
def test_advice_says_what_can_be_done(call: Any, advice: str) -> None:
    with pytest.raises(errors.NGraphRewriteError) as caught:
        call()
    assert advice in str(caught.value) and __file__ in str(caught.value)


def test_a_length_is_counted_as_advised() -> None:
    x = ng.placeholder((None, 2))
    count = ng.numpy.sum(ng.numpy.ones(x.shape[0]))
    for target in ("cpu", "reference"):
        with ng.make_transformer(target) as transformer:
            assert transformer.computation(x * count, x)(np.ones((3, 2))).tolist() == [[3, 3]] * 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: ng.semi.sum(x, 3.5), "axes is 3.5"),
        (lambda x: ng.semi.broadcast(x, 3.5), "shape is 3.5"),
        (lambda x: ng.semi.broadcast(x, (2, 3), 1), "dims is 1"),
        (lambda x: ng.semi.reshape(x, 6), "shape is 6"),
        (lambda x: ng.semi.transpose(x, 1), "perm is 1"),
        (lambda x: ng.semi.slice(x, 0, (1, 1)), "starts is 0"),
        (lambda x: ng.semi.slice(x, (0,), (1,)), "give 2 of each"),
        (lambda x: ng.semi.update(x, x, (0, 0), 2, (1, 1)), "stops is 2"),
        (lambda x: ng.semi.pad(x, 1, (1, 1)), "before is 1"),
        (lambda x: ng.semi.diagonal(x, 0), "places is 0"),
        (lambda x: ng.semi.on_diagonal(x, 0), "places is 0"),
        (lambda x: ng.semi.iota(3), "shape is 3"),
        (lambda x: ng.semi.uniform(3), "shape is 3"),
        (lambda x: ng.semi.normal(3), "shape is 3"),
    ],
)
def test_what_a_function_takes_as_a_list_is_refused_if_it_is_none(call: Any, said: str) -> None:
    with pytest.raises(errors.AttributeValueError, match=said) as found:
        call(leaf(ng.TensorType("float32", ng.anonymous([2, 3]))))
    assert __file__ in str(found.value)
