# SPDX-License-Identifier: Apache-2.0
"""Values from outside become arrays that kernels can read: row-major, aligned, of the right dtype and shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ComputationError
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import can_cast, kind_of

Array = NDArray[Any]


# The kinds of dtype that a Python number becomes; it fits them, or is an error.
_WEAK = {bool: "biuf", int: "iuf", float: "f"}


def as_argument(value: Any, term: Op, shape: tuple[int, ...] | None = None) -> Array:
    """A value as a row-major array of a term's dtype, and of `shape` if that is given; no copy if it is one.

    Raises:
        ComputationError: for a value that does not cast to the dtype, or of another shape.
    """
    if type(value) is np.ndarray and value.dtype == term.dtype and value.flags.c_contiguous and value.flags.aligned:
        result: Array = value
    else:
        result = _converted(value, term)
    if shape is not None and result.shape != shape:
        raise ComputationError(
            f"the value for {describe(term, 1)} has shape {result.shape}, not {shape}",
            where=user_line(),
            do="give an array of that shape",
        )
    return result


def _converted(value: Any, term: Op) -> Array:
    if isinstance(value, np.ma.MaskedArray) and value.mask.any():
        raise ComputationError(
            f"the value for {describe(term, 1)} cannot be taken: some of its elements are masked",
            where=user_line(),
            do="fill these, `array.filled(number)`",
        )
    try:
        if type(value) in _WEAK and kind_of(term.dtype) in _WEAK[type(value)]:
            return np.asarray(value, term.dtype)
        array = np.asarray(value)
        if not can_cast(array.dtype, term.dtype, "same_kind"):
            raise TypeError(f"{array.dtype} does not cast to {term.dtype}")
        array = np.asarray(array, term.dtype, order="C")
        return array if array.flags.aligned else array.copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise ComputationError(
            f"the value for {describe(term, 1)} cannot be taken: {error}",
            where=user_line(),
            do=f"give an array that casts to {term.dtype}",
        ) from error


def check_output(array: Any, term: Op, shape: tuple[int, ...]) -> Array:
    """An array given as ``out=``, if the result can be written straight into it.

    Raises:
        ComputationError: if it is not a writeable row-major array of that dtype and shape.
    """
    fits = isinstance(array, np.ndarray) and array.dtype == term.dtype and array.shape == shape
    if not fits or not array.flags.carray:
        found = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ComputationError(
            f"out for {describe(term, 1)} is {found}",
            where=user_line(),
            do=f"give a writeable row-major array of {term.dtype} and shape {shape}",
        )
    return array  # type: ignore[no-any-return]


def refuse_overlaps(arrays: Iterable[Array]) -> None:
    """Two results in one piece of memory would overwrite each other.

    Raises:
        ComputationError: if any two of these row-major arrays share memory.
    """
    stretches = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays if a.nbytes)
    if any(end > start for (_, end), (start, _) in zip(stretches, stretches[1:], strict=False)):
        raise ComputationError("two arrays in out share memory", where=user_line(), do="give each result its own")


def in_order(
    inputs: Sequence[Op], args: Sequence[Any], feed_dict: Mapping[Op, Any] | None, others: Iterable[str] = ()
) -> list[Any]:
    """The values of a call, one for each input.

    Args:
        others: Names that the call was given values by, which are none of its parameters.

    Raises:
        ComputationError: for too many or too few, for both kinds at once, or others.
    """
    if others:
        what = f"a call takes nothing by the name {', '.join(others)}"
        do = "give values in order, or feed_dict={placeholder: value, ...}"
        raise ComputationError(what, where=user_line(), do=do)
    if feed_dict is None:
        if len(args) != len(inputs):
            names = ", ".join(describe(p, 1) for p in inputs) or "none"
            raise ComputationError(
                f"{len(args)} arguments for {len(inputs)} inputs", where=user_line(), do=f"inputs: {names}"
            )
        return list(args)
    if not isinstance(feed_dict, Mapping):
        raise ComputationError(
            f"feed_dict is a {type(feed_dict).__name__}", where=user_line(), do="give {placeholder: value, ...}"
        )
    if args:
        raise ComputationError("both arguments and feed_dict", where=user_line(), do="give one of the two")
    known = set(inputs)
    extra = [k for k in feed_dict if k not in known]
    missing = [p for p in inputs if p not in feed_dict]
    if extra or missing:
        what = ", ".join([f"{_name(k)} is no input" for k in extra] + [f"{_name(p)} is missing" for p in missing])
        raise ComputationError(f"feed_dict: {what}", where=user_line(), do="give {placeholder: value, ...}")
    return [feed_dict[p] for p in inputs]


def checked_inputs(terms: Iterable[Op], inputs: Sequence[Op | str]) -> list[Op]:
    """The placeholders listed as inputs of a computation of these terms, arguments first.

    Raises:
        ComputationError: if one is no placeholder or listed twice, or one that is needed is not listed.
    """
    needed = [t for t in terms if t.definition.name == "core.placeholder"]
    if len(inputs) == 1 and isinstance(inputs[0], str) and inputs[0] == "all":
        return list({p.attribute("uid"): p for p in needed}.values())
    for p in inputs:
        if not isinstance(p, Op) or p.definition.name != "core.placeholder":
            raise ComputationError(
                f"{_name(p)} is no placeholder", where=user_line(), do="variables are read from the transformer's state"
            )
    listed = {p.attribute("uid") for p in inputs if isinstance(p, Op)}
    if len(listed) != len(inputs):
        raise ComputationError("a placeholder is listed twice among the inputs", where=user_line())
    missing = [p for p in needed if p.attribute("uid") not in listed]
    if missing:
        raise ComputationError(
            f"the placeholder {_name(missing[0])} is needed and is not among the inputs",
            where=missing[0].info.place,
            do='list it, or write computation(returns, "all")',
        )
    return [p for p in inputs if isinstance(p, Op)]


def _name(thing: Any) -> str:
    return describe(thing, 1) if isinstance(thing, Op) else repr(thing)
