# SPDX-License-Identifier: Apache-2.0
"""Which family an op belongs to, and how operands of other families are brought to it.

A family reads a prefix of what axes can know: numpy their lengths, simple also the roles sample and
recurrent, axes also names. What knows less is labelled with what the other operands know, where positions
say how; what knows more forgets it, where only one thing can be meant. Everything else is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from ngraph_rewrite.errors import AttributeValueError, FamilyError
from ngraph_rewrite.terms.catalogue import find
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

MARKS = frozenset({"sample", "recurrent"})
FAMILIES = ("numpy", "simple", "axes")
_MODES = ("insert", "error")
_mode: ContextVar[str] = ContextVar("coercion", default="insert")


def coercion(mode: str) -> AbstractContextManager[None]:
    """What happens inside where families meet in one op: ``"insert"`` a coercion if only one is meant, or ``"error"``.

    They also meet where storage of one is to hold a term of another. Arrays are of none: storage has their shape.

    Raises:
        AttributeValueError: for any other mode.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.placeholder({"H": 3}), ng.placeholder((3,))
    >>> (x + y).axes
    Axes(H:3)
    >>> with ng.coercion("error"):
    ...     x + y  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ngraph_rewrite.errors.FamilyError: ...
    """
    if mode not in _MODES:
        what = f"coercion mode {mode!r}"
        raise AttributeValueError(what, where=user_line(), do=f"choose one of: {', '.join(_MODES)}")
    return _coerced(mode)


@contextmanager
def _coerced(mode: str) -> Iterator[None]:
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)


def family(axes: Axes) -> str | None:
    """The family a tensor with these axes belongs to; None for a scalar, which belongs to all.

    >>> family(Axes({"H": 3})), family(anonymous((3,))), family(Axes())
    ('axes', 'numpy', None)
    """
    if axes.plain:
        return "numpy" if axes.lengths else None
    if axes.named:
        return "axes"
    return "simple" if any(a.roles & MARKS for a in axes) else "numpy"


def family_of_types(types: Iterable[TensorType]) -> str:
    """The family operators choose: that of the operand that knows most; axes for scalars alone."""
    found = None
    for type_ in types:
        known = family(type_.axes)
        if known is not None and (found is None or FAMILIES.index(known) > FAMILIES.index(found)):
            found = known
    return found or "axes"


def fits(to: str, types: Iterable[TensorType]) -> bool:
    """Whether an op of the family `to` takes operands of these types as they are: each of it, or a scalar.

    >>> from ngraph_rewrite.types.dtypes import FLOAT32
    >>> types = TensorType(FLOAT32, {"H": 3}), TensorType(FLOAT32, ())
    >>> fits("axes", types), fits("numpy", types)
    (True, False)
    """
    if to in FAMILIES:
        for type_ in types:
            known = family(type_.axes)
            if known is not None and known != to:
                return False
    return True


def coerced(to: str, types: Sequence[TensorType], elementwise: bool = False, name: str = "") -> list[Axes | None]:
    """The axes each operand of an op of the family `to` has to be labelled with; None for one that fits.

    Args:
        elementwise: Whether the op takes its operands index by index: then a positional operand with the
            whole shape of one that has marks can only have the same.
        name: What the op is called, for errors.

    Raises:
        FamilyError: if it is not clear how, or inside ``coercion("error")``; it names both families and
            the coercion to write.
    """
    if fits(to, types):
        return [None] * len(types)
    families = [family(t.axes) for t in types]
    level = FAMILIES.index(to)
    levels = [FAMILIES.index(own) if own else None for own in families]
    more = [t for t, own in zip(types, levels, strict=True) if own is not None and own > level]
    less = [own is not None and own < level for own in levels]
    if to == "simple":  # a tensor of features alone is of both families
        less = [elementwise and own == 0 and _is_whole(t, types) for t, own in zip(types, levels, strict=True)]
    if to == "axes" and any(less) and level not in levels:
        raise _nameless(types, name)
    if not more and not any(less):
        return [None] * len(types)
    if _mode.get() == "error":
        raise _mixed(to, types, "coercions are errors here")
    if more:
        kept = [_forgotten(to, t, more, types) if t in more else None for t in types]
        left = [t if axes is None else t.with_axes(axes) for t, axes in zip(types, kept, strict=True)]
        rest = coerced(to, left, elementwise) if to == "simple" else [None] * len(types)
        return [b if a is None else a for a, b in zip(kept, rest, strict=True)]
    if not elementwise:
        raise _mixed(to, types, "it does not take them index by index")
    known = [t.axes for t, own in zip(types, levels, strict=True) if own == level]
    if to == "simple":
        known = [axes for axes in known if len(axes) in {t.rank for t, low in zip(types, less, strict=True) if low}]
    return [_named(to, t, known, types) if low else None for t, low in zip(types, less, strict=True)]


def unmixed(value: TensorType, storage: TensorType) -> None:
    """Inside ``coercion("error")``, demand of a term that it is of the family of the storage that is to hold it.

    Raises:
        FamilyError: if not.
    """
    if _mode.get() == "error":
        coerced(family(storage.axes) or "", (storage, value), elementwise=True)


def _forgotten(to: str, operand: TensorType, more: Sequence[TensorType], types: Sequence[TensorType]) -> Axes:
    """The axes of an operand without what the family `to` does not read."""
    if any(t.axes.named for t in more) and len({t.axes.names for t in more}) > 1:
        raise _mixed(to, types, "their positions do not say which axes belong together")
    if to == "numpy" and len({_marks(t.axes) for t in more}) > 1:
        raise _mixed(to, types, "the sample and recurrent axes stand in different places")
    return marked(operand.axes) if to == "simple" else anonymous(operand.shape)


def _is_whole(operand: TensorType, types: Sequence[TensorType]) -> bool:
    """Whether it has the shape of an operand with marks, and not that of its features."""
    marks = [t for t in types if family(t.axes) == "simple"]
    features = [tuple(a.length for a in t.axes if not a.roles & MARKS) for t in marks]
    return operand.shape not in features and any(t.shape == operand.shape for t in marks)


def _marks(axes: Axes) -> tuple[frozenset[str], ...]:
    return tuple(a.roles & MARKS for a in axes) if not axes.named else ()


def marked(axes: Axes) -> Axes:
    """The axes without names: lengths, and the roles sample and recurrent.

    >>> marked(Axes({"H": 3, "N": 2}))[1].roles
    frozenset({'sample'})
    """
    return Axes(Axis(None, a.length, a.roles & MARKS) for a in axes)


def _named(to: str, operand: TensorType, known: Sequence[Axes], types: Sequence[TensorType]) -> Axes:
    """What positions say the axes of an operand are; every operand that knows has to say the same."""
    found = set(known) if to == "simple" else {_by_position(operand.axes, axes) for axes in known}
    found.discard(None)
    if len(found) != 1:
        way = "no way" if not found else "two ways"
        raise _mixed(to, types, f"the axes of {operand!r} can be labelled in {way}")
    return found.pop()  # type: ignore[return-value]


def _by_position(axes: Axes, names: Axes) -> Axes | None:
    """Names for anonymous axes: marked ones by role, the others in order; None if lengths do not decide it."""
    free = [a for a in names if not (a.roles & MARKS and any(b.roles & a.roles & MARKS for b in axes))]
    plain = [a for a in axes if not a.roles & MARKS]
    if any(a.roles & MARKS for a in axes):
        free = [a for a in free if not a.roles & MARKS]
    if not _decides([a.length for a in plain], [a.length for a in free]):
        return None
    rest = iter(free)
    marks = [next((b for b in names if a.roles & b.roles & MARKS), None) for a in axes]
    chosen = [b if a.roles & MARKS else next(rest) for a, b in zip(axes, marks, strict=True)]
    if any(b is None or a.length != b.length for a, b in zip(axes, chosen, strict=True)):
        return None
    return Axes(b for b in chosen if b is not None)


def _decides(own: Sequence[Extent], names: Sequence[Extent]) -> bool:
    """Whether lengths say which is which: the same in order, and none twice."""
    return list(own) == list(names) and len(set(own)) == len(own)


def _nameless(types: Sequence[TensorType], name: str) -> FamilyError:
    shown = next(t for t in types if t.rank)
    own = family(shown.axes)
    same = f"{own}.{name.partition('.')[2]}"
    that = f" that makes {same}" if find(same) else ""
    return FamilyError(
        f"expected named axes, got {shown!r}",
        do=f"write label(x, axes=...) to name them, or use the function of ng.{own}{that}",
    )


def _mixed(to: str, types: Sequence[TensorType], why: str) -> FamilyError:
    shown = [f"{t!r} ({family(t.axes)})" for t in types if family(t.axes)]
    families = {family(t.axes) for t in types} - {None}
    what = "operands of different families" if len(families) > 1 else f"operands of another family than {to}"
    write = {
        "axes": "label(x, axes=...) to name the axes of the one without",
        "simple": "label(x, axes=...) with unnamed axes to keep positions and roles only",
        "numpy": "strip(x) to keep positions only",
    }
    return FamilyError(f"{what}, {' and '.join(shown)}: {why}", do=f"write {write[to]}")
