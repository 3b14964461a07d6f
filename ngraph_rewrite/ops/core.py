# SPDX-License-Identifier: Apache-2.0
"""The ops every family shares: leaves, the two coercions, and effects."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, DTypeError, SequencingError, UnmatchedAxesError
from ngraph_rewrite.ops.checks import flag, identity
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import BOOL, DType, as_dtype
from ngraph_rewrite.types.lengths import known
from ngraph_rewrite.types.tensor import TensorType


def _first(term: Op, *values: Any) -> Any:
    return values[0]


def _constant(term: Op) -> Any:
    return term.attribute("value").array(tuple(known(n) for n in term.shape))


# -- leaves -----------------------------------------------------------------------------------------


@op("core.constant", "source", meaning=_constant)
def constant(*, value: Literal, axes: Axes) -> TensorType:
    """An immutable value."""
    if not isinstance(value, Literal) or not isinstance(axes, Axes):
        raise AttributeValueError(f"value is {value!r}, axes is {axes!r}", do="give a Literal and Axes")
    if value.scalar is None:
        value.array(tuple(known(n, "a length of a constant array") for n in axes.lengths))
    return TensorType(value.dtype, axes)


def _storage(*, uid: Any, axes: Any, dtype: Any, **flags: Any) -> Attributes:
    """The attributes of a leaf: its identity and type, and what else is true or false of it."""
    own = {"uid": identity(uid), "axes": Axes(axes), "dtype": as_dtype(dtype)}
    return {**own, **{name: flag(value, name) for name, value in flags.items()}}


@op("core.placeholder", "source", normalise=_storage)
def placeholder(*, uid: Uid, axes: Axes, dtype: DType) -> TensorType:
    """A value supplied by every call of a computation."""
    return TensorType(dtype, axes)


@op("core.variable", "source", "storage", normalise=_storage)
def variable(*, uid: Uid, axes: Axes, dtype: DType, trainable: bool, scratch: bool) -> TensorType:
    """Storage of the transformer: kept between calls unless it is scratch."""
    return TensorType(dtype, axes)


# -- coercions: a family forgets names, another restores them ---------------------------------------


@op("core.strip", "view", meaning=_first)
def strip(x: TensorType) -> TensorType:
    """`x` without names and roles: its axes become anonymous."""
    return x.stripped()


@op("core.label", "view", meaning=_first)
def label(x: TensorType, *, axes: Axes) -> TensorType:
    """`x` with its axes, position by position, given these names and roles."""
    if not isinstance(axes, Axes):
        raise AttributeValueError(f"axes is {axes!r}", do="give Axes")
    if x.shape != axes.lengths:
        raise UnmatchedAxesError(f"label: {x!r} does not have the lengths of {axes!r}")
    return x.with_axes(axes)


@op("core.stop_gradient", "view", meaning=_first)
def stop_gradient(x: TensorType) -> TensorType:
    """`x`, through which no derivative passes."""
    return x


@op("core.value_of", "view", meaning=_first)
def value_of(x: TensorType) -> TensorType:
    """A copy of `x` as it is at this place in a sequence."""
    return x


# -- effects ----------------------------------------------------------------------------------------


@op("core.assign", "effect")
def assign(target: TensorType, value: TensorType, *, uid: Uid) -> TensorType:
    """Store `value` in the variable `target`; its value is what was stored."""
    identity(uid)
    if target != value:
        error = DTypeError if value.dtype != target.dtype else UnmatchedAxesError
        raise error(f"assign: the value is {value!r}, the variable {target!r}", do="cast or broadcast the value")
    return target


@op("core.after", "effect", meaning=_first)
def after(x: TensorType, *effects: TensorType) -> TensorType:
    """`x`, once the effects have run. Nothing is rewritten across it."""
    return x


@op("core.sequential", "effect", meaning=lambda term, *values: values[-1])
def sequential(*items: TensorType) -> TensorType:
    """Run the items in order, each handle once; the value is that of the last."""
    if not items:
        raise SequencingError("sequential needs at least one op")
    return items[-1]


@op("core.doall", "effect", meaning=lambda term, *values: np.bool_(True))
def doall(*effects: TensorType) -> TensorType:
    """Run all the effects, in no particular order. It has no value."""
    return TensorType(BOOL)
