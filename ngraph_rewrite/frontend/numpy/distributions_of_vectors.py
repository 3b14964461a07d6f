# SPDX-License-Identifier: Apache-2.0
"""Random vectors whose elements depend on each other."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.counts import attempts, fitting, succeeded
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import where
from ngraph_rewrite.frontend.numpy.equations import cholesky
from ngraph_rewrite.frontend.numpy.gamma_distributions import gamma_logarithms, in_double
from ngraph_rewrite.frontend.numpy.joining import stack
from ngraph_rewrite.frontend.numpy.linear_algebra import matrix_transpose
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to, reshape
from ngraph_rewrite.frontend.numpy.network import softmax
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.padding import pad
from ngraph_rewrite.frontend.numpy.random_parameters import Size, check_positive, check_probability, known, wanted
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import extents, listed
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, as_dtype


def multivariate_normal(mean: Array, cov: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Vectors of the normal distribution of a mean (..., n) and a covariance (..., n, n), which is positive definite.

    Args:
        size: How many, before the axes that `mean` and `cov` have in front.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.multivariate_normal(ng.placeholder((3,)), ng.placeholder((3, 3)), 5).type
    float32[5, 3]
    """
    center, matrix = as_term(mean), as_term(cov)
    if center.rank < 1 or matrix.rank < 2 or matrix.shape[-2:] != (center.shape[-1],) * 2:
        what = f"multivariate_normal: a mean {center.type!r} and a covariance {matrix.type!r}"
        raise AxesError(what, where=user_line(), do="give (..., n) and (..., n, n)")
    more = () if size is None else checked("multivariate_normal", extents, listed(size))
    asked = wanted("multivariate_normal", None, dtype, center, matrix[..., 0])
    center, _ = asked.parameters
    factor = cholesky(astype(matrix, asked.inner))
    vectors = asked._replace(shape=(*more, *asked.shape)).normal()
    return asked.result((vectors[..., None, :] @ matrix_transpose(factor))[..., 0, :] + center)


def dirichlet(alpha: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Vectors (..., k) whose elements add up to 1, of the Dirichlet distribution of a concentration (..., k).

    Args:
        alpha: Numbers above 0. A derivative passes to a term.
        size: How many, before the axes that `alpha` has in front.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.dirichlet([0.5, 0.5, 2.0], 4).type
    float32[4, 3]
    """
    check_positive("dirichlet", zero=False, alpha=alpha)
    weights = as_term(alpha)
    if weights.rank < 1:
        raise AxesError("dirichlet: alpha is one number", where=user_line(), do="give a vector, of one for each part")
    more = () if size is None else checked("dirichlet", extents, listed(size))
    asked = wanted("dirichlet", (*more, *weights.shape), dtype, weights)
    return asked.result(softmax(gamma_logarithms(asked, asked.parameters[0]), axis=-1))


def multinomial(n: Array, pvals: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How often each of k outcomes is that of `n` attempts: (..., k), of probabilities (..., k).

    The attempts are shared out to halves of the outcomes, and on from there, by binomial numbers.

    Args:
        n: An integer from 0 to 2**53, or a term of integers, of the axes in front.
        pvals: Numbers that add up to 1, of known length; a term is divided by its sum.
        size: A length, several, or None for as many as `n` and `pvals` have in front.

    Raises:
        AttributeValueError: for numbers that are no probabilities, or do not add up to 1; or for an unknown k.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.multinomial(20, [0.2, 0.3, 0.5], 4).type
    int64[4, 3]
    """
    kind = checked("multinomial", as_dtype, dtype)
    count = attempts("multinomial", n, kind)
    _check_shares(pvals)
    chances = in_double(as_term(pvals))
    outcomes = chances.shape[-1] if chances.rank else 0
    if not isinstance(outcomes, int) or not outcomes:
        what = f"multinomial: there are {outcomes} outcomes"
        raise AttributeValueError(what, where=user_line(), do="give a vector of known length, of one or more")
    asked = wanted("multinomial", size, FLOAT64, count, chances[..., 0])
    whole = broadcast_to(in_double(asked.parameters[0]), asked.shape)[..., None]
    return fitting(_shared_out(whole, chances, outcomes)[..., :outcomes], kind)


def _shared_out(counts: Op, chances: Op, outcomes: int) -> Op:
    """Counts of outcomes and of some that are impossible: at each level, of each group what its first half gets."""
    levels = (outcomes - 1).bit_length()
    nothing = [(0, 0)] * (chances.rank - 1)
    sums = [pad(chances, [*nothing, (0, 2**levels - outcomes)])]
    for level in reversed(range(levels)):
        sums.append(total(reshape(sums[-1], (*chances.shape[:-1], 2**level, 2)), axis=-1))
    for level in range(levels):
        whole, first = sums[levels - level], sums[levels - level - 1][..., ::2]
        asked = wanted(
            "multinomial", None, FLOAT64, counts, where(whole > 0, first / where(whole > 0, whole, 1.0), 0.0)
        )
        won = succeeded(asked, *asked.parameters)
        counts = reshape(stack([won, counts - won], axis=-1), (*counts.shape[:-1], 2 ** (level + 1)))
    return counts


def _check_shares(pvals: Array) -> None:
    """Refuse numbers that are no probabilities of all that may be."""
    check_probability("multinomial", pvals, name="pvals")
    numbers = known(pvals)
    if numbers is not None and numbers.ndim and abs(numbers.sum(-1) - 1).max(initial=0) > 1e-6:
        what = f"multinomial: pvals add up to {numbers.sum(-1)}"
        raise AttributeValueError(what, where=user_line(), do="divide them by their sum")
