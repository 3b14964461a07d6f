# SPDX-License-Identifier: Apache-2.0
"""Python's operators, and NumPy's own functions, on terms: which op each of them stands for.

How operands become a term is told by a module above, which knows how terms are built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.protocols import ask

if TYPE_CHECKING:
    from ngraph_rewrite.terms.op import Op


class Combine(Protocol):
    """Builds the op of a short name of its operands, of which one is a term at least."""

    def __call__(self, short: str, *operands: Any) -> Op: ...


class Operators:
    """What can be written with a term beside another operand.

    >>> from ngraph_rewrite.frontend.axes import variable
    >>> v = variable({"H": 3}, name="v")
    >>> 2 - v, v % 2 < 1
    (axes.subtract(2.0, v), axes.less(axes.mod(v, 2.0), 1.0))
    """

    __slots__ = ()
    # The same function in every family, and another one without names.
    _combine: ClassVar[Combine]
    _operate: ClassVar[Combine]

    def __neg__(self) -> Op:
        return self._combine("negative", self)

    def __abs__(self) -> Op:
        return self._combine("absolute", self)

    def __round__(self, decimals: int | None = None) -> Op:
        if decimals is None:
            return self._combine("round", self)
        return ask("function", np.round, (self, decimals), {})  # type: ignore[no-any-return]

    def __invert__(self) -> Op:
        return self._operate("logical_not", self)

    def __add__(self, other: Any) -> Op:
        return self._combine("add", self, other)

    def __radd__(self, other: Any) -> Op:
        return self._combine("add", other, self)

    def __sub__(self, other: Any) -> Op:
        return self._combine("subtract", self, other)

    def __rsub__(self, other: Any) -> Op:
        return self._combine("subtract", other, self)

    def __mul__(self, other: Any) -> Op:
        return self._combine("multiply", self, other)

    def __rmul__(self, other: Any) -> Op:
        return self._combine("multiply", other, self)

    def __truediv__(self, other: Any) -> Op:
        return self._combine("divide", self, other)

    def __rtruediv__(self, other: Any) -> Op:
        return self._combine("divide", other, self)

    def __floordiv__(self, other: Any) -> Op:
        return self._combine("floordivide", self, other)

    def __rfloordiv__(self, other: Any) -> Op:
        return self._combine("floordivide", other, self)

    def __mod__(self, other: Any) -> Op:
        return self._combine("mod", self, other)

    def __rmod__(self, other: Any) -> Op:
        return self._combine("mod", other, self)

    def __divmod__(self, other: Any) -> tuple[Op, Op]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Op, Op]:
        return other // self, other % self

    def __pow__(self, other: Any, modulo: Any = None) -> Op:
        if modulo is not None:
            do = "write x ** y % z; what integers do not hold wraps before it is divided"
            raise ArgumentError("pow of a term takes no third number", where=user_line(), do=do)
        return self._combine("power", self, other)

    def __rpow__(self, other: Any) -> Op:
        return self._combine("power", other, self)

    def __matmul__(self, other: Any) -> Op:
        return self._operate("dot", self, other)

    def __rmatmul__(self, other: Any) -> Op:
        return self._operate("dot", other, self)

    def __and__(self, other: Any) -> Op:
        return self._operate("logical_and", self, other)

    def __rand__(self, other: Any) -> Op:
        return self._operate("logical_and", other, self)

    def __or__(self, other: Any) -> Op:
        return self._operate("logical_or", self, other)

    def __ror__(self, other: Any) -> Op:
        return self._operate("logical_or", other, self)

    def __xor__(self, other: Any) -> Op:
        return self._operate("logical_xor", self, other)

    def __rxor__(self, other: Any) -> Op:
        return self._operate("logical_xor", other, self)

    def __lt__(self, other: Any) -> Op:
        return self._combine("less", self, other)

    def __le__(self, other: Any) -> Op:
        return self._combine("less_equal", self, other)

    def __gt__(self, other: Any) -> Op:
        return self._combine("greater", self, other)

    def __ge__(self, other: Any) -> Op:
        return self._combine("greater_equal", self, other)

    def __lshift__(self, other: Any) -> Op:
        return self._combine("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Op:
        return self._combine("left_shift", other, self)

    def __rshift__(self, other: Any) -> Op:
        return self._combine("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Op:
        return self._combine("right_shift", other, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return ask("ufunc", ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ask("function", function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return ask("namespace", api_version)
