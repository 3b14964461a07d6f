# SPDX-License-Identifier: Apache-2.0
"""A whole program: what is asked for, the placeholders, and the arguments of several calls in a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ngraph_rewrite.plan.binding import bind_lengths
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.given import check_calls, check_given, check_terms
from ngraph_rewrite.testing.programs.source import all_terms, as_source

NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, repr=False)
class Program:
    """Handles to compute together, and what to call the computation with.

    Attributes:
        returns: The handles whose values are asked for.
        inputs: The placeholders, in the order of the arguments.
        calls: The arguments of each call; variables keep their state from one to the next.
    """

    returns: tuple[Op, ...]
    inputs: tuple[Op, ...]
    calls: tuple[tuple[Array, ...], ...]

    @property
    def handles(self) -> list[Op]:
        """Every term under what is asked for, arguments first."""
        return topological(self.returns)

    def source(self, imports: Iterable[str] = ()) -> str:
        """The Python that binds ``program`` to a program like this one.

        Args:
            imports: What else is used of `ngraph_rewrite.testing`.
        """
        return as_source(self.returns, self.inputs, self.calls, imports)

    def __repr__(self) -> str:
        return self.source()

    @property
    def size(self) -> tuple[int, int]:
        """How many terms there are, and how many numbers in all arguments and constants: what minimising lowers."""
        return len(self.handles), sum(array.size for call in self.calls for array in call)

    def lengths(self, call: int) -> dict[str, int]:
        """What the unknown lengths are in a call."""
        return bind_lengths(self.inputs, [array.shape for array in self.calls[call]])


def _placeholders(returns: Sequence[Op]) -> list[Op]:
    return [t for t in topological(all_terms(returns)) if t.definition.name == "core.placeholder"]


def of_terms(returns: Sequence[Op], arguments: Mapping[Op, Sequence[Array]]) -> Program:
    """A program of some terms that takes only the placeholders it needs.

    Args:
        arguments: Each placeholder with its argument in each call.
    """
    needed = {t.attribute("uid") for t in _placeholders(returns)}
    kept = [(p, arrays) for p, arrays in arguments.items() if p.attribute("uid") in needed]
    count = max(map(len, arguments.values()), default=1)
    calls = tuple(tuple(arrays[i] for _, arrays in kept) for i in range(count))
    return Program(tuple(returns), tuple(p for p, _ in kept), calls)


def program_of(
    returns: Sequence[Op],
    arguments: Mapping[Op, Sequence[Array]] = NOTHING,
    initial: Mapping[Op, Any] = NOTHING,
) -> Program:
    """A program as it is written in a saved file.

    Args:
        arguments: Each placeholder with its argument in each call.
        initial: What variables begin with: an array, or a term.

    Raises:
        ArgumentError: for what is no term, and for arrays that do not fit.

    >>> import numpy as np
    >>> from ngraph_rewrite.testing import term
    >>> x = term("core.placeholder", axes=[2], dtype="int8").named("x")
    >>> program_of([term("semi.negative", x)], {x: [np.array([1, 2], "int8")]}).size
    (2, 2)
    """
    check_terms("program_of", returns)
    check_calls("program_of", arguments)
    begun: dict[Op, Op] = {}
    for variable in initial:
        _begin(variable, initial, begun)
    program = of_terms(substituted(returns, begun), arguments)
    check_given("program_of", _placeholders(program.returns), program.inputs)
    return program


def _begin(variable: Op, initial: Mapping[Op, Any], begun: dict[Op, Op]) -> None:
    """Put the variable that begins as it is said in `begun`, after those that this depends on."""
    value = initial[variable]
    if variable not in begun and isinstance(value, Op):
        for other in topological([value]):
            if other in initial:
                _begin(other, initial, begun)
        (value,) = substituted([value], begun)
    info = variable.info._replace(initial=value)
    begun.setdefault(variable, Op(variable.definition, (), variable.attrs, variable.type, info))
