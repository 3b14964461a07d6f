# SPDX-License-Identifier: Apache-2.0
"""The catalogue of ops: a row is a name, attributes, a type rule, a meaning and traits.

Everything else an op can have (rules, adjoints, kernels, a sympy meaning) is a column that some other
module adds by the op's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from keyword import iskeyword
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.errors import AttributeValueError, UnknownOpError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.plugins import found_plugin_ops
from ngraph_rewrite.terms.declaring import (
    check_exchange,
    check_functions,
    check_hashes,
    check_steps,
    check_words,
    checked_attributes,
    checked_type,
    parameters,
)
from ngraph_rewrite.terms.keys import apart, is_simple, keyed, truths
from ngraph_rewrite.types.sorts import Profile
from ngraph_rewrite.types.tensor import TensorType

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy_module("difflib")

# The families that ship, from what is executed to what users write.
STANDARD = ("semi", "simple", "numpy", "axes")
# With more arguments than so many, what a type rule said is not remembered.
MANY = 64
# A type rule takes the types of the arguments, and the attributes by keyword.
TypeRule = Callable[..., TensorType]
# A meaning takes the term (for its attributes and types) and the arguments' arrays.
Meaning = Callable[..., Any]
Attributes = dict[str, Any]
# Attributes as they are stored, the type of a term, and whether equal attributes are these (see `keyed`).
Inferred = tuple[tuple[Any, ...], TensorType, bool]


# What can be said of an op beside its type and meaning, and what it is for.
TRAITS: Mapping[str, str] = MappingProxyType(
    {
        "commutative": "its two operands may be exchanged: patterns match either order",
        "associative": "nests of it may be regrouped",
        "elementwise": "takes its operands index by index: operands of other families are labelled, maps are fused",
        "comparison": "elementwise, with a bool result",
        "reduction": "takes elements together along axes",
        "narrowing": "of more operands it stands above itself with fewer, in the order in which rules go down",
        "view": "moves no element",
        "source": "has no operands",
        "draw": "gives random numbers, others in each call",
        "storage": "is kept between calls",
        "effect": "runs in an order of its own, or changes storage",
        "parameter": "has a value only inside what binds it",
        "binder": "binds parameters that stand in its operands",
    }
)


@dataclass(frozen=True, eq=False)
class OpDef:
    """A row of the catalogue. Two definitions are equal only if they are the same row.

    Attributes:
        name: Family and name, ``"axes.dot"``.
        attributes: The names of the attributes, in the order terms store them.
        arity: The number of arguments; None if any number is allowed (at least `least`).
        rank: The place in the order of declaration: rules go down in it.
        type_rule: From argument types and attributes to the type, or an error.
        meaning: What it computes, in NumPy: the oracle of every test.
        normalise: From argument types and given attributes to the stored ones (``axis=-1`` to ``rank-1``).
        traits: Any of `TRAITS`.
        profile: What a signature declares of it, if its terms are no tensors.
        below: The op just below which it stands in the order in which rules go down, if not where its family does.
        apart: Whether attributes that Python calls equal make different terms, as 0.0 and -0.0, or 1 and True: those of
            ops that ship are stored in one form.
    """

    name: str
    attributes: tuple[str, ...]
    arity: int | None
    least: int
    rank: int
    type_rule: TypeRule
    meaning: Meaning | None
    normalise: Callable[..., Attributes] | None
    traits: frozenset[str]
    doc: str = field(default="", repr=False)
    family: str = ""
    short: str = ""
    profile: Profile | None = field(default=None, repr=False)
    below: str = ""
    apart: bool = False

    def __repr__(self) -> str:
        return self.name

    @property
    def kin(self) -> str:
        """The standard family whose tensors it takes: its own, or the one its family stands above."""
        return kin(self.family)

    @property
    def shipped(self) -> bool:
        """Whether this package declares it, and not its user or another package."""
        return self.profile is None and _ships(self.type_rule)

    @property
    def commutative(self) -> bool:
        """Whether the two arguments may be exchanged."""
        return "commutative" in self.traits

    def infer(self, types: tuple[TensorType, ...], attrs: tuple[Any, ...]) -> tuple[tuple[Any, ...], TensorType]:
        """The stored attributes and the type of a term with arguments of these types.

        Remembered for terms with arguments, as graphs ask the same again and again; not for those with very many: what
        grows by one argument at a time would be in memory with all that it was.
        """
        return self.inferred(types, attrs)[:2]

    def inferred(self, types: tuple[TensorType, ...], attrs: tuple[Any, ...]) -> Inferred:
        """As `infer`, and whether equal attributes are the stored ones."""
        if 0 < len(types) <= MANY:
            if is_simple(attrs):
                return _inferred(self, types, attrs, None)
            if keyed(attrs):
                return _inferred(self, types, attrs, truths(attrs))
        stored, type_ = self._infer(types, attrs)
        return stored, type_, keyed(stored)

    def _infer(self, types: tuple[TensorType, ...], attrs: tuple[Any, ...]) -> tuple[tuple[Any, ...], TensorType]:
        given = dict(zip(self.attributes, attrs, strict=True))
        if self.normalise is not None:
            found = self.normalise(*types, **given)
            given = dict(checked_attributes(self.name, self.attributes, self.normalise, found))
            attrs = tuple(given[name] for name in self.attributes)
        check_hashes(self.name, self.attributes, attrs)
        attrs = apart(attrs) if self.apart else attrs
        return attrs, checked_type(self.name, self.type_rule, self.type_rule(*types, **given))


def _ships(type_rule: TypeRule) -> bool:
    module = getattr(type_rule, "__module__", None)  # of what is executed as text it may be None
    return (module or "").startswith("ngraph_rewrite.")


@lru_cache(maxsize=1 << 14)
def _inferred(definition: OpDef, types: tuple[TensorType, ...], attrs: tuple[Any, ...], bools: Any) -> Inferred:
    stored, type_ = definition._infer(types, attrs)
    return stored, type_, keyed(stored)


_CATALOGUE: dict[str, OpDef] = {}
_ABOVE: dict[str, str] = {}


def place_family(name: str, *, above: str) -> None:
    """Place an op family of your own above another: its ops may be lowered to ops of that one.

    Its tensors are those of the family below. A family that nobody places stands below ``semi``, where the base
    ops of targets belong: rules may lower or select to its ops, and they are lowered no further.

    Args:
        above: ``semi``, ``simple``, ``numpy`` or ``axes``.

    Raises:
        AttributeValueError: for what is no name, that of a family that ships, one that is placed elsewhere already, or
            another family below.

    >>> place_family("example_family", above="axes")
    >>> kin("example_family"), kin("semi"), kin("example_target")
    ('axes', 'semi', 'example_target')
    """
    if not isinstance(name, str) or not _is_word(name):
        raise AttributeValueError(f"an op family cannot be called {name!r}", do="give it the name of a Python variable")
    if name in ("core", *STANDARD):
        raise AttributeValueError(f"the family {name!r} ships, and stands where it does", do="choose a new name")
    if above not in STANDARD:
        raise AttributeValueError(f"the family {name!r} cannot stand above {above!r}", do=f"above={STANDARD}")
    if _ABOVE.setdefault(name, above) != above:
        raise AttributeValueError(f"the family {name!r} stands above {_ABOVE[name]!r}", do="choose a new name")


def kin(family: str) -> str:
    """The standard family whose tensors a family takes; itself, for one that was placed nowhere."""
    return _ABOVE.get(family, family)


def op(
    name: str,
    *traits: str,
    meaning: Meaning | None = None,
    normalise: Callable[..., Attributes] | None = None,
    below: str = "",
) -> Callable[[TypeRule], TypeRule]:
    """Declare an op: decorates its type rule, whose parameters are the arguments and attributes.

    Positional parameters are arguments (``*xs`` for any number), keyword-only parameters attributes.

    Args:
        name: Family and name, ``"axes.tanh"``.
        traits: Any of `TRAITS`.
        meaning: What it computes: a function of the term and of the arrays of its arguments, in NumPy. That of a binder
            is a generator: for each step it yields the values of its parameters, by their identities, and is sent those
            of its arguments.
        normalise: From the types of the arguments and the attributes that were given, by keyword, to a dict of those
            that are stored (``axis=-1`` to ``axis=1``); it may refuse some.
        below: The op just below which it stands in the order in which rules go down. Without it, an op of a target
            stands below all of ``semi``, and a rule cannot take it apart into ops of that family.

    Raises:
        AttributeValueError: if the name is taken or is not ``family.name``, for an unknown trait, an unknown op to
            stand below, or an attribute that cannot be given.
        ArgumentError: for what is no name or no function.
    """
    check_words(name, traits, below)
    _check_known(name, traits, below)

    def declare(type_rule: TypeRule) -> TypeRule:
        family, _, short = name.partition(".")
        _check_new(name)
        if not (_is_word(family) and _is_word(short)):
            raise AttributeValueError(f"an op cannot be called {name!r}", do="use a name as family.name")
        args, attributes, variadic = parameters(name, type_rule)
        check_exchange(name, traits, args, variadic)
        check_functions(name, meaning=meaning, normalise=normalise)
        check_steps(name, traits, meaning)
        _CATALOGUE[name] = OpDef(
            name=name,
            attributes=attributes,
            arity=None if variadic else args,
            least=args,
            rank=len(_CATALOGUE),
            type_rule=type_rule,
            meaning=meaning,
            normalise=normalise,
            traits=frozenset(traits),
            doc=inspect.getdoc(type_rule) or "",
            family=family,
            short=short,
            below=below,
            apart=bool(attributes) and not _ships(type_rule),
        )
        return type_rule

    return declare


def _check_known(name: str, traits: tuple[str, ...], below: str) -> None:
    unknown = sorted(set(traits) - TRAITS.keys())
    if unknown:
        what = f"the op {name!r} cannot have the trait {unknown[0]!r}"
        raise AttributeValueError(what, do=f"choose among {', '.join(TRAITS)}")
    if below and below not in _CATALOGUE:
        what = f"the op {name!r} cannot stand below {below!r}, which no op is called"
        raise AttributeValueError(what, do=_near(below))


def _is_word(text: str) -> bool:
    """Whether an expression of a rule can name it."""
    return text.isidentifier() and not iskeyword(text)


def _check_new(name: str) -> None:
    if name in _CATALOGUE:
        what = f"there is an op called {name!r} already"
        raise AttributeValueError(what, do="use another name; a process declares an op once")


def enter(definition: OpDef) -> OpDef:
    """Put a definition into the catalogue, with the next place in the order of declaration.

    Raises:
        AttributeValueError: if its name is taken.
    """
    _check_new(definition.name)
    _CATALOGUE[definition.name] = found = replace(definition, rank=len(_CATALOGUE))
    return found


@contextmanager
def undone_if_refused() -> Iterator[None]:
    """Inside, what is declared stays only if no error leaves the block: what was refused may be declared otherwise.

    >>> from contextlib import suppress
    >>> with suppress(ZeroDivisionError), undone_if_refused():
    ...     _ = op("example_target.undone")(lambda x: x), 1 / 0
    >>> find("example_target.undone") is None
    True
    """
    known = len(_CATALOGUE)
    try:
        yield
    except BaseException:
        for name in list(_CATALOGUE)[known:]:
            del _CATALOGUE[name]
        raise


def lookup(name: str) -> OpDef:
    """The definition called `name`, which an installed package may have.

    Raises:
        UnknownOpError: if there is none; the message names the nearest.
        ExtensionError: if a package that might have it cannot be used.
    """
    found = _CATALOGUE.get(name)
    if found is None and found_plugin_ops():
        found = _CATALOGUE.get(name)
    if found is None:
        raise UnknownOpError(f"no op is called {name}", do=_near(str(name)))
    return found


def _near(name: str) -> str | None:
    """Which ops have a name like it."""
    near = difflib.get_close_matches(name, _CATALOGUE, n=3)
    return f"did you mean {', '.join(near)}?" if near else None


def find(name: str) -> OpDef | None:
    """The definition called `name`, or None."""
    return _CATALOGUE.get(name)


def definitions(family: str | None = None) -> Iterator[OpDef]:
    """All ops of tensors, or all definitions of a family or a signature, in the order they were declared."""
    every = list(_CATALOGUE.values())
    return (d for d in every if (d.profile is None if family is None else d.family == family))
