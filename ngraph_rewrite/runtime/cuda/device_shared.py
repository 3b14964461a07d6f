# SPDX-License-Identifier: Apache-2.0
"""Elements of arrays in shared memory, by an index that is taken as it is: Numba's own indexing looks for its sign."""

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.typing import signature
from numba.cuda.extending import intrinsic

__all__ = ["element", "set_element"]


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True)


def _element(context: Any, array: Any, index: Any) -> Any:
    """``array[index]``; the index is not negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, sig.args[0], *args)
        return context.unpack_value(builder, sig.return_type, pointer)

    return signature(array.dtype, array, types.int64), generate


def _set_element(context: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``; the index is not negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1])
        context.pack_value(builder, sig.args[0].dtype, args[2], pointer)
        return context.get_dummy_value()

    return signature(types.none, array, types.int64, array.dtype), generate


def _named(name: str, typing: Callable[..., Any]) -> Any:
    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


element, set_element = _named("element", _element), _named("set_element", _set_element)
