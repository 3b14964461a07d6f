# SPDX-License-Identifier: Apache-2.0
"""Terms with other terms put in the place of some: the graph they came from stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# A term like the first, with these arguments.
Rebuild = Callable[[Op, tuple[Op, ...]], Op]


def rebuilt(term: Op, args: tuple[Op, ...]) -> Op:
    """The same handle with other arguments of the same types.

    >>> from ngraph_rewrite.frontend.axes import exp, variable
    >>> x, y = variable([], name="x"), variable([], name="y")
    >>> rebuilt(exp(x), (y,))
    axes.exp(y)
    """
    return Op(term.definition, args, term.attrs, term.type, term.info)


def substituted(
    roots: Iterable[Op], new: Mapping[Op, Op], rebuild: Rebuild = rebuilt, order: Iterable[Op] | None = None
) -> list[Op]:
    """The roots with the terms in `new` replaced, wherever they stand below them; what is not touched is kept.

    Args:
        rebuild: Makes a term with new arguments.
        order: The terms that may have to be rebuilt, arguments first, if they are known.

    >>> from ngraph_rewrite.frontend.axes import exp, variable
    >>> x, y = variable([], name="x"), variable([], name="y")
    >>> substituted([exp(x) * 2, y], {x: y})
    [axes.multiply(axes.exp(y), 2.0), y]
    """
    roots = list(roots)
    found: dict[Op, Op] = dict(new)
    for term in topological(roots) if order is None else order:
        if term not in found:
            args = tuple([found.get(a, a) for a in term.args])
            if args != term.args:
                found[term] = rebuild(term, args)
    return [found.get(root, root) for root in roots]
