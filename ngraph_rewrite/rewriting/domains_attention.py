# SPDX-License-Identifier: Apache-2.0
"""Which operands and attributes are worth trying for fused mixtures, their masks included."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting.domain import Domain, Proposal, Types
from ngraph_rewrite.rewriting.domains_indexed import Known
from ngraph_rewrite.rewriting.domains_semi import Proposal as Attributes
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.tensor import TensorType

# Axes by letters, of the operands and of the result: b stands for one axis, or for attention one or two.
_AXES = {"mixture": "bmn bnd bmd", "attention": "bme ben bnd bmd"}


def _operand(short: str, position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """What fits to the operands that are known, and to the result; the mask stands last."""
    *operands, result = _AXES[short].split()
    letters = [*operands, "bmn"]
    near = [(letters[i], t) for i, t in known.items() if i < len(operands)]
    near += [(result, wish)] if wish is not None else []
    if position >= len(letters) or any(not isinstance(t, TensorType) or t.rank not in _ranks(short) for _, t in near):
        return []
    floats = [d for d in domain.dtypes if d.name in ("float32", "float64")]
    a, b, c = domain.lengths
    batches = [near[0][1].shape[:-2]] if near else [(a,), (1,), *([(a, b), (2, 1)] if 4 in _ranks(short) else [])]
    lengths = {"m": b, "n": c, "d": a, "e": b}
    for own, t in near:
        lengths.update(zip(own[1:], t.shape[-2:], strict=True))
    dtypes = [near[0][1].dtype] if near else floats
    dtypes += [d for d in domain.dtypes if d.name == "bool"] if position == len(operands) else []
    last = [lengths[letter] for letter in letters[position][1:]]
    return [tensor(d, (*batch, *last)) for batch in batches for d in dtypes if d.name in ("bool", "float32", "float64")]


def _ranks(short: str) -> tuple[int, ...]:
    return (3, 4) if short.startswith("attention") else (3,)


def _numbers(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Scales, and what scores become where they are hidden."""
    dtype = types[0].dtype
    return [(Literal(scale, dtype), Literal(fill, dtype)) for scale in (0.5, 1, -2, 0) for fill in (0, -inf, -1e4)]


ARGUMENTS: dict[str, Proposal] = {f"fused.{short}": partial(_operand, short) for short in _AXES}
ATTRIBUTES: dict[str, Attributes] = {f"fused.{short}": _numbers for short in _AXES}
