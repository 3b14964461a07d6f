# SPDX-License-Identifier: Apache-2.0
"""A term: a definition, arguments, attributes and a type. Immutable; `==` is identity.

A term that a frontend builds is a *handle*: beside its structure it has an `Info` (name, metadata, the
line that built it), which is never part of the structure and which rules never see.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ngraph_rewrite.errors import ArgumentError, FamilyError, NGraphRewriteError
from ngraph_rewrite.terms.catalogue import OpDef, find, lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, promote, scalar_dtype
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

NO_METADATA: Mapping[str, Any] = MappingProxyType({})
_metadata: ContextVar[Mapping[str, Any]] = ContextVar("metadata", default=NO_METADATA)
_PACKAGE = str(Path(__file__).parent.parent / "_")[:-1]  # with the separator: not ngraph_rewrite_of_mine
_PROGRAM = _PACKAGE + "demo.py"  # a program that ships: its lines are a user's lines
_SHOWN = 8


class Uid:
    """A fresh identity: what keeps two placeholders, draws or effects of the same form apart."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "uid"


class Info(NamedTuple):
    """What a handle knows beside its structure."""

    name: str | None = None
    metadata: Mapping[str, Any] = NO_METADATA
    filename: str = "<unknown>"
    lineno: int = 0
    initial: Any = None

    @property
    def place(self) -> str:
        """``file:line`` of the line that built the handle."""
        return f"{self.filename}:{self.lineno}"


NO_INFO = Info()


@contextmanager
def metadata(**items: Any) -> Iterator[None]:
    """Every op built inside carries these items; in nested blocks the inner value wins.

    >>> from ngraph_rewrite.frontend.axes import constant
    >>> with metadata(layer="first"):
    ...     x = constant(1.0)
    >>> x.metadata["layer"]
    'first'
    """
    token = _metadata.set(MappingProxyType({**_metadata.get(), **items}))
    try:
        yield
    finally:
        _metadata.reset(token)


