# SPDX-License-Identifier: Apache-2.0
"""What the standard lets a program ask of the namespace: dtypes by name, defaults, devices and capabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngraph_rewrite.frontend.numpy.data_types import isdtype
from ngraph_rewrite.frontend.numpy.operands import on_device
from ngraph_rewrite.terms.op import DEVICE
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES, FLOAT16, FLOAT32, INT64, DType

bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64 = DTYPES

_OF_THE_STANDARD = {str(d): d for d in DTYPES if d not in (FLOAT16, BFLOAT16)}


class NamespaceInfo:
    """What ``ng.numpy.__array_namespace_info__()`` gives: the inspection functions of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """What depends on values: no shape does. Results are NumPy's arrays, of up to 64 axes.

        >>> import ngraph_rewrite as ng
        >>> ng.numpy.__array_namespace_info__().capabilities()
        {'boolean indexing': False, 'data-dependent shapes': False, 'max dimensions': 64}
        """
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        """The only device.

        >>> import ngraph_rewrite as ng
        >>> ng.numpy.__array_namespace_info__().default_device()
        'graph'
        """
        return DEVICE

    def devices(self) -> list[str]:
        """The devices: one, as a term is not where its value will be.

        >>> import ngraph_rewrite as ng
        >>> ng.numpy.__array_namespace_info__().devices()
        ['graph']
        """
        return [DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """What functions choose that are given no dtype. There are no complex numbers.

        >>> import ngraph_rewrite as ng
        >>> ng.numpy.__array_namespace_info__().default_dtypes()["real floating"]
        dtype('float32')
        """
        on_device("default_dtypes", device)
        return {"real floating": FLOAT32, "integral": INT64, "indexing": INT64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Mapping[str, DType]:
        """The standard's dtypes of a kind, or of several, as `isdtype` has them; all if none is given.

        Raises:
            AttributeValueError: for what is no kind.

        >>> import ngraph_rewrite as ng
        >>> list(ng.numpy.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        on_device("dtypes", device)
        return {n: d for n, d in _OF_THE_STANDARD.items() if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """The inspection functions of the standard.

    >>> import ngraph_rewrite as ng
    >>> list(ng.numpy.__array_namespace_info__().dtypes(kind=("bool", "real floating")))
    ['bool', 'float32', 'float64']
    """
    return NamespaceInfo()
