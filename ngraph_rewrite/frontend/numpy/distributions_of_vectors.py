# SPDX-License-Identifier: Apache-2.0
"""Random vectors whose elements depend on each other."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.equations import cholesky
from ngraph_rewrite.frontend.numpy.linear_algebra import matrix_transpose
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.random_parameters import Size, wanted
from ngraph_rewrite.ops.checks import extents, listed
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


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
