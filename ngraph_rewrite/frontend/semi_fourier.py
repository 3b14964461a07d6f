# SPDX-License-Identifier: Apache-2.0
"""The function of the semi family for sums of a discrete Fourier transform."""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand, apply
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent


def fourier(
    x: Operand,
    y: Operand | None = None,
    *,
    n: Extent | None = None,
    sign: int = -1,
    wanted: Extent | None = None,
    real: bool = False,
) -> Op:
    """Sums of ``x[j] exp(sign 2 pi i j k / n)`` along the second axis of `x` (a, m, b), of float32 or float64.

    Real parts of the sums come before imaginary ones (2, a, wanted, b). Of lines in which something is not finite
    nothing is said.

    Args:
        y: Imaginary parts of `x`, if there are any.
        n: The length of lines: elements from m on are 0. m without it.
        sign: -1, or 1 for the inverse times `n`.
        wanted: How many sums there are, from ``k = 0`` on. `n` without it.
        real: Whether there are real parts only, (a, wanted, b).

    Raises:
        AxesError: for other shapes, or lines that are longer than `n`.
        DTypeError: for another dtype.
        AttributeValueError: for another `sign`, and for less than one sum or more than `n`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.semi.fourier(ng.constant([[[1.0], [2.0], [3.0], [4.0]]]), wanted=3)
    >>> with ng.make_transformer("cpu") as transformer:
    ...     print(transformer.computation(x)()[:, 0, :, 0])
    [[10. -2. -2.]
     [ 0.  2.  0.]]
    """
    lines = [as_op(part) for part in (x, y) if part is not None]
    length = n if n is not None or lines[0].rank < 2 else lines[0].shape[1]
    sums = length if wanted is None else wanted
    return apply("semi.fourier", *lines, n=length, sign=sign, wanted=sums, real=real)
