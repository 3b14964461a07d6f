# SPDX-License-Identifier: Apache-2.0
"""What one op does to each of many tensors that lie along a new first axis, as terms that do all of them at once.

The tensors are the *batch*; a term that holds them is *batched*. An op that works on each element, row or window by
itself does so with one axis more; of an op that takes one axis of matrices or images, that axis and the batch become
one. An operand that is the same for all is spread along the batch, unless the op takes it as it is: the product with
one matrix is one product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ngraph_rewrite.lowering.batch import Batch, Form, Operand, whole
from ngraph_rewrite.lowering.batched_places import gather, scattered, searchsorted
from ngraph_rewrite.terms.op import Op


def batched(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    """The term that holds what `term` is for each of a batch of operands, of which not all are the same.

    >>> from ngraph_rewrite.frontend.axes import placeholder
    >>> from ngraph_rewrite.terms.bank import TermBank
    >>> from ngraph_rewrite.terms.making import make_op
    >>> x, rows = placeholder((3, 2)), placeholder((5, 3, 2))
    >>> batched(make_op("semi.sum", x, axes=(1,)), [(rows, False)], Batch(5, TermBank())).type
    float32[5, 3]
    """
    return _FORMS.get(term.definition.name, _elementwise)(term, operands, batch)


def has_form(term: Op, varies: Sequence[bool]) -> bool:
    """Whether `batched` knows a term, given which of its operands are not the same for all."""
    name = term.definition.name
    alone = _ALONE.get(name)
    if alone is not None:
        return not any(v for place, v in enumerate(varies) if place != alone)
    return name in _FORMS or ("elementwise" in term.definition.traits and term.definition.kin == "semi")


def _elementwise(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    return batch.again(term, *whole(operands, batch))


def _unchanged(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    """Names are forgotten already: what strips or labels is nothing."""
    return operands[0][0]


# -- one axis more -----------------------------------------------------------------------------------------------------


def _along(*names: str) -> Form:
    """Attributes that name axes, one or several."""

    def form(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
        return batch.again(term, *whole(operands, batch), **{name: _later(term.attribute(name)) for name in names})

    return form


def _later(axes: Any) -> Any:
    return tuple([axis + 1 for axis in axes]) if isinstance(axes, tuple) else axes + 1


def _and_first(**values: Any) -> Form:
    """Attributes with something for each axis, and what the batch has there: None stands for its length."""

    def form(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
        changed = {
            name: (batch.length if value is None else value, *_axes_or(term, name)) for name, value in values.items()
        }
        return batch.again(term, *whole(operands, batch), **changed)

    return form


def _axes_or(term: Op, name: str) -> Any:
    value = term.attribute(name)
    return _later(value) if name in ("perm", "places") else value


def _broadcast(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    shape, dims = (batch.length, *term.shape), (0, *_later(term.attribute("dims")))
    return batch.again(term, operands[0][0], shape=shape, dims=dims)


# -- one axis for both -------------------------------------------------------------------------------------------------


def _merged(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    """The batch and the first axis as one, of all operands."""
    found = batch.again(term, *(batch.joined(x) for x in whole(operands, batch)))
    return batch.shaped(found, (batch.length, *term.shape))


def _sums(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    """The same where real parts of what is found stand before imaginary ones."""
    if term.attribute("real"):
        return _merged(term, operands, batch)
    found = batch.again(term, *(batch.joined(x) for x in whole(operands, batch)))
    return batch.turned(batch.shaped(found, (2, batch.length, *term.shape[1:])), 1, 0, 2, 3, 4)


def _images(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    """Of the first operand only, as the filters are the same for all."""
    (x, _), (w, _) = operands
    return batch.shaped(batch.again(term, batch.joined(x), w), (batch.length, *term.shape))


# -- products ----------------------------------------------------------------------------------------------------------


def _dot(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    """With a matrix that is the same for all, one product."""
    (x, x_same), (y, y_same) = operands
    n, (rows, columns) = batch.length, term.shape
    if y_same:
        found = batch.made("semi.dot", batch.joined(x), y)
        return batch.shaped(found, (n, rows, columns))
    if x_same:
        across = batch.joined(batch.turned(y, 0, 2, 1))
        found = batch.made("semi.dot", across, batch.turned(x, 1, 0))
        return batch.turned(batch.shaped(found, (n, columns, rows)), 0, 2, 1)
    return batch.made("semi.batch_dot", x, y)


def total_of_products(x: Op, y: Op, batch: Batch) -> Op:
    """The sum of the products of a batch of matrices, as one product.

    Args:
        x, y: Both batched.
    """
    below = batch.joined(batch.turned(x, 0, 2, 1))  # often a transpose of what there is
    return batch.made("semi.dot", batch.turned(below, 1, 0), batch.joined(y))


_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("core.strip", "core.label"), _unchanged),
    **dict.fromkeys((f"semi.{name}" for name in "sum prod max min any all argmax argmin".split()), _along("axes")),
    **dict.fromkeys((f"semi.{name}" for name in "cumsum cumprod cummax cummin recurrence".split()), _along("axis")),
    **dict.fromkeys((f"semi.{name}" for name in "sort argsort concat".split()), _along("axis")),
    **dict.fromkeys((f"semi.{name}" for name in "take_along add_along put_along".split()), _along("axis")),
    **dict.fromkeys(("semi.windows", "semi.fold"), _along("axes")),
    **dict.fromkeys(("cpu.unpooling", "cuda.unpooling", "cuda.pooling"), _along("axes")),
    "cpu.first_places": _along("axis"),
    "cpu.chosen_places": _and_first(),
    "cpu.middle_elements": _and_first(),
    "semi.reshape": _and_first(shape=None),
    "semi.transpose": _and_first(perm=0),
    "semi.slice": _and_first(starts=0, stops=None, steps=1),
    "semi.update": _and_first(starts=0, stops=None, steps=1),
    "semi.pad": _and_first(before=0, after=0, interior=0),
    "semi.diagonal": _and_first(places=0),
    "semi.on_diagonal": _and_first(places=0),
    "semi.copy": _elementwise,
    "semi.broadcast": _broadcast,
    **dict.fromkeys(
        (f"semi.{name}" for name in "cholesky lu qr triangular_solve eigh eigvalsh svd svdvals batch_dot".split()),
        _merged,
    ),
    **dict.fromkeys(("fused.mixture", "fused.attention"), _merged),
    **dict.fromkeys(("cpu.convolution", "cpu.convolution_of_quads", "cuda.convolution"), _images),
    "cpu.fourier": _sums,
    "semi.dot": _dot,
    "semi.gather": gather,
    "semi.scatter_add": scattered("semi.add_along"),
    "semi.scatter": scattered("semi.put_along"),
    "semi.searchsorted": searchsorted,
}
# Ops of which only one operand may differ.
_ALONE = {"cpu.convolution": 0, "cpu.convolution_of_quads": 0, "cuda.convolution": 0, "semi.searchsorted": 1}
