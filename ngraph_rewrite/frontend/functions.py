# SPDX-License-Identifier: Apache-2.0
"""Functions of a graph: typed parameters, results built of them, and a name; a call of one is an op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from ngraph_rewrite.errors import ArgumentError, DTypeError, SequencingError, UnmatchedAxesError
from ngraph_rewrite.frontend.building import Operand, checked, terms_of
from ngraph_rewrite.frontend.storage import as_op, constant
from ngraph_rewrite.ops.fitting import castable
from ngraph_rewrite.terms.below import EFFECTS, topological_where
from ngraph_rewrite.terms.binders import is_parameter
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.construction import construction
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes, AxesLike
from ngraph_rewrite.types.dtypes import as_dtype, can_cast

Results = Op | tuple[Op, ...]


def parameter(axes: AxesLike = None, dtype: Any = None, name: str | None = None) -> Op:
    """A parameter of a function: its element type and its shape. It has a value only in calls.

    Raises:
        AxesError: if `axes` are no axes.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.parameter({"H": 2}, "float64", name="x").type
    float64[H:2]
    """
    attributes = {"axes": checked("parameter", Axes, axes), "dtype": checked("parameter", as_dtype, dtype)}
    return build(lookup("core.parameter"), (), name=name, uid=Uid(), **attributes)


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a graph, made by `ng.function`; calling it builds an op.

    Attributes:
        name: What it is called in calls and messages.
        parameters: Its parameters, in order: its own, different from those it was made with.
        results: The result, or a tuple of them, built of the parameters.
    """

    name: str
    parameters: tuple[Op, ...]
    results: Results

    def __call__(self, *args: Operand, **named: Operand) -> Op:
        """The results for arguments of exactly the parameters' types; numbers and arrays become constants.

        Arguments may be given by the names of the parameters. Several results are a tuple: take one with
        ``f(x)[i]``.

        Raises:
            ArgumentError: for a wrong number of arguments, or a name that no parameter has.
            DTypeError, UnmatchedAxesError: if an argument has another type than its parameter.
        """
        given = [self._argument(p, a) for p, a in zip(self.parameters, self._in_order(args, named), strict=True)]
        return build(
            lookup("core.call"),
            (*given, *self._results_here()),
            parameters=tuple(p.attribute("uid") for p in self.parameters),
            function=self.name,
            single=isinstance(self.results, Op),
        )

    def _results_here(self) -> Sequence[Op]:
        """The results; in a block such as `ng.ordered` with variables as they are at the place of the call."""
        results = self.results if isinstance(self.results, tuple) else (self.results,)
        if construction.get() is None:
            return results
        written = [t for t in topological(results) if t.user_deps]
        return substituted(results, {v: build(lookup("core.value_of"), (v,)) for v in written})

    def __repr__(self) -> str:
        """The signature."""
        inside = ", ".join(f"{p.name or '_'}: {p.type!r}" for p in self.parameters)
        several = isinstance(self.results, tuple)
        types = [r.type for r in (self.results if isinstance(self.results, tuple) else (self.results,))]
        to = f"({', '.join(map(repr, types))}{',' if len(types) == 1 else ''})" if several else repr(types[0])
        return f"{self.name}({inside}) -> {to}"

    def _in_order(self, args: Sequence[Operand], named: dict[str, Operand]) -> list[Operand]:
        left = list(self.parameters[len(args) :])
        names = [p.name for p in left]
        wrong = next((n for n in named if names.count(n) != 1), None)
        if wrong is not None:
            raise self._error(ArgumentError, f"has no parameter {wrong} that is not given already")
        if len(args) + len(named) != len(self.parameters):
            raise self._error(ArgumentError, f"takes {len(self.parameters)} arguments, not {len(args) + len(named)}")
        return [*args, *(named[str(n)] for n in names)]

    def _argument(self, parameter: Op, argument: Any) -> Op:
        """An argument of exactly the type of its parameter."""
        if not isinstance(argument, Op):
            return self._constant(parameter, argument)
        if argument.type == parameter.type:
            return argument
        same = argument.type.__class__ is parameter.type.__class__ and argument.axes == parameter.axes
        raise self._misfit(DTypeError if same else UnmatchedAxesError, parameter, f"is {argument.type!r}")

    def _constant(self, parameter: Op, value: Any) -> Op:
        """A number fills the parameter's axes; an array has its shape."""
        shape, fits = np.shape(value), not np.ndim(value)
        if not fits and shape != parameter.shape:
            raise self._misfit(UnmatchedAxesError, parameter, f"is an array of shape {shape}")
        if hasattr(value, "dtype") and not can_cast(value.dtype, parameter.dtype, "same_kind"):
            raise self._misfit(DTypeError, parameter, f"is {value!r} of {value.dtype}")
        weak = as_op(value)
        if not hasattr(value, "dtype"):
            checked(self.name, castable, weak.dtype, parameter.dtype, f"the parameter {parameter.name or '_'}")
        return constant(value, parameter.axes, parameter.dtype)

    def _misfit(self, error: type[Any], parameter: Op, what: str) -> Any:
        at = f"{self.parameters.index(parameter)}" + (f", {parameter.name}," if parameter.name else "")
        return self._error(error, f"takes {parameter.type!r} for parameter {at} and the argument {what}")

    def _error(self, error: type[Any], what: str) -> Any:
        return error(f"{self.name} {what}", where=user_line(), do=f"its signature is {self!r}")


