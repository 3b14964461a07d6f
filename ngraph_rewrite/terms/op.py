# SPDX-License-Identifier: Apache-2.0
"""A term: a definition, arguments, attributes and a type. Immutable; `==` is identity.

A term that a frontend builds is a *handle*: beside its structure it has an `Info` (name, metadata, the
line that built it), which is never part of the structure and which rules never see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, Protocol

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError, FamilyError, NGraphRewriteError
from ngraph_rewrite.terms.catalogue import OpDef, find, lookup
from ngraph_rewrite.terms.families import coerced, family_of_types
from ngraph_rewrite.terms.info import NO_INFO, Info, Uid, info_here, user_line
from ngraph_rewrite.terms.literal import Literal, number, own_dtype
from ngraph_rewrite.terms.protocols import ask
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.dtypes import INT64, DType, promote, scalar_dtype
from ngraph_rewrite.types.lengths import Extent, Length
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

_LONG = 60
# What stands for the device of every term: where a value will be is up to the target of a transformer.
DEVICE = "graph"


class Op:
    """A term. Build one with a frontend function or an operator, never directly.

    ``==`` is identity (use `same_as` for structure, `ng.equal` for an op that compares); ``bool(op)``
    raises. Arithmetic operators build terms of the family of their operands. A term is immutable: a copy is itself,
    and so is that of a variable, whose value belongs to a transformer.
    """

    __slots__ = ("__weakref__", "args", "attrs", "definition", "form", "info", "mark", "type")

    definition: OpDef
    args: tuple[Op, ...]
    attrs: tuple[Any, ...]
    type: TensorType
    info: Info
    # Of a term of a bank: the pass that last brought it to its normal form, and that form if it is another term.
    mark: object
    form: Op | None

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
    def ndim(self) -> int:
        """The number of axes, as NumPy calls it."""
        return self.type.rank

    @property
    def size(self) -> Extent:
        """The number of elements."""
        return self.type.size

    @property
    def device(self) -> str:
        """The one device that terms have, for programs that ask the array API for it."""
        return DEVICE

    @property
    def T(self) -> Op:
        """The transpose of a matrix without names."""
        return _transposed(self, 2)

    @property
    def mT(self) -> Op:
        """The matrices in the last two axes transposed; no names."""
        return _transposed(self, self.rank)

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
        name = self.definition.name
        if name == "core.after":
            return self.args[1:]
        if name == "core.sequential":
            return tuple(a for a in self.args[:-1] if a is not self.args[-1])
        waiting = ("core.after",) if name != "core.assign" else ("core.after", "core.sequential")
        return tuple(dict.fromkeys(e for a in self.args if a.definition.name in waiting for e in a.other_deps))

    @property
    def user_deps(self) -> tuple[Op, ...]:
        """Inside `ng.ordered`: what every term that is built of this one from now on waits for."""
        block = construction.get()
        return () if block is None else block.pending(self)

    @property
    def schema(self) -> Any:
        """What `ng.annotated` said about it; None if nothing."""
        return self.attribute("schema") if self.definition.name == "core.annotated" else None

    def named(self, name: str) -> Op:
        """The same term under another name: a new handle.

        Raises:
            ArgumentError: if that is no string.

        >>> from ngraph_rewrite.frontend.axes import variable
        >>> variable([], name="v").named("w").name
        'w'
        """
        if name is not None and not isinstance(name, str):
            raise ArgumentError(f"the name is {name!r}", where=user_line(), do="give a string, or None")
        return Op(self.definition, self.args, self.attrs, self.type, self.info._replace(name=name))

    def to_device(self, device: Any, /, *, stream: Any = None) -> Op:
        """Itself, as all terms have one device.

        Raises:
            ArgumentError: for another device, or a stream.

        >>> from ngraph_rewrite.frontend.axes import placeholder
        >>> x = placeholder((3,))
        >>> x.to_device(x.device) is x
        True
        """
        if device != DEVICE or stream is not None:
            what = f"to_device({device!r}{'' if stream is None else ', with a stream'}) of {describe(self, 1)}"
            do = f"terms have the device {DEVICE!r}: the target of a transformer decides where values are"
            raise ArgumentError(what, where=user_line(), do=do)
        return self

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

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: object) -> Op:
        return self

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            f"{describe(self, 1)} is a term, and terms cannot be pickled",
            where=user_line(),
            do="pickle what it is built from; `Transformer.save` keeps the values of variables",
        )

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"{describe(self, 1)} is a term and has no truth value",
            where=user_line(),
            do="choose with ng.numpy.where or ng.cond, or compute it first; same_as compares structure",
        )

    def __iter__(self) -> Iterator[Op]:
        """The parts of a tuple."""
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        """The number of parts of a tuple."""
        if isinstance(self.type, TupleType):
            return len(self.type)
        raise ArgumentError(
            f"{describe(self, 1)} cannot be iterated over and has no len()",
            where=user_line(),
            do="take its shape, parts with slices, or all of them with ng.numpy.unstack",
        )

    # -- operators ----------------------------------------------------------------------------------

    def __neg__(self) -> Op:
        return combine("negative", self)

    def __pos__(self) -> Op:
        return self

    def __abs__(self) -> Op:
        return combine("absolute", self)

    def __invert__(self) -> Op:
        return _operate("logical_not", self)

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
        return _operate("dot", self, other)

    def __rmatmul__(self, other: Any) -> Op:
        return _operate("dot", other, self)

    def __and__(self, other: Any) -> Op:
        return _operate("logical_and", self, other)

    def __rand__(self, other: Any) -> Op:
        return _operate("logical_and", other, self)

    def __or__(self, other: Any) -> Op:
        return _operate("logical_or", self, other)

    def __ror__(self, other: Any) -> Op:
        return _operate("logical_or", other, self)

    def __xor__(self, other: Any) -> Op:
        return _operate("logical_xor", self, other)

    def __rxor__(self, other: Any) -> Op:
        return _operate("logical_xor", other, self)

    def __lt__(self, other: Any) -> Op:
        return combine("less", self, other)

    def __le__(self, other: Any) -> Op:
        return combine("less_equal", self, other)

    def __gt__(self, other: Any) -> Op:
        return combine("greater", self, other)

    def __ge__(self, other: Any) -> Op:
        return combine("greater_equal", self, other)

    def __getitem__(self, item: Any) -> Op:
        if isinstance(self.type, TupleType):
            return build(lookup("core.item"), (self,), index=item)
        if not self.rank or family_of([self]) == "numpy":
            found = ask("item", self, item)
            if found is not NotImplemented:
                return found  # type: ignore[no-any-return]
        items = item if isinstance(item, tuple) else (item,)
        if any(isinstance(i, tuple) for i in items):  # to NumPy a list of places, to the op the triple of a range
            raise AttributeValueError(f"the index {item!r}", where=user_line(), do="give integers or slices")
        return build(lookup(f"{family_of([self])}.tensor_slice"), (self,), items=items)

    def __setitem__(self, item: Any, value: Any) -> NoReturn:
        raise ArgumentError(
            f"{describe(self, 1)} is a term, which is immutable: nothing can be assigned to a part of it",
            where=user_line(),
            do="make another one: ng.numpy.at(x)[index].set(value), or ng.set_slice(x, index, value)",
        )

    def __lshift__(self, other: Any) -> Op:
        return combine("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Op:
        return combine("left_shift", other, self)

    def __rshift__(self, other: Any) -> Op:
        return combine("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Op:
        return combine("right_shift", other, self)

    # -- NumPy's own functions ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return ask("ufunc", ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ask("function", function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return ask("namespace", api_version)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise _without_value(self, "to put into an array")

    def __float__(self) -> NoReturn:
        raise _without_value(self, "to make a number of")

    __int__ = __complex__ = __float__


def _without_value(term: Op, wanted: str) -> ArgumentError:
    what = f"{describe(term, 1)} is a term and has no value {wanted}"
    return ArgumentError(
        what, where=user_line(), do="compute it: transformer.computation(term)(), or call the function of ng.numpy"
    )


def _transposed(term: Op, rank: int) -> Op:
    """The last two axes exchanged of a term of this rank, which is at least 2."""
    if term.rank != rank or rank < 2:
        wanted = "two axes" if rank == 2 else "at least two axes"
        what = f"the transpose of {describe(term, 1)}, {term.type!r}: expected {wanted}"
        raise ArgumentError(what, where=user_line())
    perm = (*range(rank - 2), rank - 1, rank - 2)
    return build(lookup("numpy.transpose"), (term,), perm=perm)


# -- building handles -------------------------------------------------------------------------------


class Construction(Protocol):
    """What a block such as `ng.ordered` does to the terms that are built inside it."""

    def arguments(self, definition: OpDef, args: tuple[Op, ...], info: Info) -> tuple[Op, ...]:
        """What a new term gets as its arguments instead of `args`."""

    def built(self, term: Op) -> None:
        """Take note of a new term."""

    def pending(self, term: Op) -> tuple[Op, ...]:
        """What a term built of this one would wait for."""


construction: ContextVar[Construction | None] = ContextVar("construction", default=None)


@contextmanager
def as_written() -> Iterator[None]:
    """Inside, no block around it changes what is built: for what is made of terms that stand already."""
    token = construction.set(None)
    try:
        yield
    finally:
        construction.reset(token)


def build(
    definition: OpDef, args: tuple[Op, ...], *, name: str | None = None, initial: Any = None, **attributes: Any
) -> Op:
    """A handle: checked, typed, and marked with the user's line.

    Raises:
        ArgumentError: for a wrong number of arguments, unknown attributes, or a name that is no string.
        NGraphRewriteError: whatever the op's type rule raises, with the user's line added.
    """
    info, block = info_here(name, initial), construction.get()
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"{definition}: the name is {name!r}", where=info.place, do="give a string, or None")
    if block is not None:
        args = block.arguments(definition, args, info)
    if len(args) != definition.arity and (definition.arity is not None or len(args) < definition.least):
        wanted = definition.arity if definition.arity is not None else f"at least {definition.least}"
        raise ArgumentError(f"{definition} takes {wanted} arguments, not {len(args)}", where=info.place)
    if attributes.keys() != set(definition.attributes):
        raise ArgumentError(_attribute_message(definition, attributes), where=info.place)
    try:
        args = _coerced(definition, args, info)
        attrs, type_ = definition.infer(
            tuple(a.type for a in args), tuple(attributes[name] for name in definition.attributes)
        )
    except NGraphRewriteError as error:
        raise located(error, definition, args, info.place, attributes) from None
    except Exception as error:  # a type rule's, which its author has to mend
        error.add_note(
            f"raised by the declaration of {definition}, for {_asked(definition, args, attributes)} at {info.place}"
        )
        raise
    term = Op(definition, args, attrs, type_, info)
    if block is not None:
        block.built(term)
    return term


def _coerced(definition: OpDef, args: tuple[Op, ...], info: Info) -> tuple[Op, ...]:
    """Operands of another family than the op's, with the coercion that can only be meant."""
    if not args:
        return args
    wanted = coerced(definition.kin, [a.type for a in args], "elementwise" in definition.traits)
    return tuple([a if axes is None else _relabelled(a, axes, info) for a, axes in zip(args, wanted, strict=True)])


