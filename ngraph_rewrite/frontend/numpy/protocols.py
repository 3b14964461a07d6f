# SPDX-License-Identifier: Apache-2.0
"""NumPy's own functions called with terms: ufuncs build the op of their name, others are looked up in a table."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError, FamilyError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.choice import cast
from ngraph_rewrite.frontend.numpy import numpy_names, products_and_orders, special, statistical
from ngraph_rewrite.frontend.numpy.absent import instead
from ngraph_rewrite.frontend.numpy.formulas import FORMULAS, in_their_family
from ngraph_rewrite.frontend.numpy.keeping import by_position, made
from ngraph_rewrite.frontend.numpy.operands import apply, as_term
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, family_of
from ngraph_rewrite.terms.operands import combine
from ngraph_rewrite.terms.protocols import answers
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import BOOL, DType, as_dtype, can_cast
from ngraph_rewrite.types.lengths import Length

# The op of each ufunc that has another name.
_SHORT = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "conjugate": "positive", "floor_divide": "floordivide", "invert": "bitwise_invert",
    "remainder": "mod", "true_divide": "divide", "expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma",
}  # fmt: skip
# What ufunc.reduce is called as a function.
_REDUCTIONS: Mapping[str, Callable[..., Op]] = {
    "add": statistical.sum, "multiply": statistical.prod, "maximum": statistical.max, "minimum": statistical.min,
    "logical_and": statistical.all, "logical_or": statistical.any,
}  # fmt: skip
# Methods of arrays that functions have another name than, and what gives the value of an array.
_METHODS = {"flatten": "ravel", "view": "reshape", "permute": "permute_dims"}
_VALUES = frozenset({"item", "tolist", "tobytes", "numpy"})
# What to write in the place of methods of ufuncs.
_OF_UFUNCS: Mapping[Any, str] = {
    "at": "ng.numpy.at(x)[index].add(values) gives another term",
    "reduceat": "ng.numpy.segment_sum, and others, of numbers that say which segment each element is of",
    ("logaddexp", "reduce"): "use ng.numpy.logsumexp",
}
VERSION = "2024.12"  # of the standard
_EARLIER = ("2021.12", "2022.12", "2023.12")  # which the last one goes on
_DEFAULTS: Mapping[str, Any] = {"out": (None,), "where": True, "casting": "same_kind", "order": "K", "subok": True}


# -- ufuncs -------------------------------------------------------------------------------------------


@answers("ufunc")
def called_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a NumPy ufunc of terms is: an op of the family of the terms.

    Raises:
        FamilyError: if the family has no such op.
        ArgumentError: for a method or an option that has no meaning for terms.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> x, y = ng.placeholder((3,), name="x"), ng.placeholder({"H": 3}, name="y")
    >>> np.sin(x), np.sin(y), np.maximum.reduce(x)
    (numpy.sin(x), axes.sin(y), numpy.max(x, axis=(0,), keepdims=False))
    >>> (np.ones(3) * x).type
    float64[3]
    """
    name = ufunc.__name__
    if method == "__call__" or (method == "outer" and len(inputs) == 2):
        given = {k: v for k, v in options.items() if k not in _DEFAULTS or v is not _DEFAULTS[k]}
        _refuse(name, [k for k in given if k != "dtype"])
        if method == "outer":
            return _in_dtype(name, _outer, tuple(map(as_term, inputs)), given.get("dtype"))
        return _in_dtype(name, _call, inputs, given.get("dtype"))
    if method == "reduce" and name in _REDUCTIONS:
        return _reduce(name, inputs, options)
    if method == "accumulate" and name in numpy_names.ACCUMULATIONS:
        accumulation = numpy_names.ACCUMULATIONS[name]
        return accumulation(*inputs, **{"axis": 0, **_plain(name, options, accumulation)})
    do = _OF_UFUNCS.get((name, method), _OF_UFUNCS.get(method, "ng.numpy has what there is"))
    raise ArgumentError(f"np.{name}.{method} has no meaning for terms", where=user_line(), do=do)


def _in_dtype(name: str, call: Callable[[str, tuple[Any, ...]], Any], inputs: tuple[Any, ...], dtype: Any) -> Any:
    """What a ufunc makes. As in NumPy it computes in the dtype that is asked for; bool is asked for as a result.

    Raises:
        DTypeError: if an operand does not cast to that dtype, or the ufunc makes nothing of it.
    """
    wanted = None if dtype is None else checked(f"np.{name}", as_dtype, dtype)
    given = inputs if wanted is None or wanted == BOOL else tuple([_cast(name, x, wanted) for x in inputs])
    found = call(name, given)
    if wanted is None or {x.dtype for x in (found if isinstance(found, tuple) else (found,))} == {wanted}:
        return found
    raise DTypeError(f"np.{name} does not give {wanted}", where=user_line(), do="cast its result")


def _cast(name: str, operand: Any, dtype: DType) -> Any:
    """An operand in another dtype of its kind or of a greater one; a Python number takes that of the others."""
    if isinstance(operand, bool | int | float | Length) and not isinstance(operand, np.generic):
        return operand
    array = operand if isinstance(operand, Op) else np.asarray(operand)
    if not can_cast(array.dtype, dtype, "same_kind"):
        do = "cast the operands if that is meant"
        raise DTypeError(f"np.{name}: {array.dtype} does not cast to {dtype}", where=user_line(), do=do)
    return cast(array, dtype) if isinstance(array, Op) else array.astype(dtype)


def _call(name: str, inputs: tuple[Any, ...]) -> Any:
    short = _SHORT.get(name, name)
    if short == "positive":
        return inputs[0]
    if short in products_and_orders.PRODUCTS:
        return _product(short, inputs)
    if short in products_and_orders.LOOPS:
        return by_position(products_and_orders.LOOPS[short], short, *inputs)
    if short in FORMULAS:
        return in_their_family(short, *inputs)
    if short in special.__all__:
        return _special(short, inputs)
    return made(short, *inputs)


