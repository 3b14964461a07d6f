# SPDX-License-Identifier: Apache-2.0
"""The logarithm of the gamma function, and its slopes."""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import combine


def lgamma(x: Operand) -> Op:
    """The logarithm of the size of gamma(`x`): infinite at 0 and at negative integers.

    The error is below 3 units in the last place; below -2, where it has roots, of the terms that it is a sum of.
    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.lgamma(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("lgamma", x)


def digamma(x: Operand) -> Op:
    """The slope of `lgamma` (the psi function): infinite at 0, NaN at negative integers.

    Its slope is `trigamma`. The error is below 3 units in the last place; below 0, where it has roots, of its terms.
    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.digamma(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("digamma", x)


def trigamma(x: Operand) -> Op:
    """The slope of `digamma`, ``polygamma(1, x)``: infinite at 0 and at negative integers.

    The error is below 3.5 units in the last place. Its slope is a formula of other functions, to 1e-13 of float64.
    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.trigamma(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("trigamma", x)
