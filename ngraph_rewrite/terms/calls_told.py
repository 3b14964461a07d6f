# SPDX-License-Identifier: Apache-2.0
"""How errors name a call of an op: with the types of its arguments and the attributes that were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.info import Uid

if TYPE_CHECKING:
    from ngraph_rewrite.terms.op import Op

_LONG = 60


def located(
    error: NGraphRewriteError, definition: OpDef, args: tuple[Op, ...], place: str, attributes: Mapping[str, Any] = {}
) -> NGraphRewriteError:
    """The same error, naming the op, its arguments' types, the attributes that were given, and the user's line."""
    what = f"{call_told(definition, args, attributes)}: {error.what}"
    return type(error)(what, where=error.where or place, do=error.do)


def call_told(definition: OpDef, args: tuple[Op, ...], attributes: Mapping[str, Any]) -> str:
    """A call of an op, with the types of its arguments."""
    inside = [repr(a.type) for a in args]
    inside += [f"{name}={clipped(value)}" for name, value in attributes.items() if not isinstance(value, Uid)]
    return f"{definition}({', '.join(inside)})"


def clipped(value: Any) -> str:
    """How a value is written, or as much of it as fits.

    >>> clipped(3), len(clipped(list(range(100))))
    ('3', 60)
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "..."
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


def attributes_told(definition: OpDef, given: Mapping[str, Any]) -> str:
    """Which of the attributes that were given an op does not have, and which it lacks.

    >>> from ngraph_rewrite.terms.catalogue import lookup
    >>> attributes_told(lookup("axes.sum"), {"axis": 0})
    'axes.sum has no attribute axis and needs the attribute axes'
    """
    unknown = [k for k in given if k not in definition.attributes]
    missing = [k for k in definition.attributes if k not in given]
    parts = [f"has no attribute {k}" for k in unknown] + [f"needs the attribute {k}" for k in missing]
    return f"{definition} {' and '.join(parts)}"
