# SPDX-License-Identifier: Apache-2.0
"""Attributes and arrays as Python expressions that give them back, bit by bit."""

from __future__ import annotations

import dataclasses
import enum
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.axis_checks import ROLES_BY_NAME
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.lengths import Atom, Extent, Length, Natural, Quotient

# Where what expressions name is imported from.
_PUBLIC = {"Axes": "ngraph_rewrite", "Axis": "ngraph_rewrite", "Length": "ngraph_rewrite"}
_PUBLIC |= {"Literal": "ngraph_rewrite.testing", "Uid": "ngraph_rewrite.testing", "term": "ngraph_rewrite.testing"}
# An array with more elements has them on several lines.
_ON_A_LINE = 24
# And of a long row so many characters.
_WIDTH = 100


class Source:
    """Writes expressions, and knows what they need imported.

    Attributes:
        uids: What identities are called that are more than an attribute of one term.
    """

    def __init__(self, uids: Mapping[Uid, str]) -> None:
        self.uids = uids
        self._imports: dict[str, set[str]] = {}

    def use(self, name: str, module: str | None = None) -> str:
        """The name, which is imported from where it is public."""
        self._imports.setdefault(module or _PUBLIC[name], set()).add(name)
        return name

    def imports(self) -> list[str]:
        """The lines that import what the expressions so far need."""
        return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self._imports.items())]

    # -- attributes ---------------------------------------------------------------------------------

    def attribute(self, value: Any) -> str:
        """An expression equal to any attribute, those of other packages' ops included."""
        if isinstance(value, Uid):
            return self.uids.get(value) or f"{self.use('Uid')}()"
        if isinstance(value, Axes):
            return f"{self.use('Axes')}([{', '.join(map(self._in_axes, value))}])"
        if isinstance(value, Axis):
            return self._axis(value)
        if isinstance(value, Length):
            return self._length(value)
        if isinstance(value, Literal):
            return self._literal(value)
        return self._plain(value)

    def _plain(self, value: Any) -> str:
        if type(value) is tuple or type(value) is list:
            inside = ", ".join(map(self.attribute, value))
            comma = "," if type(value) is tuple and len(value) == 1 else ""
            return f"({inside}{comma})" if type(value) is tuple else f"[{inside}]"
        if isinstance(value, np.dtype):
            return f'np.dtype("{value}")'
        if isinstance(value, float) and not isinstance(value, np.generic):
            return self._number(value)
        if isinstance(value, np.ndarray | np.generic):
            text = self.array(np.asarray(value))
            return text if isinstance(value, np.ndarray) else f"{text}[()]"
        return repr(value) if type(value).__module__ == "builtins" else self._object(value)

    def _object(self, value: Any) -> str:
        """A value of a class of its own: by the name it has in a module, or by its parts."""
        kind, module = type(value), type(value).__module__
        if getattr(sys.modules.get(module), repr(value), None) is value:
            return self.use(repr(value), module)
        if isinstance(value, enum.Enum):
            return f"{self.use(kind.__name__, module)}.{value.name}"
        if dataclasses.is_dataclass(value):
            parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        elif isinstance(value, tuple) and hasattr(value, "_asdict"):
            parts = value._asdict()
        else:
            return repr(value)
        inside = ", ".join(f"{k}={self.attribute(v)}" for k, v in parts.items())
        return f"{self.use(kind.__name__, module)}({inside})"

    # -- axes and lengths ---------------------------------------------------------------------------

    def _in_axes(self, axis: Axis) -> str:
        alone = axis.name is None and not axis.roles and axis.components is None
        return self.attribute(axis.length) if alone else self._axis(axis)

    def _axis(self, axis: Axis) -> str:
        name = self.use("Axis")
        if axis.components is not None:
            return f"{name}.flattened({self.attribute(axis.components)})"
        usual = ROLES_BY_NAME.get(axis.name or "")
        roles = "" if axis.roles == frozenset([usual] if usual else []) else f", {tuple(sorted(axis.roles))!r}"
        return f"{name}({axis.name!r}, {self.attribute(axis.length)}{roles})"

    def _length(self, length: Length) -> str:
        return " + ".join(
            " * ".join([*(self._atom(a) for a in monomial), *([str(n)] if n != 1 or not monomial else [])])
            for monomial, n in length.terms
        )

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Quotient):
            return f"(({self._extent(atom[0])}) // {atom[1]})"
        if isinstance(atom, Natural):
            return f"{self.use('natural', 'ngraph_rewrite.types.lengths')}({self._extent(atom[0])})"
        return f"{self.use('Length')}.symbol({atom!r})"

    def _extent(self, extent: Extent) -> str:
        return self._length(extent) if isinstance(extent, Length) else str(extent)

    # -- numbers ------------------------------------------------------------------------------------

    def _literal(self, literal: Literal) -> str:
        data = literal.array(literal.shape)
        number = self._element(data) if literal.shape == () else None
        inside = self.array(data) if number is None else f'{number}, "{literal.dtype}"'
        return f"{self.use('Literal')}({inside})"

    def array(self, value: Array) -> str:
        """An expression for an array of any dtype: its NaNs, signed zeros and subnormals too."""
        shape = value.shape if len(value.shape) != 1 else value.size
        flat = np.ascontiguousarray(value).reshape(-1)
        if not flat.size:
            return f'np.zeros({shape}, "{value.dtype}")'
        bits, places = np.unique(flat.view(f"u{flat.itemsize}"), return_inverse=True)
        texts = [self._element(e.reshape(())) for e in np.split(bits.view(flat.dtype), bits.size)]
        if None in texts:
            return f'np.frombuffer(bytes.fromhex("{flat.tobytes().hex()}"), "{value.dtype}").reshape({value.shape})'
        elements = [texts[i] or "" for i in places]
        if flat.size > 3 and len(set(elements)) == 1:
            return f'np.full({shape}, {elements[0]}, "{value.dtype}")'
        if flat.size > _MANY:
            usual = Counter(elements).most_common(1)[0][0]
            others = [i for i, e in enumerate(elements) if e != usual]
            if len(others) <= _FEW:
                full = f'np.full({flat.size - len(others)}, {usual}, "{value.dtype}")'
                before, numbers = [p - i for i, p in enumerate(others)], ", ".join(elements[p] for p in others)
                return f"np.insert({full}, {before}, [{numbers}]).reshape({value.shape})"
        lines = _nested(elements, value.shape)
        return f'np.array({lines}, "{value.dtype}")'

    def _element(self, value: Array) -> str | None:
        """The shortest expression of an element's very bits; None if there is none."""
        if not is_float(value.dtype):
            return repr(value.item())
        for text in (self._number(float(str(value))), self._number(value.item())):
            if np.array(float(text), value.dtype).tobytes() == value.tobytes():
                return text
        return None

    def _number(self, value: float) -> str:
        if np.isfinite(value):
            return repr(value)
        sign = "-" if np.signbit(value) else ""
        return sign + self.use("nan" if np.isnan(value) else "inf", "numpy")


# An array of more elements than the first, of which but a few differ from the others, is written by these.
_MANY, _FEW = 64, 8


def _nested(elements: list[str], shape: tuple[int, ...]) -> str:
    """Elements between the brackets of their shape; the rows of a large array on lines of their own, or on some."""
    if not shape:
        return elements[0]
    if len(shape) == 1:
        return f"[{textwrap.fill(', '.join(elements), _WIDTH, subsequent_indent='    ', break_long_words=False)}]"
    step = len(elements) // shape[0]
    parts = [_nested(elements[i : i + step], shape[1:]) for i in range(0, len(elements), step)]
    return f"[{', '.join(parts) if len(elements) <= _ON_A_LINE else (',' + chr(10) + '    ').join(parts)}]"
