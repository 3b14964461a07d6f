# SPDX-License-Identifier: Apache-2.0
"""Which lines and attributes are worth trying for sums of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting.domain import Domain, Proposal, Types
from ngraph_rewrite.rewriting.domains_indexed import Known
from ngraph_rewrite.rewriting.domains_semi import Proposal as Attributes
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.types.dtypes import FLOAT32, FLOAT64
from ngraph_rewrite.types.tensor import TensorType

_OPS = ("semi.fourier", "cpu.fourier")
_SPLIT = 70  # a length that is transformed in steps


def _lines(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Lines of a known length, one behind the other or side by side, and as many again for imaginary parts."""
    if position:
        return [known[0]] if 0 in known else []
    if 1 in known:
        return [known[1]]
    a, b, c = domain.lengths
    shapes = [(a, 3, 1), (1, 1, b), (b, 4, c), (0, 2, a), (c, 2, 0)]
    return [tensor(d, shape) for shape in shapes for d in (FLOAT32, FLOAT64)]


def _sums(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """All sums, or some, of lines that are whole or lack their end."""
    m = types[0].shape[1]
    assert isinstance(m, int)
    for n, wanted in ((m, m), (m + 1, max(m - 1, 1)), (_SPLIT, 3), (_SPLIT, _SPLIT), (2 * m, m)):
        for real in (False, True):
            for sign in (-1, 1):
                yield n, sign, wanted, real


ARGUMENTS: dict[str, Proposal] = dict.fromkeys(_OPS, _lines)
ATTRIBUTES: dict[str, Attributes] = dict.fromkeys(_OPS, _sums)
