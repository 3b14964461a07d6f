# SPDX-License-Identifier: Apache-2.0
"""Operations of a signature are rows of the catalogue too: what is declared of one, and terms made of it.

The name of the signature is the family of its operations. Declaring the same again changes nothing, and declaring
something else under a name that is taken is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError
from ngraph_rewrite.terms.canonical import stored_attributes
from ngraph_rewrite.terms.catalogue import OpDef, definitions, enter, find
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.sorts import Profile, SortType
from ngraph_rewrite.types.tensor import TensorType

LAWS = ("associative", "commutative")
# What keywords of a call mean already.
_TAKEN = frozenset({"name", "initial", "definition", "args", "self"})


@dataclass(frozen=True)
class Operation:
    """An operation of a signature: called with terms, it makes a term."""

    definition: OpDef

    def __call__(self, *args: Op, name: str | None = None, **attributes: Any) -> Op:
        """The operation applied.

        Raises:
            ArgumentError: for a wrong number of arguments, or something else than terms.
            DTypeError: for an argument of another sort.
        """
        for arg in args:
            if not isinstance(arg, Op):
                what = f"{self.definition.short} takes terms, not {arg!r}"
                raise ArgumentError(what, where=user_line(), do="what is no term is an attribute, given by its name")
        return build(self.definition, args, name=name, **attributes)

    def __repr__(self) -> str:
        return declaration(self.definition)


def declare(
    family: str,
    name: str,
    profile: Profile,
    attributes: Sequence[str] = (),
    meaning: Callable[..., Any] | None = None,
) -> Operation:
    """The operation with this name and profile; a new row of the catalogue if there is none.

    Raises:
        AttributeValueError: if something else has the name, or what is declared cannot be.
    """
    wanted = _definition(family, name, profile, tuple(attributes), meaning)
    have = find(wanted.name)
    if have is None:
        _check_identities(wanted)
        return Operation(enter(wanted))
    if (have.profile, have.attributes) != (profile, wanted.attributes):
        what = f"the operation {name} of {family} is declared as {declaration(have)} and as {declaration(wanted)}"
        raise AttributeValueError(what, do="choose another name for the signature or for the operation")
    if meaning is not None and have.meaning is not meaning:
        what = f"the operation {name} of {family} is declared already with another meaning, or with none"
        raise AttributeValueError(what, do="give the meaning where it is declared first")
    return Operation(have)


def operations(family: str) -> list[Operation]:
    """All operations of a signature, in the order of declaration."""
    return [Operation(d) for d in definitions(family) if d.profile is not None]


def sorts(family: str) -> dict[str, SortType]:
    """The sorts that operations of a signature have, by name."""
    found: dict[str, SortType] = {}
    for operation in operations(family):
        profile = operation.definition.profile
        assert profile is not None
        for sort in (*profile.arguments, profile.result):
            found.setdefault(sort.name, sort)
    return found


def value_of_term(term: Op) -> Any:
    """What a ground term means, by the functions that its operations are declared with.

    Raises:
        KeyError: with the name of an operation without a meaning.
    """
    values: dict[Op, Any] = {}
    for one in topological([term]):
        function = one.definition.meaning
        if function is None:
            raise KeyError(one.definition.name)
        values[one] = function(*(values[a] for a in one.args), **one.attributes)
    return values[term]


def declaration(definition: OpDef) -> str:
    """An operation as rule files declare it.

    >>> nat = SortType("example", "Nat")
    >>> declaration(declare("example", "plus", Profile((nat, nat), nat, commutative=True)).definition)
    'plus : Nat Nat -> Nat [commutative]'
    """
    profile = definition.profile
    assert profile is not None
    said = [law for law in LAWS if getattr(profile, law)]
    if profile.identity is not None:
        said.append(f"identity {profile.identity.partition('.')[2]}")
    for word, listed in (("attributes", definition.attributes), ("lazy", profile.lazy), ("frozen", profile.frozen)):
        said += [f"{word} {' '.join(map(str, listed))}"] if listed else []
    inside = f" [{', '.join(said)}]" if said else ""
    given = "".join(f"{sort} " for sort in profile.arguments)
    return f"{definition.short} : {given}-> {profile.result}{inside}"


def _check_identities(new: OpDef) -> None:
    """Refuse an identity of another sort, whether it is declared before what it is the identity of or after."""
    assert new.profile is not None
    own = [] if new.profile.identity is None else [(new, find(new.profile.identity))]
    others = definitions(new.family) if new.arity == 0 else ()
    others_own = [(d, new) for d in others if d.profile is not None and d.profile.identity == new.name]
    for definition, identity in own + others_own:
        if identity is None or identity.profile is None or definition.profile is None or identity.arity != 0:
            continue  # not declared yet; that it takes arguments is told by who reads the rest
        if not identity.profile.result.fits(definition.profile.result):
            what = f"the identity {identity.short} of {definition.short} is of the sort {identity.profile.result}"
            raise AttributeValueError(what, do=f"declare `operation {identity.short} : -> {definition.profile.result}`")


def _definition(
    family: str, name: str, profile: Profile, attributes: tuple[str, ...], meaning: Callable[..., Any] | None
) -> OpDef:
    _check(name, profile, attributes)
    count = None if profile.associative else len(profile.arguments)
    return OpDef(
        name=f"{family}.{name}",
        attributes=attributes,
        arity=count,
        least=len(profile.arguments) if count is not None else 0 if profile.identity else 1,
        rank=0,
        type_rule=_type_rule(name, profile),
        meaning=meaning,
        normalise=_normalise(attributes) if attributes else None,
        traits=frozenset(law for law in LAWS if getattr(profile, law)),
        family=family,
        short=name,
        profile=profile,
    )


def _type_rule(name: str, profile: Profile) -> Callable[..., TensorType]:
    def type_rule(*types: TensorType, **attributes: Any) -> TensorType:
        for place, type_ in enumerate(types):
            wanted = profile.sort_at(place)
            if not (isinstance(type_, SortType) and type_.fits(wanted)):
                given = type_.name if isinstance(type_, SortType) else f"a tensor of type {type_!r}"
                what = f"{name} takes {wanted} as argument number {place + 1}, not {given}"
                raise DTypeError(what, do="terms of a signature are made by its operations")
        return profile.result

    return type_rule


def _normalise(names: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    def normalise(*types: TensorType, **attributes: Any) -> dict[str, Any]:
        return dict(zip(names, stored_attributes(names, tuple([attributes[n] for n in names])), strict=True))

    return normalise


def _check(name: str, profile: Profile, attributes: tuple[str, ...]) -> None:
    """Whether what is declared can be."""
    names = [name, *attributes]
    if not all(n.isidentifier() for n in names) or len(set(attributes)) < len(attributes):
        raise AttributeValueError(f"{' '.join(names)}: these cannot be names of an operation and its attributes")
    if taken := _TAKEN & set(attributes):
        raise AttributeValueError(f"an attribute of {name} cannot be called {min(taken)}", do="choose another name")
    laws = [law for law in LAWS if getattr(profile, law)]
    two = len(profile.arguments) == 2 and profile.arguments[0] == profile.arguments[1]
    if laws and (not two or attributes or profile.held):
        what = f"{name} cannot be {laws[0]}: it takes two arguments of one sort, none of them lazy, and no attribute"
        raise AttributeValueError(what, do="declare it with another profile")
    if profile.associative and profile.result != profile.arguments[0]:
        raise AttributeValueError(f"{name} cannot be associative: {profile.result} is no argument of it")
    if profile.identity is not None and not profile.associative:
        raise AttributeValueError(f"{name} cannot have an identity: it is not associative", do="write rules for it")
    if not profile.held <= set(range(len(profile.arguments))) or set(profile.lazy) & set(profile.frozen):
        raise AttributeValueError(f"{name} has no such arguments to hold: {sorted(profile.held)}", do="count from 0")
