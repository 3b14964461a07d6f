# SPDX-License-Identifier: Apache-2.0
"""A term: a definition, arguments, attributes and a type. Immutable; `==` is identity.

A term that a frontend builds is a *handle*: beside its structure it has an `Info` (name, metadata, the
line that built it), which is never part of the structure and which rules never see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError, ImmutableError, NGraphRewriteError
from ngraph_rewrite.terms.calls_told import attributes_told, call_told, clipped, located
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.construction import construction
from ngraph_rewrite.terms.families import coerced, family_of_types, fits
from ngraph_rewrite.terms.info import NO_INFO, Info, info_here, user_line
from ngraph_rewrite.terms.methods import Methods
from ngraph_rewrite.terms.operators import Operators
from ngraph_rewrite.terms.protocols import ask
from ngraph_rewrite.terms.unanswered import Unanswered
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.immutable import Immutable
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

_MARKS = frozenset({"form", "mark"})  # what passes write
_ITEMS = {"axes": "item by name", "numpy": "item"}  # what is asked of an index, by family

# What stands for the device of every term: where a value will be is up to the target of a transformer.
DEVICE = "graph"


class _Parts:
    """What a term is made of, where it can be written: a constructor does, before there is a term."""

    __slots__ = ("__weakref__", "args", "attrs", "definition", "form", "info", "mark", "type")


class Op(Operators, Methods, Unanswered, Immutable, _Parts):
    """A term. Build one with a frontend function or an operator, never directly.

    ``==`` is identity (use `same_as` for structure, `ng.equal` for an op that compares); ``bool(op)``
    raises. Arithmetic operators build terms of the family of their operands. A term is immutable: a copy is itself,
    and so is that of a variable, whose value belongs to a transformer.
    """

    __slots__ = ()
    _called, _instead = "a term", "build another one; named(...) gives the same term another name"

    definition: OpDef
    args: tuple[Op, ...]
    attrs: tuple[Any, ...]
    type: TensorType
    info: Info
    # The pass that last brought it to its normal form, and that form if it is another term: no part of what it is.
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
        _put_class(self, _Parts)
        self.definition = definition
        self.args = args
        self.attrs = attrs
        self.type = type
        self.info = info
        self.mark = None
        self.form = None
        self.__class__ = Op

    def __setattr__(self, attribute: str, value: object) -> None:
        if attribute not in _MARKS:
            raise self._unchanged(attribute, "set")
        object.__setattr__(self, attribute, value)

    def _unchanged(self, attribute: str, done: str) -> ImmutableError:
        what = f"{self._called} is immutable: {attribute} of {describe(self, 1)} cannot be {done}"
        return ImmutableError(what, where=user_line(), do=self._instead)

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
        """Whether both have the same structure; names, metadata and source lines do not count.

        Raises:
            ArgumentError: for something else than a term.
        """
        if not isinstance(other, Op):
            raise ArgumentError(f"{other!r} is not a term", where=user_line(), do="give one, such as ng.constant(...)")
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

    def __pos__(self) -> Op:
        return self

    def __deepcopy__(self, memo: object) -> Op:
        return self

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

    # -- parts ------------------------------------------------------------------------------------------

    def __getitem__(self, item: Any) -> Op:
        if isinstance(self.type, TupleType):
            return build(lookup("core.item"), (self,), index=item)
        family = family_of([self]) if self.rank else "numpy"
        found = ask(_ITEMS[family], self, item) if family in _ITEMS else NotImplemented
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
        items = item if isinstance(item, tuple) else (item,)
        if any(isinstance(i, tuple) for i in items):  # to NumPy a list of places, to the op the triple of a range
            raise AttributeValueError(f"the index {item!r}", where=user_line(), do="give integers or slices")
        return build(lookup(f"{family_of([self])}.tensor_slice"), (self,), items=items)


# Past `__setattr__`: only what is a term already is immutable.
_put_class = vars(object)["__class__"].__set__


def _transposed(term: Op, rank: int) -> Op:
    """The last two axes exchanged of a term of this rank, which is at least 2."""
    if term.rank != rank or rank < 2:
        wanted = "two axes" if rank == 2 else "at least two axes"
        what = f"the transpose of {describe(term, 1)}, {term.type!r}: expected {wanted}"
        raise ArgumentError(what, where=user_line())
    perm = (*range(rank - 2), rank - 1, rank - 2)
    return build(lookup("numpy.transpose"), (term,), perm=perm)


# -- building handles -------------------------------------------------------------------------------


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
    names = definition.attributes
    if len(attributes) != len(names) or not attributes.keys() >= set(names):
        raise ArgumentError(attributes_told(definition, attributes), where=info.place)
    try:
        args = _coerced(definition, args, info)
        attrs, type_ = definition.infer(tuple([a.type for a in args]), tuple([attributes[name] for name in names]))
    except NGraphRewriteError as error:
        raise located(error, definition, args, info.place, attributes) from None
    except Exception as error:  # a type rule's, which its author has to mend
        for stranger in (a for a in args if not isinstance(a, Op)):
            what = f"{definition}: the argument {clipped(stranger)} is not a term"
            raise ArgumentError(what, where=info.place, do="give a constant: ng.make_op makes them") from None
        error.add_note(
            f"raised by the declaration of {definition}, for {call_told(definition, args, attributes)} at {info.place}"
        )
        raise
    term = Op(definition, args, attrs, type_, info)
    if block is not None:
        block.built(term)
    return term


def _coerced(definition: OpDef, args: tuple[Op, ...], info: Info) -> tuple[Op, ...]:
    """Operands of another family than the op's, with the coercion that can only be meant."""
    types = [a.type for a in args]
    if fits(definition.kin, types):
        return args
    wanted = coerced(definition.kin, types, "elementwise" in definition.traits, definition.name)
    return tuple([a if axes is None else _relabelled(a, axes, info) for a, axes in zip(args, wanted, strict=True)])


def _relabelled(term: Op, axes: Axes, info: Info) -> Op:
    plain = axes == anonymous(axes.lengths)
    definition, attrs = (lookup("core.strip"), ()) if plain else (lookup("core.label"), (axes,))
    stored, type_ = definition.infer((term.type,), attrs)
    return Op(definition, (term,), stored, type_, info._replace(name=None, initial=None))


def family_of(terms: Iterable[Op]) -> str:
    """The family operators choose: that of the operand whose axes know most; axes for scalars alone."""
    try:
        return family_of_types(t.type for t in terms)
    except DTypeError as error:  # one is a tuple
        raise DTypeError(error.what, where=user_line(), do=error.do) from None
