# SPDX-License-Identifier: Apache-2.0
"""A term of a bank, of which each structure has one: passes write marks on all of them."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.info import NO_INFO, Info
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType


class Shared(Op):
    """A term of a bank: passes write marks on all of them, and so fast only where nothing is asked before."""

    __slots__ = ()
    # Both, as Python has one slot for the two: it then writes as fast as where a class has neither.
    __setattr__ = object.__setattr__  # type: ignore[assignment]
    __delattr__ = object.__delattr__  # type: ignore[assignment]

    def __init__(
        self,
        definition: OpDef,
        args: tuple[Op, ...],
        attrs: tuple[Any, ...],
        type: TensorType,
        info: Info = NO_INFO,
    ) -> None:
        self.definition = definition
        self.args = args
        self.attrs = attrs
        self.type = type
        self.info = info
        self.mark = None
        self.form = None