def _special(name: str, inputs: tuple[Any, ...]) -> Op:
    """What a ufunc of ``scipy.special`` makes of terms: one or two may have names, which stay."""
    function: Callable[..., Op] = getattr(special, name)
    if len(inputs) <= 2:
        return by_position(function, name, *inputs)
    _positional_only(name, inputs)
    return function(*inputs)


def _product(name: str, inputs: tuple[Any, ...]) -> Op:
    if not all(isinstance(x, Op) for x in inputs) and any(t.rank and t.axes.named for t in _terms(inputs)):
        return combine("dot", *inputs)  # what an array beside a term means: that it has no names to match by
    _positional_only(name, inputs)
    return products_and_orders.PRODUCTS[name](*inputs)


def _reduce(name: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Op:
    _positional_only(f"{name}.reduce", inputs)
    return _REDUCTIONS[name](*inputs, **{"axis": 0, **_plain(f"{name}.reduce", options, _REDUCTIONS[name])})


def _outer(name: str, terms: tuple[Op, ...]) -> Any:
    _positional_only(f"{name}.outer", terms)
    left, right = terms
    return _call(name, (apply("reshape", left, shape=left.shape + (1,) * right.rank), right))


def _plain(name: str, options: Mapping[str, Any], ours: Callable[..., Op]) -> dict[str, Any]:
    """The options that say something, of those that our function takes."""
    given = {k: v for k, v in options.items() if k == "axis" or (v is not None and not (k == "out" and v == (None,)))}
    _refuse(name, [k for k in given if k not in inspect.signature(ours).parameters])
    return given


def _refuse(name: str, keywords: Iterable[str]) -> None:
    for keyword in keywords:
        what = f"np.{name}: {keyword} has no meaning for terms"
        raise ArgumentError(what, where=user_line(), do="terms are immutable: use the result")


# -- the standard -------------------------------------------------------------------------------------


@answers("namespace")
def namespace(version: str | None) -> ModuleType:
    """The module that has the functions of the array API standard.

    Raises:
        AttributeValueError: for a version of the standard that is later than 2024.12, or none.

    >>> import ngraph_rewrite as ng
    >>> ng.placeholder((3,)).__array_namespace__() is ng.numpy
    True
    """
    if version not in (None, VERSION, *_EARLIER):
        raise AttributeValueError(f"the array API standard {version!r}", where=user_line(), do=f"ask for {VERSION}")
    return sys.modules[__name__.rpartition(".")[0]]


@answers("method")
def written_for(term: Op, name: str) -> str | None:
    """What to write where an array would have a method or an attribute of that name; None if there is nothing.

    >>> import ngraph_rewrite as ng
    >>> written_for(ng.placeholder((3,)), "sum")
    'terms have functions, no methods: ng.numpy.sum(x)'
    """
    if name in _VALUES:
        return "a term has no value: compute it, transformer.computation(term)()"
    family, here = family_of([term]) if term.rank else "numpy", _METHODS.get(name, name)
    where = "" if family == "axes" else f".{family}"
    module = sys.modules[__name__.partition(".")[0] + (where and f".frontend{where}")]
    is_function = here in module.__all__ and inspect.isfunction(getattr(module, here))
    return f"terms have functions, no methods: ng{where}.{here}(x)" if is_function else None


# -- other functions ----------------------------------------------------------------------------------


@answers("function")
def called_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What another NumPy function of terms is.

    Raises:
        FamilyError: for terms with named axes, unless the function works on each element by itself.
        ArgumentError: for a function that has no meaning for terms.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 3), name="x")
    >>> np.concatenate([x, np.ones((1, 3))]).type, np.mean(x, axis=0).type
    (float64[3, 3], float32[3])
    >>> np.linalg.eig(x)
    Traceback (most recent call last):
        ...
    ngraph_rewrite.errors.ArgumentError: np.linalg.eig has no meaning for terms
    ...
    """
    name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
    ours = numpy_names.FUNCTIONS.get(function)
    if ours is None:
        sized = f"use ng.{name.replace('np', 'numpy', 1)}, and say how many are wanted: size=..."
        do = sized if function in numpy_names.SIZED else _instead(name) or "ng.numpy has what there is"
        raise ArgumentError(f"{name} has no meaning for terms", where=user_line(), do=do)
    if function not in numpy_names.EACH_ELEMENT:
        _positional_only(name.removeprefix("np."), args)
    try:
        return ours(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, ArgumentError) or error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        what = str(error).replace(ours.__qualname__, name, 1)
        raise ArgumentError(what, where=user_line(), do="ng.numpy says which arguments there are") from None


def _instead(name: str) -> str | None:
    """What to write for a function of NumPy's, as ``np.linalg.eig``, that has no meaning for terms."""
    where, _, short = name.rpartition(".")
    ours = __name__.rpartition(".")[0]
    return instead(sys.modules.get(where.replace("np", ours, 1), sys.modules[ours]), short)


def _positional_only(name: str, args: Iterable[Any]) -> None:
    for term in _terms(args):
        if term.rank and term.axes.named:
            raise FamilyError(
                f"np.{name} goes by position, and {describe(term, 1)} has the names {', '.join(term.axes.names)}",
                where=user_line(),
                do="use the function of ng that goes by names, or write ng.strip(x) to forget them",
            )


def _terms(values: Iterable[Any]) -> Iterator[Op]:
    for value in values:
        if isinstance(value, Op):
            yield value
        elif isinstance(value, list | tuple):
            yield from _terms(value)
