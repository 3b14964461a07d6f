# SPDX-License-Identifier: Apache-2.0
"""Running values of any associative function: pairs are put together, then pairs of pairs, so that few steps are deep.

What a scan does one step after the other takes as many steps here as the length has bits, each of whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import flip, moveaxis
from ngraph_rewrite.frontend.numpy.operands import apply, positional
from ngraph_rewrite.frontend.structures import Structure, flat, flat_as, like
from ngraph_rewrite.ops.checks import flag, position
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

Combine = Callable[[list[Op], list[Op]], list[Op]]


def associative_scan(
    function: Callable[[Structure, Structure], Structure], elements: Structure, reverse: bool = False, axis: int = 0
) -> Structure:
    """What an associative function makes of all elements up to each one along an axis: running sums of any kind.

    A recurrence ``h[t] = a[t] * h[t - 1] + b[t]`` is one of pairs: it takes about twice the work of a scan, in some
    large steps instead of many small ones.

    Args:
        function: From what is before and what comes next, each in the structure of the elements, to both together. It
            is called with parts along the axis, of several elements at once, and has to treat each by itself.
        elements: A term or an array, or a tuple, list or dict of such, whose known lengths along the axis are equal.
        reverse: Whether it runs from the last element to the first: what comes next is what stands before.

    Raises:
        ArgumentError: if there are no elements, or the function gives another structure.
        AxesError, DTypeError: for different lengths, or if the function changes a shape or a dtype.
        LengthError: for an unknown length.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> def both(before, after):
    ...     (a, b), (c, d) = before, after
    ...     return a * c, b * c + d
    >>> decay, inputs = ng.numpy.full((4,), 0.5), ng.placeholder((4,), name="inputs")
    >>> _, h = ng.numpy.associative_scan(both, (decay, inputs))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(h, inputs)([1, 1, 1, 1])
    array([1.   , 1.5  , 1.75 , 1.875], dtype=float32)
    """
    function_of("associative_scan", function, "function")
    backwards = checked("associative_scan", flag, reverse, "reverse")
    terms, place = _first_axis(elements, axis)
    terms = [flip(t, axis=0) for t in terms] if backwards else terms

    def combine(before: list[Op], after: list[Op]) -> list[Op]:
        found = function(like(elements, before), like(elements, after))
        return _kept(flat_as("associative_scan: what the function gives", elements, found), after)

    found = _running(combine, terms)
    found = [flip(t, axis=0) for t in found] if backwards else found
    return like(elements, [moveaxis(t, 0, k) for t, k in zip(found, place, strict=True)])


def _first_axis(elements: Structure, axis: int) -> tuple[list[Op], list[int]]:
    """The elements with the axis first, and where it was in each."""
    terms = [positional("associative_scan", x) for x in flat(elements)]
    if not terms:
        raise ArgumentError("associative_scan: there are no elements", where=user_line(), do="give an array")
    place = [checked("associative_scan", position, axis, t.rank) for t in terms]
    lengths = {t.shape[k] for t, k in zip(terms, place, strict=True)}
    if len(lengths) > 1:
        what = f"associative_scan: the lengths along the axis are {', '.join(map(str, lengths))}"
        raise AxesError(what, where=user_line(), do="give elements of one length")
    checked("associative_scan", known_length, lengths.pop(), "the axis")
    return [moveaxis(t, k, 0) for t, k in zip(terms, place, strict=True)], place


def _running(combine: Combine, terms: list[Op]) -> list[Op]:
    """Pairs together give every other result; with the element after it, each gives the next one (Blelloch 1990)."""
    count = _length(terms[0])
    if count < 2:
        return terms
    odd = _running(combine, combine(_every_other(terms, 0, count - 1), _every_other(terms, 1, count)))
    if count == 2:
        return [concat([t[:1], o]) for t, o in zip(terms, odd, strict=True)]
    before = odd if count % 2 else [o[:-1] for o in odd]
    even = combine(before, _every_other(terms, 2, count))
    even = [concat([t[:1], e]) for t, e in zip(terms, even, strict=True)]
    return [_interleaved(e, o) for e, o in zip(even, odd, strict=True)]


def _length(x: Op) -> int:
    length = x.shape[0]
    assert isinstance(length, int)  # it was asked for at first
    return length


def _every_other(terms: Sequence[Op], start: int, stop: int) -> list[Op]:
    return [t[start:stop:2] for t in terms]


def _interleaved(even: Op, odd: Op) -> Op:
    """The elements of two arrays by turns, of which the first may have one more."""
    pairs, rest = _length(odd), even.shape[1:]
    both = [apply("expand_dims", t[:pairs], axis=1) for t in (even, odd)]
    found = apply("reshape", concat(both, axis=1), shape=(2 * pairs, *rest))
    return concat([found, even[pairs:]]) if even.shape[0] != pairs else found


def _kept(found: Sequence[Any], after: Sequence[Op]) -> list[Op]:
    """Results as terms, which are what the elements are."""
    terms = [positional("associative_scan", x) for x in found]
    for new, old in zip(terms, after, strict=True):
        if new.type != old.type:
            what = f"associative_scan: the function makes {new.type!r} of {old.type!r}"
            if new.axes == old.axes:
                raise DTypeError(what, where=user_line(), do="cast what is promoted")
            raise AxesError(what, where=user_line(), do="keep shapes")
    return terms
