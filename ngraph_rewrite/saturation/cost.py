# SPDX-License-Identifier: Apache-2.0
"""What a node costs: kernel launches and bytes, and arithmetic counted in bytes.

==========================================  =====================================================================
sources, effects                            0
views, tuples                               1: no element is moved, but one less is simpler
elementwise ops                             a quarter of (a launch, and the bytes read and written): they are fused
                                            with their neighbours; a function such as exp 4 bytes more an element
products and convolutions                   a launch, the bytes read and written, and a byte for 8 operations
all others                                  a launch, and the bytes read and written
==========================================  =====================================================================

A launch is taken as 4,096 bytes. Arguments that are one number cost nothing to read. An unknown length counts as 64.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import tensors

# What a node costs: the op of a term, its attributes, and the types of its arguments decide, not what stands below.
Cost = Callable[[Op], float]
LAUNCH, FUSED, OPERATIONS, UNKNOWN = 4096.0, 0.25, 8.0, 64
_FREE = frozenset({"source", "effect", "storage", "parameter"})
_NOTHING = frozenset({"core.make_tuple", "core.item"})
_FUNCTIONS = frozenset(
    "exp expm1 log log1p cbrt sin cos tan tanh sigmoid erf erfinv lgamma digamma trigamma power sqrt reciprocal divide "
    "softplus logaddexp".split()
)
_PRODUCTS = frozenset(
    "dot batch_dot tensordot matmul gemm einsum inner outer vecdot convolution deconvolution linear".split()
)


def launches_and_bytes(term: Op) -> float:
    """The default cost of a node.

    >>> from ngraph_rewrite.frontend import semi
    >>> from ngraph_rewrite.frontend.storage import placeholder
    >>> x = placeholder((64, 64))
    >>> launches_and_bytes(semi.transpose(x, (1, 0))), launches_and_bytes(x + x), launches_and_bytes(semi.dot(x, x))
    (1.0, 9216.0, 102400.0)
    """
    definition = term.definition
    if definition.traits & _FREE and "draw" not in definition.traits:
        return 0.0
    if "view" in definition.traits or definition.name in _NOTHING:
        return 1.0
    read = {id(a): a for a in term.args if a.definition.name != "core.constant" or a.attribute("value").scalar is None}
    moved = bytes_of(term.type) + sum(bytes_of(a.type) for a in read.values())
    if "elementwise" in definition.traits:
        extra = 4.0 * elements(term.type) if definition.short in _FUNCTIONS else 0.0
        return FUSED * (LAUNCH + moved) + extra
    return LAUNCH + moved + (operations(term) / OPERATIONS if definition.short in _PRODUCTS else 0.0)


def elements(type_: TensorType) -> float:
    """How many elements a value has."""
    sizes = [1.0]
    for one in tensors(type_):
        sizes.append(1.0)
        for length in one.shape:
            sizes[-1] *= length if isinstance(length, int) else UNKNOWN
    return sum(sizes[1:])


def bytes_of(type_: TensorType) -> float:
    """How many bytes a value has."""
    return sum(elements(one) * one.dtype.itemsize for one in tensors(type_))


def operations(term: Op) -> float:
    """How many multiplications and additions a product takes.

    For m by k and k by n that is 2 m k n, and the sizes of the three are m k, k n and m n: it is twice the root of
    their product. For other contractions, and convolutions, it is an estimate.
    """
    size = elements(term.type)
    for arg in term.args[:2]:
        size *= elements(arg.type)
    return 2.0 * math.sqrt(size)
