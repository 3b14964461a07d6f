# SPDX-License-Identifier: Apache-2.0
"""Distribution functions by SciPy's names: incomplete gamma and beta functions of what a distribution is told by.

A name that ends in c is of the part that is above, one that ends in i is an inverse.
"""

from __future__ import annotations

from ngraph_rewrite.frontend.numpy.distribution_quantiles import betaincinv, gammainccinv
from ngraph_rewrite.frontend.numpy.elementwise import abs, copysign, floor, isnan, logical_and, sqrt, where
from ngraph_rewrite.frontend.numpy.incomplete_betas import betainc, betaincc
from ngraph_rewrite.frontend.numpy.incomplete_gammas import gammainc, gammaincc
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.special_operands import in_double
from ngraph_rewrite.terms.op import Op


def chdtr(v: Array, x: Array, /) -> Op:
    """The part of the distribution of chi square with `v` degrees of freedom that is below `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.chdtr(3.0, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("chdtr", lambda v, x: gammainc(v / 2, x / 2), v, x)


def chdtrc(v: Array, x: Array, /) -> Op:
    """The part of the distribution of chi square that is above `x`: how likely a sum of squares is as great.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.chdtrc(1.0, [3.841459, 6.634897]))().round(4)
    array([0.05, 0.01], dtype=float32)
    """
    return in_double("chdtrc", lambda v, x: gammaincc(v / 2, x / 2), v, x)


def chdtri(v: Array, p: Array, /) -> Op:
    """The number above which the part `p` of the distribution of chi square is.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.chdtri(3.0, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("chdtri", lambda v, p: 2 * gammainccinv(v / 2, p), v, p)


def gdtr(a: Array, b: Array, x: Array, /) -> Op:
    """The part of the gamma distribution of rate `a` and shape `b` that is below `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.gdtr(2.0, 3.0, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("gdtr", lambda a, b, x: gammainc(b, a * x), a, b, x)


def gdtrc(a: Array, b: Array, x: Array, /) -> Op:
    """The part of the gamma distribution of rate `a` and shape `b` that is above `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.gdtrc(2.0, 3.0, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("gdtrc", lambda a, b, x: gammaincc(b, a * x), a, b, x)


def pdtr(k: Array, m: Array, /) -> Op:
    """How likely a count of Poisson's distribution with mean `m` is to be at most `k`.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.pdtr([0, 1], 1.0))().round(6)
    array([0.367879, 0.735759])
    """
    return in_double("pdtr", lambda k, m: where(k < 0, 0.0, gammaincc(where(k < 0, 1.0, floor(k) + 1), m)), k, m)


def pdtrc(k: Array, m: Array, /) -> Op:
    """How likely a count of Poisson's distribution with mean `m` is to be above `k`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.pdtrc(2.0, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("pdtrc", lambda k, m: where(k < 0, 1.0, gammainc(where(k < 0, 1.0, floor(k) + 1), m)), k, m)


def bdtr(k: Array, n: Array, p: Array, /) -> Op:
    """How likely at most `k` of `n` trials succeed, each with the probability `p`.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.bdtr([0.0, 1.0, 2.0], 2.0, 0.5))()
    array([0.25, 0.75, 1.  ], dtype=float32)
    """
    return in_double("bdtr", lambda k, n, p: _of_trials(k, n, p, above=False), k, n, p)


def bdtrc(k: Array, n: Array, p: Array, /) -> Op:
    """How likely more than `k` of `n` trials succeed, each with the probability `p`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.bdtrc(2, 5, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("bdtrc", lambda k, n, p: _of_trials(k, n, p, above=True), k, n, p)


def fdtr(dfn: Array, dfd: Array, x: Array, /) -> Op:
    """The part of the F distribution of `dfn` and `dfd` degrees of freedom that is below `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.fdtr(3.0, 5.0, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("fdtr", lambda n, m, x: _of_ratio(n / 2, m / 2, n * x, m)[0], dfn, dfd, x)


def fdtrc(dfn: Array, dfd: Array, x: Array, /) -> Op:
    """The part of the F distribution of `dfn` and `dfd` degrees of freedom that is above `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.fdtrc(3.0, 5.0, ng.placeholder((3,))).type
    float32[3]
    """
    return in_double("fdtrc", lambda n, m, x: _of_ratio(n / 2, m / 2, n * x, m)[1], dfn, dfd, x)


def stdtr(df: Array, t: Array, /) -> Op:
    """The part of Student's t distribution of `df` degrees of freedom that is below `t`.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.stdtr(1.0, [-1.0, 0.0, 1.0]))()
    array([0.25, 0.5 , 0.75], dtype=float32)
    """

    def formula(df: Op, t: Op) -> Op:
        tail = _of_ratio(0.5, df / 2, t * t, df)[1] / 2
        return where(isnan(t), t, where(t < 0, tail, 1 - tail))

    return in_double("stdtr", formula, df, t)


def stdtrit(df: Array, p: Array, /) -> Op:
    """The number below which the part `p` of Student's t distribution is: the inverse of `stdtr`.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.stdtrit(10.0, [0.5, 0.975]))().round(4)
    array([0.    , 2.2281], dtype=float32)
    """

    def formula(df: Op, p: Op) -> Op:
        tail = where(p < 0.5, p, 1 - p)
        near = tail > 0.25
        share = where(near, 1 - 2 * tail, 2 * tail)
        found = betaincinv(where(near, 0.5, df / 2), where(near, df / 2, 0.5), share)
        size = sqrt(df * where(near, found / (1 - found), (1 - found) / found))
        return copysign(size, p - 0.5)

    return in_double("stdtrit", formula, df, p)


def _of_ratio(a: Op | float, b: Op, x: Op, y: Op) -> tuple[Op, Op]:
    """The parts of a beta distribution that are below and above ``x / (x + y)``, by the smaller one of two shares."""
    near = x < y
    operands = where(near, a, b), where(near, b, a), where(near, x, y) / (x + y)
    part, rest = betainc(*operands), betaincc(*operands)
    return where(near, part, rest), where(near, rest, part)


def _of_trials(k: Op, n: Op, p: Op, above: bool) -> Op:
    whole, none = floor(k), 1.0 if above else 0.0
    some = logical_and(whole >= 0, whole < n)
    first, second = where(some, n - whole, 1.0), where(some, whole + 1, 1.0)
    found = betaincc(first, second, 1 - p) if above else betainc(first, second, 1 - p)
    edge = where(whole < 0, none, where(whole >= n, 1 - none, abs(k) + n))
    return where(some, found, edge)