@overload
def function(parameters: Iterable[Op] | Op, results: Op | Iterable[Op], name: str | None = None) -> Function: ...
@overload
def function(
    parameters: Iterable[Op] | Op, results: None = None, name: str | None = None
) -> Callable[[Callable[..., Any]], Function]: ...
def function(parameters: Iterable[Op] | Op, results: Any = None, name: str | None = None) -> Any:
    """A typed, named function of terms: of its parameters, and what was built of them.

    It can be called many times, in other functions, and be differentiated. Whatever else its results are built
    of belongs to it too, and is the same in all calls: variables, placeholders, random draws.

    Args:
        parameters: What `ng.parameter` made.
        results: A term, or several. Without any this decorates a Python function, which is called once, with the
            parameters, and returns them.
        name: What to call it; by default the name of the Python function, or ``function``.

    Raises:
        ArgumentError: for a parameter that is none or stands twice, or for no results.
        SequencingError: if the results have effects.

    >>> import ngraph_rewrite as ng
    >>> H = ng.Axis("H", 2)
    >>> @ng.function([ng.parameter([H], name="x"), ng.parameter([], name="scale")])
    ... def length(x, scale):
    ...     return scale * ng.sqrt(ng.sum(ng.square(x), out_axes=[]))
    >>> length
    length(x: float32[H:2], scale: float32[]) -> float32[]
    >>> y = length(ng.constant([3.0, 4.0], [H]), 2)
    >>> with ng.make_transformer("reference") as transformer:
    ...     float(transformer.computation(y)())
    10.0
    """
    taken = tuple(terms_of("function", parameters))
    for i, term in enumerate(taken):
        if not isinstance(term, Op) or not is_parameter(term) or term in taken[:i]:
            what = "stands twice" if isinstance(term, Op) and term in taken[:i] else "is no parameter"
            raise ArgumentError(f"function: {term!r} {what}", where=user_line(), do="make each with ng.parameter")
    if results is not None:
        return _made(taken, results, name or "function")

    def decorate(body: Callable[..., Any]) -> Function:
        return _made(taken, _traced(body, taken), name or body.__name__)

    return decorate


def _traced(body: Callable[..., Any], parameters: Sequence[Op]) -> Any:
    try:
        return body(*parameters)
    except NameError as error:
        if error.name != body.__name__:
            raise
        raise ArgumentError(
            f"{body.__name__} calls itself, and a call is taken apart where it stands",
            where=user_line(),
            do="use ng.scan or ng.while_loop to repeat something",
        ) from error


def _made(parameters: tuple[Op, ...], results: Any, name: str) -> Function:
    """With parameters of its own: the terms it was made of can serve another function."""
    terms = [as_op(r) for r in ([results] if isinstance(results, Op) else _several(results, name))]
    for term in topological_where(terms, lambda found: found.effects):
        if term.definition.name in EFFECTS:
            raise SequencingError(
                f"function: the results of {name} contain {describe(term, 1)}, and a function has no effects",
                where=user_line(),
                do="assign what a call returns",
            )
    uids = {p.attribute("uid") for p in parameters}
    order = topological_where(terms, lambda found: not found.free.isdisjoint(uids))
    own = [build(p.definition, (), name=p.name, **{**p.attributes, "uid": Uid()}) for p in parameters]
    found = substituted(terms, dict(zip(parameters, own, strict=True)), order=order)
    return Function(name, tuple(own), found[0] if isinstance(results, Op) else tuple(found))


def _several(results: Any, name: str) -> list[Any]:
    found = list(results) if isinstance(results, Iterable) else []
    if not found:
        raise ArgumentError(
            f"function: {name} returns {results!r}", where=user_line(), do="return a term, or several in a tuple"
        )
    return found
