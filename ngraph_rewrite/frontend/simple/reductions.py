# SPDX-License-Identifier: Apache-2.0
"""Reductions, the product of features, softmax and the cross entropies.

A reduction is told the axes to reduce (`axes`: features by number, `N`, `R`) or those to keep (`keep`). Told
neither, it reduces the features: N and R stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.result_dtypes import PLACES, SUMMING, with_dtype
from ngraph_rewrite.frontend.simple.operands import Array, Keys, apply, as_term, documented, reduced
from ngraph_rewrite.ops.simple_marks import Marker, together
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType

_ARGUMENTS = (
    "Args:\n    axes: The axes to reduce: features by number, N, R; by default all features.\n"
    "    keep: Instead, the axes to keep; ``()`` keeps none.\n\n"
    "Raises:\n    UnmatchedAxesError: if `x` has no such axis.\n"
    "    OutOfRangeError: for a number beyond the features.\n"
    "    AttributeValueError: for an axis given twice, or both `axes` and `keep`.\n\n"
)


def _reduction(name: str) -> Callable[..., Op]:
    def function(x: Array, axes: Keys | None = None, keep: Keys | None = None) -> Op:
        term = as_term(x)
        return apply(name, term, axes=reduced(name, term.type, axes, keep))

    documented(function, name, "x", "float32", _ARGUMENTS)
    function.__doc__ = (function.__doc__ or "").replace(f"\nsimple.{name}(x)\n", f"\nsimple.{name}(x, axes=(0,))\n")
    return function


def _typed_reduction(name: str) -> Callable[..., Op]:
    """A reduction that takes a dtype, too."""
    plain, call = _reduction(name), f"simple.{name}"

    def function(x: Array, axes: Keys | None = None, keep: Keys | None = None, dtype: Any = None) -> Op:
        return with_dtype(call, as_term(x), dtype, lambda term: plain(term, axes, keep))

    function.__name__ = function.__qualname__ = name
    what = "What it is computed in: elements are cast to it first" if name in SUMMING else "That of the result"
    more = f"    dtype: {what}{', an integer one' if name in PLACES else ''}.\n\nRaises:\n"
    more += "    DTypeError: for another dtype.\n"
    function.__doc__ = (plain.__doc__ or "").replace("\n\nRaises:\n", f"\n{more}")
    return function


L1_norm = _reduction("L1_norm")
all = _reduction("all")
any = _reduction("any")
argmax = _typed_reduction("argmax")
argmin = _typed_reduction("argmin")
logsumexp = _reduction("logsumexp")
max = _typed_reduction("max")
mean = _typed_reduction("mean")
min = _typed_reduction("min")
prod = _typed_reduction("prod")
softmax = _reduction("softmax")
squared_L2 = _reduction("squared_L2")
sum = _typed_reduction("sum")
variance = _reduction("variance")


def L2_norm(x: Array, axes: Keys | None = None, keep: Keys | None = None, eps: float = 0.0) -> Op:
    """The square root of the sum of squares plus `eps`; axes are chosen as in `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.L2_norm(ng.simple.placeholder((3, ng.simple.N))).type
    float32[sample:N]
    """
    term = as_term(x)
    return apply("L2_norm", term, axes=reduced("L2_norm", term.type, axes, keep), eps=eps)


def dot(x: Array, y: Array) -> Op:
    """The sum of products over the last feature of `x` and the first of `y`; `x @ y` builds the same.

    The other features follow, those of `x` first. N and R are carried; where both operands have one, the product is
    taken for each sample or step by itself.

    Raises:
        AxesError: if the two features do not have one length, or an operand has none.
        IncompatibleAxesError: if N or R has two lengths.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> w, x = ng.simple.variable((10, 28)), ng.simple.placeholder((28, ng.simple.N))
    >>> ng.simple.dot(w, x).type
    float32[10, sample:N]
    """
    return apply("dot", x, y)


def tensordot(
    x: Array, y: Array, left: Iterable[int], right: Iterable[int], over: Marker | Iterable[Marker] = ()
) -> Op:
    """The sum of products over pairs of features, and over N or R: what other products are made of.

    Args:
        left: The numbers of features of `x`.
        right: The features of `y` they are paired with.
        over: N, R or both, to be summed over too; those that are not are carried.

    Raises:
        AxesError: if paired features have different lengths.
        UnmatchedAxesError: if neither operand has what is summed over.

    >>> import ngraph_rewrite as ng
    >>> d, x = ng.simple.placeholder((10, ng.simple.N)), ng.simple.placeholder((28, ng.simple.N))
    >>> ng.simple.tensordot(d, x, [], [], over=ng.simple.N).type
    float32[10, 28]
    """
    summed = (over,) if isinstance(over, Marker) else tuple(over)
    return apply("tensordot", x, y, left=tuple(left), right=tuple(right), over=summed)


def cross_entropy_multi(
    y: Array, t: Array, usebits: bool = False, axes: Keys | None = None, keep: Keys | None = None
) -> Op:
    """Minus the sum of ``t * log(y)``, with 0 log 0 = 0: how badly the probabilities `y` predict the classes `t`.

    The cross entropy of a softmax is recognized: it is exact however certain the softmax is.

    Args:
        y: Probabilities.
        t: The target's probabilities, such as `one_hot` makes.
        usebits: Measure in bits instead of nats.
        axes: The axes to sum over; by default all features.
        keep: Instead, the axes to keep.

    Raises:
        AxesError: if the features of `y` and `t` differ.

    >>> import ngraph_rewrite as ng
    >>> y, t = ng.simple.placeholder((10, ng.simple.N)), ng.simple.placeholder((10, ng.simple.N))
    >>> ng.simple.cross_entropy_multi(ng.simple.softmax(y), t).type
    float32[sample:N]
    """
    return _cross_entropy("cross_entropy_multi", y, t, usebits, axes, keep)


def cross_entropy_binary(
    y: Array, t: Array, usebits: bool = False, axes: Keys | None = None, keep: Keys | None = None
) -> Op:
    """Minus the sum of ``t * log(y) + (1 - t) * log(1 - y)``, with 0 log 0 = 0. That of a sigmoid is recognized.

    Arguments and errors are those of `cross_entropy_multi`.

    >>> import ngraph_rewrite as ng
    >>> y, t = ng.simple.placeholder((10, ng.simple.N)), ng.simple.placeholder((10, ng.simple.N))
    >>> ng.simple.cross_entropy_binary(ng.simple.sigmoid(y), t).type
    float32[sample:N]
    """
    return _cross_entropy("cross_entropy_binary", y, t, usebits, axes, keep)


def _cross_entropy(name: str, y: Array, t: Array, usebits: bool, axes: Keys | None, keep: Keys | None) -> Op:
    prediction, target = as_term(y), as_term(t)
    both = TensorType(prediction.dtype, checked(name, together, prediction.axes, target.axes))
    return apply(name, prediction, target, axes=reduced(name, both, axes, keep), usebits=usebits)


__all__ = [
    "L1_norm", "L2_norm", "all", "any", "argmax", "argmin", "cross_entropy_binary", "cross_entropy_multi", "dot",
    "logsumexp", "max", "mean", "min", "prod", "softmax", "squared_L2", "sum", "tensordot", "variance",
]  # fmt: skip