class Op:
    """A term. Build one with a frontend function or an operator, never directly.

    ``==`` is identity (use `same_as` for structure, `ng.equal` for an op that compares); ``bool(op)``
    raises. Arithmetic operators build terms of the family of their operands.
    """

    __slots__ = ("__weakref__", "args", "attrs", "definition", "info", "type")
    __array_ufunc__ = None  # so that ndarray + op asks op, and not each element

    definition: OpDef
    args: tuple[Op, ...]
    attrs: tuple[Any, ...]
    type: TensorType
    info: Info

    def __init__(
        self,
        definition: OpDef,
        args: tuple[Op, ...],
        attrs: tuple[Any, ...],
        type: TensorType,
        info: Info = NO_INFO,
    ) -> None:
        self.definition, self.args, self.attrs, self.type, self.info = definition, args, attrs, type, info

    # -- what it is ---------------------------------------------------------------------------------

    @property
    def axes(self) -> Axes:
        """The axes of the value."""
        return self.type.axes

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The lengths of the axes."""
        return self.type.shape

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.type.rank

    @property
    def size(self) -> Extent:
        """The number of elements."""
        return self.type.size

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by name."""
        return dict(zip(self.definition.attributes, self.attrs, strict=True))

    def attribute(self, name: str) -> Any:
        """The attribute called `name`."""
        return self.attrs[self.definition.attributes.index(name)]

    @property
    def name(self) -> str | None:
        """The name given to the handle."""
        return self.info.name

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the `metadata` blocks around its construction said."""
        return self.info.metadata

    @property
    def filename(self) -> str:
        """The file of the line that built it."""
        return self.info.filename

    @property
    def lineno(self) -> int:
        """The line that built it."""
        return self.info.lineno

    @property
    def file_info(self) -> str:
        """``File "model.py", line 7``, as editors understand it."""
        return f'File "{self.info.filename}", line {self.info.lineno}'

    @property
    def other_deps(self) -> tuple[Op, ...]:
        """What must have run before this value is there, beside its arguments."""
        if self.definition.name == "core.after":
            return self.args[1:]
        return self.args[:-1] if self.definition.name == "core.sequential" else ()

    def named(self, name: str) -> Op:
        """The same term under another name: a new handle.

        >>> from ngraph_rewrite.frontend.axes import variable
        >>> variable([], name="v").named("w").name
        'w'
        """
        return Op(self.definition, self.args, self.attrs, self.type, self.info._replace(name=name))

    def same_as(self, other: Op) -> bool:
        """Whether both have the same structure; names, metadata and source lines do not count."""
        pairs, seen = [(self, other)], set()
        while pairs:
            a, b = pairs.pop()
            if a is b or (id(a), id(b)) in seen:
                continue
            seen.add((id(a), id(b)))
            if a.definition is not b.definition or a.attrs != b.attrs or len(a.args) != len(b.args):
                return False
            pairs.extend(zip(a.args, b.args, strict=True))
        return self.type == other.type

    def variables(self) -> list[Op]:
        """The trainable variables it depends on, in the order they are met."""
        return [t for t in topological([self]) if t.definition.name == "core.variable" and t.attribute("trainable")]

    def placeholders(self) -> list[Op]:
        """The placeholders it depends on, in the order they are met."""
        return [t for t in topological([self]) if t.definition.name == "core.placeholder"]

    def __repr__(self) -> str:
        return describe(self)

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"{describe(self, 1)} is a term and has no truth value",
            where=self.info.place,
            do="compare structure with same_as, or compute a value first",
        )

    def __iter__(self) -> NoReturn:
        raise ArgumentError(f"{describe(self, 1)} cannot be iterated over", do="take parts with slices")

    # -- operators ----------------------------------------------------------------------------------

    def __neg__(self) -> Op:
        return combine("negative", self)

    def __pos__(self) -> Op:
        return self

    def __abs__(self) -> Op:
        return combine("absolute", self)

    def __invert__(self) -> Op:
        return combine("logical_not", self)

    def __add__(self, other: Any) -> Op:
        return combine("add", self, other)

    def __radd__(self, other: Any) -> Op:
        return combine("add", other, self)

    def __sub__(self, other: Any) -> Op:
        return combine("subtract", self, other)

    def __rsub__(self, other: Any) -> Op:
        return combine("subtract", other, self)

    def __mul__(self, other: Any) -> Op:
        return combine("multiply", self, other)

    def __rmul__(self, other: Any) -> Op:
        return combine("multiply", other, self)

    def __truediv__(self, other: Any) -> Op:
        return combine("divide", self, other)

    def __rtruediv__(self, other: Any) -> Op:
        return combine("divide", other, self)

    def __floordiv__(self, other: Any) -> Op:
        return combine("floordivide", self, other)

    def __rfloordiv__(self, other: Any) -> Op:
        return combine("floordivide", other, self)

    def __mod__(self, other: Any) -> Op:
        return combine("mod", self, other)

    def __rmod__(self, other: Any) -> Op:
        return combine("mod", other, self)

    def __pow__(self, other: Any) -> Op:
        return combine("power", self, other)

    def __rpow__(self, other: Any) -> Op:
        return combine("power", other, self)

    def __matmul__(self, other: Any) -> Op:
        return combine("dot", self, other)

    def __rmatmul__(self, other: Any) -> Op:
        return combine("dot", other, self)

    def __and__(self, other: Any) -> Op:
        return combine("logical_and", self, other)

    def __rand__(self, other: Any) -> Op:
        return combine("logical_and", other, self)

    def __or__(self, other: Any) -> Op:
        return combine("logical_or", self, other)

    def __ror__(self, other: Any) -> Op:
        return combine("logical_or", other, self)

    def __xor__(self, other: Any) -> Op:
        return combine("logical_xor", self, other)

    def __rxor__(self, other: Any) -> Op:
        return combine("logical_xor", other, self)

    def __lt__(self, other: Any) -> Op:
        return combine("less", self, other)

    def __le__(self, other: Any) -> Op:
        return combine("less_equal", self, other)

    def __gt__(self, other: Any) -> Op:
        return combine("greater", self, other)

    def __ge__(self, other: Any) -> Op:
        return combine("greater_equal", self, other)

    def __getitem__(self, item: Any) -> Op:
        items = item if isinstance(item, tuple) else (item,)
        return build(lookup(f"{family_of([self])}.tensor_slice"), (self,), items=items)


# -- building handles -------------------------------------------------------------------------------


def build(
    definition: OpDef, args: tuple[Op, ...], *, name: str | None = None, initial: Any = None, **attributes: Any
) -> Op:
    """A handle: checked, typed, and marked with the user's line.

    Raises:
        ArgumentError: for a wrong number of arguments or unknown attributes.
        NGraphRewriteError: whatever the op's type rule raises, with the user's line added.
    """
    info = _info(name, initial)
    if len(args) != definition.arity and (definition.arity is not None or len(args) < definition.least):
        wanted = definition.arity if definition.arity is not None else f"at least {definition.least}"
        raise ArgumentError(f"{definition} takes {wanted} arguments, not {len(args)}", where=info.place)
    if attributes.keys() != set(definition.attributes):
        raise ArgumentError(_attribute_message(definition, attributes), where=info.place)
    try:
        attrs, type_ = definition.infer(
            tuple(a.type for a in args), tuple(attributes[name] for name in definition.attributes)
        )
    except NGraphRewriteError as error:
        raise located(error, definition, args, info.place) from None
    return Op(definition, args, attrs, type_, info)


def located(error: NGraphRewriteError, definition: OpDef, args: tuple[Op, ...], place: str) -> NGraphRewriteError:
    """The same error, naming the op, its arguments' types and the user's line."""
    call = f"{definition}({', '.join(repr(a.type) for a in args)})"
    return type(error)(f"{call}: {error.what}", where=error.where or place, do=error.do)


def _attribute_message(definition: OpDef, given: Mapping[str, Any]) -> str:
    unknown = [k for k in given if k not in definition.attributes]
    missing = [k for k in definition.attributes if k not in given]
    parts = [f"has no attribute {k}" for k in unknown] + [f"needs the attribute {k}" for k in missing]
    return f"{definition} {' and '.join(parts)}"


def _info(name: str | None, initial: Any) -> Info:
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_ours(frame.f_code):
        frame = frame.f_back
    return Info(name, _metadata.get(), frame.f_code.co_filename, frame.f_lineno, initial)


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_PACKAGE) and code.co_filename != _PROGRAM


def user_line() -> str:
    """``file:line`` of the nearest caller outside this package."""
    return _info(None, None).place


def combine(short: str, *operands: Any) -> Op:
    """The op called `short` in the family of its operands; numbers become constants of their dtype.

    Raises:
        FamilyError: if the operands belong to two families, or an array has no names for named axes.
    """
    family = family_of([x for x in operands if isinstance(x, Op)])
    definition = find(f"{family}.{short}")
    if definition is None:
        raise FamilyError(f"the {family} family has no op {short}", where=user_line())
    return build(definition, tuple(as_operands(operands)))


def family_of(terms: Iterable[Op]) -> str:
    """The family operators choose: axes for named axes, semi for anonymous ones, axes for scalars alone."""
    families = {("axes" if t.axes.named else "semi"): t for t in terms if t.rank}
    if len(families) > 1:
        raise FamilyError(
            f"{describe(families['axes'], 1)} has named axes and {describe(families['semi'], 1)} has none",
            where=user_line(),
            do="write label(x, axes=...) to name the second, or strip(x) to forget the names of the first",
        )
    return next(iter(families), "axes")


def as_operands(operands: Iterable[Any]) -> list[Op]:
    """Operands as terms: a Python number takes the dtype (and, without names, the shape) of the others."""
    operands = list(operands)
    terms = [x for x in operands if isinstance(x, Op)]
    return [x if isinstance(x, Op) else as_constant(x, terms) for x in operands]


def as_constant(value: Any, beside: Iterable[Op] = ()) -> Op:
    """A number as a constant; its dtype is weak beside other terms.

    Raises:
        ArgumentError: for what is neither a number nor an array.
        FamilyError: for an array with axes: it has no names to match by.
    """
    beside = list(beside)
    if not isinstance(value, bool | int | float | np.generic | np.ndarray | list | tuple):
        raise ArgumentError(f"{value!r} is neither a term nor a number", where=user_line())
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        raise FamilyError(
            f"{_called(value)} has no axes to match by",
            where=user_line(),
            do="write ng.constant(array, axes) to name them",
        )
    weak = type(value) in (bool, int, float) and bool(beside)
    dtype = promote(*(t.dtype for t in beside), value) if weak else scalar_dtype(value)
    shapes = {t.axes for t in beside if t.rank and not t.axes.named}
    axes = shapes.pop() if len(shapes) == 1 else Axes()
    return build(lookup("core.constant"), (), value=Literal(value, dtype), axes=axes)


def _called(value: Any) -> str:
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    return f"{'an array' if shape else 'a ' + type(value).__name__}{shape}"


# -- walking and printing ---------------------------------------------------------------------------


def topological(roots: Iterable[Op]) -> list[Op]:
    """Every term reachable from `roots`, arguments first, each once; any depth."""
    order: list[Op] = []
    seen: set[Op] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        term, ready = stack.pop()
        if ready:
            order.append(term)
        elif term not in seen:
            seen.add(term)
            stack.append((term, True))
            stack.extend([(arg, False) for arg in term.args[::-1] if arg not in seen])
    return order


def users(term: Op, roots: Iterable[Op]) -> list[Op]:
    """The terms reachable from `roots` that have `term` as an argument.

    >>> from ngraph_rewrite.frontend.axes import tanh, variable
    >>> w = variable([])
    >>> users(w, [tanh(w)])
    [axes.tanh(variable)]
    """
    return [t for t in topological(roots) if any(a is term for a in t.args)]


def describe(term: Op, depth: int = 3) -> str:
    """The term as a call, down to `depth` levels; leaves by their names."""
    if term.info.name and not term.args:
        return term.info.name
    if depth == 0:
        return "..."
    if term.definition.name == "core.constant":
        return repr(term.attrs[0])
    inside = [describe(a, depth - 1) for a in term.args[:_SHOWN]]
    if len(term.args) > _SHOWN:
        inside.append(f"... {len(term.args) - _SHOWN} more")
    inside += [f"{k}={v!r}" for k, v in term.attributes.items() if not isinstance(v, Uid) and term.args]
    short = term.definition.short if term.definition.family == "core" else term.definition.name
    return f"{short}({', '.join(inside)})" if inside else short