def _relabelled(term: Op, axes: Axes, info: Info) -> Op:
    plain = axes == anonymous(axes.lengths)
    definition, attrs = (lookup("core.strip"), ()) if plain else (lookup("core.label"), (axes,))
    stored, type_ = definition.infer((term.type,), attrs)
    return Op(definition, (term,), stored, type_, info._replace(name=None, initial=None))


def located(
    error: NGraphRewriteError, definition: OpDef, args: tuple[Op, ...], place: str, attributes: Mapping[str, Any] = {}
) -> NGraphRewriteError:
    """The same error, naming the op, its arguments' types, the attributes that were given, and the user's line."""
    what = f"{_asked(definition, args, attributes)}: {error.what}"
    return type(error)(what, where=error.where or place, do=error.do)


def _asked(definition: OpDef, args: tuple[Op, ...], attributes: Mapping[str, Any]) -> str:
    inside = [repr(a.type) for a in args]
    inside += [f"{name}={_clipped(value)}" for name, value in attributes.items() if not isinstance(value, Uid)]
    return f"{definition}({', '.join(inside)})"


def _clipped(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "..."
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


def _attribute_message(definition: OpDef, given: Mapping[str, Any]) -> str:
    unknown = [k for k in given if k not in definition.attributes]
    missing = [k for k in definition.attributes if k not in given]
    parts = [f"has no attribute {k}" for k in unknown] + [f"needs the attribute {k}" for k in missing]
    return f"{definition} {' and '.join(parts)}"


def combine(short: str, *operands: Any) -> Op:
    """The op called `short` in the family of its operands; numbers become constants of their dtype.

    Raises:
        FamilyError: if the family has no such op, it is not clear how operands of two families belong
            together, or an array has no names for named axes.
    """
    terms = [x for x in operands if isinstance(x, Op)]
    family = family_of(terms)
    if not any(t.rank for t in terms) and (find(f"{family}.{short}") is None or any(map(_has_axes, operands))):
        family = "numpy"  # scalars belong to all families: this one has the op, or takes arrays
    definition = find(f"{family}.{short}")
    if definition is None:
        do = f"`ngraph-rewrite ops --family {family}` lists those that it has"
        raise FamilyError(f"the {family} family has no op {short}", where=user_line(), do=do)
    return build(definition, tuple(as_operands(operands, family, definition.name)))


def _has_axes(operand: Any) -> bool:
    return isinstance(operand, list | tuple) or (isinstance(operand, np.ndarray) and operand.ndim > 0)


# Operators that mean another op without names: bits are combined, and matrices multiplied.
_IN_NUMPY = {
    "logical_and": "bitwise_and", "logical_or": "bitwise_or", "logical_xor": "bitwise_xor",
    "logical_not": "bitwise_invert", "dot": "matmul",
}  # fmt: skip


def _operate(short: str, *operands: Any) -> Op:
    """`combine`, for an operator that is not the same function in every family."""
    terms = [x for x in operands if isinstance(x, Op)]
    if not (family_of(terms) == "numpy" if any(t.rank for t in terms) else _plain_scalars(terms)):
        return combine(short, *operands)
    definition = lookup(f"numpy.{_IN_NUMPY[short]}")
    return build(definition, tuple(as_operands(operands, "numpy", definition.name)))


def _plain_scalars(terms: Iterable[Op]) -> bool:
    """Scalars alone belong to all families: what numpy ops made goes on so, and integers have bits."""
    kinds = {t.dtype.kind for t in terms}
    return any(t.definition.family == "numpy" for t in terms) or (kinds != {"b"} and kinds <= set("biu"))


def family_of(terms: Iterable[Op]) -> str:
    """The family operators choose: that of the operand whose axes know most; axes for scalars alone."""
    return family_of_types(t.type for t in terms)


def as_operands(operands: Iterable[Any], family: str | None = None, of: str = "") -> list[Op]:
    """Operands as terms: a Python number takes the dtype (and, in the semi family, the shape) of the others.

    Args:
        of: What errors call the op.
    """
    operands = list(operands)
    terms = [x for x in operands if isinstance(x, Op)]
    try:
        return [x if isinstance(x, Op) else as_constant(x, terms, family) for x in operands]
    except NGraphRewriteError as error:
        what = f"{of}: {error.what}" if of else error.what
        raise type(error)(what, where=error.where or user_line(), do=error.do) from None


def as_constant(value: Any, beside: Iterable[Op] = (), family: str | None = None) -> Op:
    """A number as a constant, its dtype weak beside other terms; beside anonymous axes also an array.

    A length that is not known yet is the Python integer that it will be; a list, or an array of objects, may have such.

    Raises:
        ArgumentError: for what is neither a number nor an array.
        FamilyError: for an array with axes where there are names to match by.
    """
    beside = list(beside)
    if not isinstance(value, bool | int | float | np.generic | np.ndarray | list | tuple | Length):
        raise ArgumentError(f"{value!r} is neither a term nor a number", where=user_line())
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return _as_array(value, beside, family or family_of(beside))
    plain = 1 if isinstance(value, Length) else value
    is_plain = type(plain) in (bool, int, float)
    dtype = promote(*(t.dtype for t in beside), plain) if is_plain and beside else scalar_dtype(plain)
    shapes = {t.axes for t in beside if t.rank} if family == "semi" else set()
    axes = shapes.pop() if len(shapes) == 1 else Axes()
    if isinstance(value, Length):
        return _filled(value, dtype, axes)
    literal = number(value, dtype) if is_plain else Literal(value, dtype)
    return build(lookup("core.constant"), (), value=literal, axes=axes)


def _filled(length: Length, dtype: DType, axes: Axes) -> Op:
    """A length as a number, in all places of some axes."""
    term = build(lookup("semi.size"), (), value=length, dtype=dtype)
    return build(lookup("semi.broadcast"), (term,), shape=axes.lengths, dims=()) if axes else term


def _as_array(value: Any, beside: Iterable[Op], family: str) -> Op:
    if family not in ("numpy", "simple"):
        raise FamilyError(
            f"{_called(value)} has no axes to match by",
            where=user_line(),
            do="write ng.constant(array, axes) to name them",
        )
    if (vector := lengths_of(value)) is not None:
        return vector
    try:
        literal = Literal(value, own_dtype(value, [t.dtype for t in beside]))
    except DTypeError as error:
        raise DTypeError(error.what, where=user_line(), do=error.do) from error
    return build(lookup("core.constant"), (), value=literal, axes=anonymous(np.shape(value)))


def lengths_of(value: Any, dtype: DType = INT64) -> Op | None:
    """A vector of integers of which some are lengths that are not known yet, or None if it is nothing of the kind.

    >>> lengths_of((Length.symbol("n"), 2)).type, lengths_of((1, 2))
    (int64[2], None)
    """
    objects = isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1
    if not (objects or isinstance(value, list | tuple)) or not any(isinstance(n, Length) for n in value):
        return None
    sizes = [build(lookup("semi.size"), (), value=n, dtype=dtype) for n in value]
    return build(lookup("semi.concat"), tuple(build(lookup("semi.reshape"), (n,), shape=(1,)) for n in sizes), axis=0)


def _called(value: Any) -> str:
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    return f"{'an array' if shape else 'a ' + type(value).__name__}{shape}"
