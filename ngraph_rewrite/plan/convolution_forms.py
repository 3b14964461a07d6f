# SPDX-License-Identifier: Apache-2.0
"""The form of calls that convolve: all but their operands, which whoever has operands that lie so fills in.

Networks have many convolutions of few shapes; what is worked out for one of them stands for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import Call, Scratch
from ngraph_rewrite.terms.op import Op

# What stands for operands.
_IMAGES: Op = "images"  # type: ignore[assignment]
_FILTERS: Op = "filters"  # type: ignore[assignment]


def form_of(given: Convolution) -> Convolution:
    """A convolution of what lies as the operands of this one do."""
    return given._replace(x=Load(_IMAGES, given.x.layout), w=Load(_FILTERS, given.w.layout))


def forms(calls: Iterable[Call]) -> tuple[Call, ...]:
    """Calls of such a convolution that say which of their arguments are no numbers."""
    return tuple([call._replace(places=_places(call)) for call in calls])


def _places(call: Call) -> tuple[int, ...]:
    return tuple([i for i, argument in enumerate(call.arguments) if type(argument) is not int])


def filled(found: Sequence[Call], given: Convolution) -> tuple[Call, ...]:
    """The calls of a convolution, with operands and workspace of its own."""
    spaces = {space: Scratch(space.bytes, space.chunks) for form in found for space in form.scratch}
    return tuple([_filled(form, given, spaces) for form in found])


def _filled(form: Call, given: Convolution, spaces: dict[Scratch, Scratch]) -> Call:
    arguments = list(form.arguments)
    for place in form.places or ():
        value = arguments[place]
        if isinstance(value, Load):
            arguments[place] = given.x if value[0] is _IMAGES else given.w
        elif isinstance(value, Scratch):
            arguments[place] = spaces[value]
    own = None if form.given is None else given
    scratch = tuple([spaces[space] for space in form.scratch])
    return Call(form.source, tuple(arguments), form.share, scratch, form.places, form.fixed, own, form.parts)
