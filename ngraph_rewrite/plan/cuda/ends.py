# SPDX-License-Identifier: Apache-2.0
"""The ends of a graph on a device: what its transfers bring there, and what of it they bring back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.terms.labels import unlabelled
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

_TRANSFER = "semi.transfer"


class Ends(NamedTuple):
    """What moves between host and device, as the graph says it.

    Attributes:
        inputs: The numbers of the arguments that are brought to the device.
        computed: The terms that are computed there and wanted, each once.
        results: What each result is, as a space and a key there: the number of what is computed, or of an argument, or
            a variable, as it is at the end.
        first: Of each result the number of the first one that is the same.
        owners: Of each computed term the number of the first result that it is.
    """

    inputs: tuple[int, ...]
    computed: tuple[Op, ...]
    results: tuple[tuple[str, Op | int], ...]
    first: tuple[int, ...]
    owners: tuple[int, ...]


def ends(results: Sequence[Op], writes: Sequence[Op], inputs: Sequence[Op]) -> Ends:
    """Read them off a graph that has its transfers.

    Raises:
        KernelError: for a result that is on the device, with nothing that brings it to the host.
    """
    number = {placeholder: i for i, placeholder in enumerate(inputs)}
    computed: dict[Op, int] = {}
    last = {write.args[0]: write for write in writes}
    found = list[tuple[str, Op | int]]()
    for result in results:
        base = unlabelled(result)
        if base.definition.name == _TRANSFER and base.attribute("to") == "host":
            there = base.args[0]
            variable = _state(unlabelled(there), last)
            if variable is None:
                found.append(("result", computed.setdefault(there, len(computed))))
            else:
                found.append(("storage", variable))
        elif base in number:
            found.append(("input", number[base]))
        else:
            raise KernelError(
                f"{describe(result, 2)} is on the device, and no transfer brings it to the host",
                do="let the pass `transfers` be one of the target's",
            )
    begins = {what: len(found) - i for i, what in enumerate(reversed(found), 1)}
    owners = tuple(begins["result", k] for k in range(len(computed)))
    moved = _brought([*computed, *writes], number)
    return Ends(moved, tuple(computed), tuple(found), tuple(begins[what] for what in found), owners)


def _brought(roots: Sequence[Op], number: dict[Op, int]) -> tuple[int, ...]:
    """The numbers of the placeholders that are moved to the device under some roots."""
    moved = [unlabelled(t.args[0]) for t in topological(roots) if t.definition.name == _TRANSFER]
    return tuple(sorted({number[base] for base in moved if base in number}))


def _state(term: Op, last: Mapping[Op, Op]) -> Op | None:
    """The variable that has a value when all is done; None if none has.

    Args:
        last: The last write of each variable.
    """
    name = term.definition.name
    if name == "core.variable":
        return None if term in last else term
    return term.args[0] if name == "core.after" and last.get(term.args[0]) is term.args[1] else None
