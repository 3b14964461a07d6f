# SPDX-License-Identifier: Apache-2.0
"""The table of ONNX operators: for each a function whose arguments are its inputs and whose keywords its attributes.

An input is an array where its value is known while the model is read, an ``ng`` term where it is not, a list where it
is a sequence, and None where it is left out. Lengths may be unknown: a known array of dtype object holds such ones.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ngraph_rewrite as ng

Value = Any  # an array, a term, a list of these, None, or TEXTS


class Texts:
    """What is made of texts, which there are no terms of: whatever is computed of it is such, too."""


TEXTS = Texts()


class ModelError(ng.NGraphRewriteError):
    """A model that says what this reader, or the library, has no words for."""


class NotKnown(ModelError):
    """What has to be known while a model is read is computed by it, from the inputs of these names."""

    def __init__(self, what: str, value: Value, where: str | None = None, first: str = "") -> None:
        self.value, self.first = value, first
        self.inputs = [t.name for t in ng.topological([value]) if t.definition.name == "core.placeholder"]
        given = f"the value of {', '.join(self.inputs)}" if self.inputs else "what it is computed of"
        do = f"{first}give {given}: read(model, known={{...}}), or end the model before it: onnx.utils.extract_model"
        super().__init__(what, where=where, do=do)


class Entry(NamedTuple):
    """A function for an operator from some version of the operator set on.

    Attributes:
        known: The names of inputs that have to be known.
        asks: What the function is given, too, unless an attribute has that name: how many ``outputs`` there are, the
            ``opset``, the ``scope``, which has all values of the graph by their names, and how many rows there are at
            ``most`` of the first output, whose ``name`` it has.
    """

    since: int
    function: Callable[..., Any]
    known: tuple[str, ...]
    asks: tuple[str, ...]
    names: tuple[str, ...]
    attributes: frozenset[str]


TABLE: dict[str, list[Entry]] = {}


def op(
    *names: str, since: int = 1, known: str = "", like: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Puts a function into the table.

    Args:
        names: The operators that it computes.
        since: The version of the operator set from which on it does.
        known: The names of inputs that have to be known while the model is read.
        like: A function whose attributes it takes, too.
    """

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            TABLE.setdefault(name, []).append(_entry(since, function, known, like))
            TABLE[name].sort(key=lambda entry: entry.since)
        return function

    return put


def _entry(since: int, function: Callable[..., Any], known: str, like: Callable[..., Any] | None) -> Entry:
    every = inspect.signature(function).parameters.values()
    names = tuple(p.name for p in every if p.kind is p.POSITIONAL_OR_KEYWORD)
    more = inspect.signature(like).parameters.values() if like else ()
    keywords = {p.name for p in (*every, *more) if p.kind is p.KEYWORD_ONLY}
    asks = tuple(sorted(keywords & {"outputs", "opset", "scope", "most", "name"}))
    return Entry(since, function, tuple(known.split()), asks, names, frozenset(keywords - set(asks)))


def find(name: str, opset: int) -> Entry | None:
    """The entry of an operator in a version of the operator set."""
    return next((entry for entry in reversed(TABLE.get(name, [])) if entry.since <= opset), None)


# -- what the functions are written with ----------------------------------------------------------------


def is_term(value: Value) -> bool:
    """Whether a value is computed when the model runs."""
    return isinstance(value, ng.Op)


def term(value: Value) -> ng.Op:
    """A value as a term; known lengths and arrays become constants."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return ng.numpy.reshape(ng.numpy.asarray(value.reshape(-1).tolist()), value.shape)
    return value if is_term(value) else ng.numpy.asarray(value)


def unless_lengths(value: Value) -> Value:
    """Lengths that are not known yet as a term; and bfloat16, which NumPy makes float32 beside numbers of Python."""
    return term(value) if isinstance(value, np.ndarray) and str(value.dtype) in ("object", "bfloat16") else value


def space(*values: Value) -> Any:
    """NumPy for values that are all known, ``ng.numpy`` where one is a term."""
    return ng.numpy if any(map(is_term, values)) else np


def cast(value: Value, dtype: Any) -> Value:
    """A value in another dtype."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = term(value)
    return ng.numpy.astype(value, dtype) if is_term(value) else np.asarray(value).astype(dtype)


def lengths(values: Iterable[Any]) -> np.ndarray:
    """Lengths as a known array: of integers, or of dtype object if one is unknown."""
    listed = list(values)
    return np.array(listed, object if any(isinstance(n, ng.Length) for n in listed) else np.int64)


def settled(value: Value) -> Value:
    """What NumPy has computed as an array; of integers, if no length in it is left that is not known yet."""
    array = np.asarray(value) if isinstance(value, np.generic | ng.Length | int) else value
    objects = isinstance(array, np.ndarray) and array.dtype == object
    return lengths(array.reshape(-1)).reshape(array.shape) if objects else array


def places(axes: Value, rank: int) -> tuple[int, ...]:
    """Axes as places from 0 on; None stands for all."""
    return tuple(range(rank)) if axes is None else tuple(int(a) % max(rank, 1) for a in np.asarray(axes).reshape(-1))


def known_length(n: Any, what: str) -> int:
    """A length that has to be known.

    Raises:
        ModelError: if it is not.
    """
    if isinstance(n, ng.Length):
        raise ModelError(f"{what} has the unknown length {n!r}", do="give it: read(model, lengths={...})")
    return int(n)


def count(n: Any) -> Value:
    """The integers below a length."""
    return ng.numpy.arange(n) if isinstance(n, ng.Length) else np.arange(n)


def lowest(dtype: Any, least: bool = True) -> Any:
    """The least number of a dtype, or the greatest."""
    if np.dtype(dtype).kind in "iu":
        return int(np.iinfo(dtype).min if least else np.iinfo(dtype).max)
    return -math.inf if least else math.inf


def folded(outputs: Sequence[Value], inputs: Sequence[Value]) -> Sequence[Value]:
    """What is computed of arrays alone is an array."""
    terms = [v for v in outputs if is_term(v)]
    known = all(v is None or isinstance(v, np.ndarray) and v.dtype != object for v in inputs)
    if not (terms and inputs and known):
        return [settled(v) for v in outputs]
    arrays = dict(zip(terms, computed(terms), strict=True))
    return [arrays[v] if is_term(v) else v for v in outputs]


def computed(terms: Sequence[ng.Op]) -> list[np.ndarray]:
    """The values of terms that depend on no input."""
    with ng.make_transformer("reference") as transformer:
        return [np.asarray(v) for v in transformer.computation(terms)()]
