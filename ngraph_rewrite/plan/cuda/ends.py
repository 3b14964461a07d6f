# SPDX-License-Identifier: Apache-2.0
"""The ends of a graph on a device: what its transfers bring there, and what of it they bring back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.terms.op import Op, describe, topological

_LABELS = ("core.strip", "core.label")
_TRANSFER, _GIVEN = "semi.transfer", "core.placeholder"


class Ends(NamedTuple):
    """What moves between host and device, as the graph says it.

    Attributes:
        inputs: The numbers of the arguments that are brought to the device.
        computed: The terms that are computed there and wanted, each once.
        results: Of each result the space and the number of what it is: of what is computed, or of an argument.
        owners: Of each computed term the number of the first result that it is.
    """

    inputs: tuple[int, ...]
    computed: tuple[Op, ...]
    results: tuple[tuple[str, int], ...]
    owners: tuple[int, ...]


def ends(results: Sequence[Op], writes: Sequence[Op], inputs: Sequence[Op]) -> Ends:
    """Read them off a graph that has its transfers.

    Raises:
        KernelError: for a result that is on the device, with nothing that brings it to the host.
    """
    number = {placeholder: i for i, placeholder in enumerate(inputs)}
    computed: dict[Op, int] = {}
    found = list[tuple[str, int]]()
    for result in results:
        base = _unlabelled(result)
        if base.definition.name == _TRANSFER and base.attribute("to") == "host":
            found.append(("result", computed.setdefault(base.args[0], len(computed))))
        elif base in number:
            found.append(("input", number[base]))
        else:
            raise KernelError(
                f"{describe(result, 2)} is on the device, and no transfer brings it to the host",
                do="let the pass `transfers` be one of the target's",
            )
    owners = tuple(found.index(("result", k)) for k in range(len(computed)))
    return Ends(_brought([*computed, *writes], number), tuple(computed), tuple(found), owners)


def _brought(roots: Sequence[Op], number: dict[Op, int]) -> tuple[int, ...]:
    """The numbers of the placeholders that are moved to the device under some roots."""
    moved = [_unlabelled(t.args[0]) for t in topological(roots) if t.definition.name == _TRANSFER]
    return tuple(sorted({number[base] for base in moved if base in number}))


def _unlabelled(term: Op) -> Op:
    while term.definition.name in _LABELS:
        term = term.args[0]
    return term
