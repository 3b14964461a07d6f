# SPDX-License-Identifier: Apache-2.0
"""Rules that are switched off for a while, by name: what is lowered meanwhile does without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.info import user_line


class Choice(NamedTuple):
    """What rules there were to choose from, and what was chosen."""

    every: RuleSet
    classes: tuple[str, ...]
    disabled: tuple[str, ...]


_DISABLED: ContextVar[tuple[str, ...]] = ContextVar("disabled", default=())


@contextmanager
def disable(*names: str, rules: RuleSet | None = None) -> Iterator[None]:
    """Computations that are made inside do without these rules; blocks inside each other add up.

    A computation stays as it was made: calling it outside changes nothing. Each thread has blocks of its own.

    Args:
        names: The names of rules; one written with ``for`` stands for all its alternatives.
        rules: Rules of your own that may be named too.

    Raises:
        ArgumentError: for a name that no rule has; the message tells the nearest.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> with ng.make_transformer("cpu") as transformer:
    ...     with disable("semi.log_exp"):
    ...         plain = transformer.computation(ng.log(ng.exp(x)), x)
    >>> [t.definition.short for t in ng.topological(plain.lowering.roots)]
    ['placeholder', 'strip', 'exp', 'log', 'label']
    """
    with switched_off(known_names(library() + (rules or RuleSet()), names)):
        yield


@contextmanager
def switched_off(names: Iterable[str]) -> Iterator[None]:
    """As `disable`, for names that need not be looked for."""
    token = _DISABLED.set((*_DISABLED.get(), *names))
    try:
        yield
    finally:
        _DISABLED.reset(token)


def disabled_now() -> tuple[str, ...]:
    """The names that the blocks around this line switch off, each once, in order.

    >>> disabled_now()
    ()
    """
    return tuple(sorted(set(_DISABLED.get())))


def known_names(rules: RuleSet, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, if each is that of a rule.

    Raises:
        ArgumentError: for one that is not, with the names that are nearest.
    """
    for name in names:
        try:
            rules.named(name)
        except ArgumentError as error:
            raise ArgumentError(error.what, where=user_line(), do=error.do) from None
    return names
