# SPDX-License-Identifier: Apache-2.0
"""The semi family as functions: anonymous axes, equal dtypes and shapes, nothing broadcast or promoted.

This is what every other family is lowered to, and what targets compute. Write it directly where names would be in
the way; ``strip`` and ``label`` lead in and out. Each function takes what the op of its name in `ngraph_rewrite.ops`
takes; a Python number beside a term takes the dtype and shape of the term.

>>> import ngraph_rewrite as ng
>>> x = ng.placeholder(ng.anonymous([2, 3]), name="x")
>>> ng.semi.tanh(ng.semi.multiply(x, 2.0))
semi.tanh(semi.multiply(x, 2.0))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ngraph_rewrite.frontend.building import Operand, apply, condition_of
from ngraph_rewrite.frontend.scan import positional_scan as scan  # noqa: F401  (a function of this family)
from ngraph_rewrite.frontend.semi_factors import (  # noqa: F401
    cholesky,
    det_sign,
    logdet,
    lu,
    qr,
    solve,
    triangular_solve,
)
from ngraph_rewrite.frontend.semi_fourier import fourier  # noqa: F401
from ngraph_rewrite.frontend.semi_indices import (  # noqa: F401
    add_along,
    put_along,
    scatter,
    scatter_add,
    take_along,
)
from ngraph_rewrite.frontend.semi_memory import allocate, copy, transfer  # noqa: F401
from ngraph_rewrite.frontend.semi_more import (  # noqa: F401
    argsort,
    batch_dot,
    cummax,
    cummin,
    cumprod,
    cumsum,
    diagonal,
    on_diagonal,
    recurrence,
    searchsorted,
    sort,
)
from ngraph_rewrite.frontend.semi_spectra import eigh, eigvalsh, pinv, svd, svdvals  # noqa: F401
from ngraph_rewrite.frontend.semi_windows import convolution, fold, pooling, windows  # noqa: F401
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent

Shape = Iterable[Extent]
Function = TypeVar("Function", bound=Callable[..., Op])


def _unary(short: str) -> Callable[[Operand], Op]:
    def function(x: Operand) -> Op:
        return apply(f"semi.{short}", x)

    return _named(function, short)


def _binary(short: str) -> Callable[[Operand, Operand], Op]:
    def function(x: Operand, y: Operand) -> Op:
        return apply(f"semi.{short}", x, y)

    return _named(function, short)


def _reduction(short: str) -> Callable[[Operand, Iterable[int] | int], Op]:
    def function(x: Operand, axes: Iterable[int] | int) -> Op:
        return apply(f"semi.{short}", x, axes=axes)

    return _named(function, short)


def _named(function: Function, short: str) -> Function:
    """The function under its op's name, with its op's documentation."""
    function.__name__ = function.__qualname__ = short
    function.__doc__ = lookup(f"semi.{short}").doc
    return function


# -- elementwise --------------------------------------------------------------------------------------

negative = _unary("negative")
absolute = _unary("absolute")
sign = _unary("sign")
square = _unary("square")
sqrt = _unary("sqrt")
reciprocal = _unary("reciprocal")
exp = _unary("exp")
expm1 = _unary("expm1")
log = _unary("log")
log1p = _unary("log1p")
sin = _unary("sin")
cos = _unary("cos")
tan = _unary("tan")
tanh = _unary("tanh")
sigmoid = _unary("sigmoid")
erf = _unary("erf")
erfinv = _unary("erfinv")
lgamma = _unary("lgamma")
digamma = _unary("digamma")
trigamma = _unary("trigamma")
floor = _unary("floor")
ceil = _unary("ceil")
round = _unary("round")
isnan = _unary("isnan")
isinf = _unary("isinf")
isfinite = _unary("isfinite")
logical_not = _unary("logical_not")
subtract = _binary("subtract")
divide = _binary("divide")
add = _binary("add")
multiply = _binary("multiply")
maximum = _binary("maximum")
minimum = _binary("minimum")
floordivide = _binary("floordivide")
mod = _binary("mod")
power = _binary("power")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
equal = _binary("equal")
not_equal = _binary("not_equal")
less = _binary("less")
less_equal = _binary("less_equal")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
log2 = _unary("log2")
log10 = _unary("log10")
cbrt = _unary("cbrt")
sinh = _unary("sinh")
cosh = _unary("cosh")
asin = _unary("asin")
acos = _unary("acos")
atan = _unary("atan")
asinh = _unary("asinh")
acosh = _unary("acosh")
atanh = _unary("atanh")
trunc = _unary("trunc")
signbit = _unary("signbit")
bitwise_invert = _unary("bitwise_invert")
atan2 = _binary("atan2")
hypot = _binary("hypot")
copysign = _binary("copysign")
nextafter = _binary("nextafter")
logaddexp = _binary("logaddexp")
bitwise_and = _binary("bitwise_and")
bitwise_or = _binary("bitwise_or")
bitwise_xor = _binary("bitwise_xor")
left_shift = _binary("left_shift")
right_shift = _binary("right_shift")
gamma_draw = _binary("gamma_draw")
poisson_draw = _binary("poisson_draw")
vonmises_draw = _binary("vonmises_draw")
zipf_draw = _binary("zipf_draw")


def binomial_draw(n: Operand, p: Operand, u: Operand) -> Op:
    """How many of `n` attempts succeed, each with probability `p`, from a uniform number `u`; all of one type."""
    return apply("semi.binomial_draw", n, p, u)


def select(c: Operand, x: Operand, y: Operand) -> Op:
    """`x` where the bool `c` is true, `y` elsewhere; `x` and `y` have one type, `c` its shape."""
    return apply("semi.select", condition_of("select", c), x, y)


def cast(x: Operand, dtype: Any) -> Op:
    """`x` in another dtype: floats are truncated to integers, bool is "not zero"."""
    return apply("semi.cast", x, dtype=dtype)


def bitcast(x: Operand, dtype: Any) -> Op:
    """The bits of `x` read as another dtype of the same width, as ``x.view(dtype)`` of NumPy does.

    >>> import ngraph_rewrite as ng
    >>> import numpy as np
    >>> numbers = ng.constant(np.float32([1, -2]), ng.anonymous([2]))
    >>> with ng.make_transformer("reference") as transformer:
    ...     transformer.computation(ng.semi.bitcast(numbers, "int32"))()
    array([ 1065353216, -1073741824], dtype=int32)
    """
    return apply("semi.bitcast", x, dtype=dtype)


# -- reductions and the matrix product, by positions ---------------------------------------------------

sum = _reduction("sum")
prod = _reduction("prod")
max = _reduction("max")
min = _reduction("min")
any = _reduction("any")
all = _reduction("all")
argmax = _reduction("argmax")
argmin = _reduction("argmin")
dot = _binary("dot")


# -- moving elements ----------------------------------------------------------------------------------


def broadcast(x: Operand, shape: Shape, dims: Iterable[int] = ()) -> Op:
    """`x` repeated to `shape`; ``dims[i]`` is the place of its axis i there. Lengths of 1 do not stretch."""
    return apply("semi.broadcast", x, shape=shape, dims=dims)


def update(x: Operand, value: Operand, starts: Shape, stops: Shape, steps: Iterable[int]) -> Op:
    """`x` with `value` at the positions ``range(start, stop, step)`` per axis, as `slice` takes them."""
    return apply("semi.update", x, value, starts=starts, stops=stops, steps=steps)


def reshape(x: Operand, shape: Shape) -> Op:
    """The elements of `x` in row-major order, in another shape of the same size."""
    return apply("semi.reshape", x, shape=shape)


def transpose(x: Operand, perm: Iterable[int] | None = None) -> Op:
    """`x` with axis ``perm[i]`` moved to place i; by default in reverse."""
    term = as_op(x)
    return apply("semi.transpose", term, perm=tuple(range(term.rank))[::-1] if perm is None else perm)


def slice(x: Operand, starts: Shape, stops: Shape, steps: Iterable[int] | None = None) -> Op:
    """Per axis the positions ``range(start, stop, step)``; with a step < 0, stop -1 is "down to 0"."""
    term = as_op(x)
    step = (1,) * term.rank if steps is None else steps
    return apply("semi.slice", term, starts=starts, stops=stops, steps=step)


def tensor_slice(x: Operand, items: Any) -> Op:
    """NumPy basic indexing: integers drop their axis, slices of any step keep it. ``x[items]`` builds the same."""
    return apply("semi.tensor_slice", x, items=items)


def pad(x: Operand, before: Shape, after: Shape, interior: Shape | None = None, value: float = 0) -> Op:
    """`x` with `value` before, after and (`interior` times) between its elements, per axis."""
    term = as_op(x)
    gaps = (0,) * term.rank if interior is None else interior
    return apply("semi.pad", term, before=before, after=after, interior=gaps, value=value)


def concat(xs: Iterable[Operand], axis: int = 0) -> Op:
    """The terms one after the other along `axis`; other lengths and dtypes are equal."""
    return apply("semi.concat", *xs, axis=axis)


def gather(x: Operand, indices: Operand, axis: int = 0) -> Op:
    """`x` at `indices` along `axis`, whose place their axes take; negative ones wrap, outside reads zeros."""
    return apply("semi.gather", as_op(x), as_op(indices), axis=axis)


# -- sources ------------------------------------------------------------------------------------------


def iota(shape: Shape, axis: int = 0, dtype: Any = "int64") -> Op:
    """The position along `axis`: 0, 1, 2, ...; a tensor of `shape`."""
    return apply("semi.iota", shape=shape, axis=axis, dtype=dtype)


def size(value: Extent, dtype: Any = "int64") -> Op:
    """A length as a scalar, such as ``x.shape[0]``: it may be known only when arguments are.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((None, 3))
    >>> with ng.make_transformer("reference") as transformer:
    ...     int(transformer.computation(ng.semi.size(x.shape[0]), x)([[1, 2, 3]] * 7))
    7
    """
    return apply("semi.size", value=value, dtype=dtype)


def uniform(shape: Shape, low: float = 0.0, high: float = 1.0, dtype: Any = None) -> Op:
    """Independent draws from [low, high), fresh in every call of a computation."""
    return apply("semi.uniform", shape=shape, low=low, high=high, dtype=dtype, uid=Uid())


def normal(shape: Shape, loc: float = 0.0, scale: float = 1.0, dtype: Any = None) -> Op:
    """Independent draws from the normal distribution of mean `loc` and standard deviation `scale`."""
    return apply("semi.normal", shape=shape, loc=loc, scale=scale, dtype=dtype, uid=Uid())
