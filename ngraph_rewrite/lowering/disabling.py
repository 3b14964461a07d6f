# SPDX-License-Identifier: Apache-2.0
"""Rules that are switched off for a while, by name: whatever is rewritten meanwhile does without them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.waivers import covers_name
from ngraph_rewrite.terms.info import user_line


class Choice(NamedTuple):
    """What rules there were to choose from, and what was chosen."""

    every: RuleSet
    classes: tuple[str, ...]
    disabled: tuple[str, ...]


_DISABLED: ContextVar[tuple[str, ...]] = ContextVar("disabled", default=())


@contextmanager
def disable(*names: str, rules: RuleSet | str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Whatever is rewritten inside does without these rules; blocks inside each other add up.

    That is so for computations that are made inside, and for `ng.deriv`, `ng.normal_form`, `ng.rewrite` and
    `ng.saturate`. A computation stays as it was made: calling it outside changes nothing. Each thread has blocks of
    its own.

    Args:
        names: The names of rules; one written with ``for`` stands for all its alternatives.
        rules: Rules of your own that may be named too: a set, or a rule file or its text.

    Raises:
        ArgumentError: for a name that no rule has (the message tells the nearest), or something else than a name.
        RuleFileError: for a rule file with a mistake.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> with ng.make_transformer("cpu") as transformer:
    ...     with disable("semi.log_exp"):
    ...         plain = transformer.computation(ng.log(ng.exp(x)), x)
    >>> [t.definition.short for t in ng.topological(plain.lowering.roots)]
    ['placeholder', 'strip', 'exp', 'log', 'label']
    """
    own = as_rules(rules)
    written = [name for name in names if isinstance(name, str)]  # what is no name is refused below
    every = own if all(any(covers_name(n, rule.name) for rule in own) for n in written) else own + library()
    with switched_off(known_names(every, names)):
        yield


@contextmanager
def switched_off(names: Iterable[str]) -> Iterator[None]:
    """As `disable`, for names that need not be looked for."""
    token = _DISABLED.set((*_DISABLED.get(), *names))
    try:
        yield
    finally:
        _DISABLED.reset(token)


@contextmanager
def only_off(names: Iterable[str]) -> Iterator[None]:
    """As `switched_off`, whatever blocks there are around: for what is done once more as it was done before."""
    token = _DISABLED.set(tuple(names))
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
