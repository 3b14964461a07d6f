# SPDX-License-Identifier: Apache-2.0
"""A whole program as Python that can be run: its terms, its arguments, and what its variables begin with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.initialization import Initials
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.printing import program as printed
from ngraph_rewrite.testing.sources import Source


def as_source(
    returns: Sequence[Op], inputs: Sequence[Op], calls: Sequence[Sequence[Array]], imports: Iterable[str] = ()
) -> str:
    """Lines that bind ``program`` to a program of these parts.

    Args:
        imports: What else is used of `ngraph_rewrite.testing`.

    >>> from ngraph_rewrite.testing import term
    >>> x = term("core.placeholder", axes=[2], dtype="int8").named("x")
    >>> print(as_source([term("semi.negative", x)], [x], [[np.array([1, 2], "int8")]]))
    import numpy as np
    from ngraph_rewrite import Axes
    from ngraph_rewrite.testing import program_of, term
    <BLANKLINE>
    x = term("core.placeholder", axes=Axes([2]), dtype=np.dtype("int8")).named("x")
    result0 = term("semi.negative", x)
    input0 = x
    program = program_of([result0], {input0: [np.array([1, 2], "int8")]})
    """
    begins = initials(returns)
    results = {f"result{i}": t for i, t in enumerate(returns)}
    taken = {f"input{i}": t for i, t in enumerate(inputs)}
    variables = {f"variable{i}": v for i, v in enumerate(begins)}
    terms = {f"initial{i}": v for i, v in enumerate(begins.values()) if isinstance(v, Op)}
    lines = printed({**results, **terms, **taken, **variables}, imports=("program_of", *imports))
    source = Source({})
    arguments = [f"{n}: [{', '.join(source.array(c[i]) for c in calls)}]" for i, n in enumerate(taken)]
    values = [f"{n}: {_begun(begins[v], f'initial{n[8:]}', source)}" for n, v in variables.items()]
    made = f"program = program_of([{', '.join(results)}]{_dictionary('', arguments)}{_dictionary('initial=', values)})"
    needed = ["import numpy as np", *source.imports()] if "np." in made else source.imports()
    head = [line for line in needed if line not in lines]
    return "\n".join([*head, *lines, made])


def _begun(value: Any, name: str, source: Source) -> str:
    if isinstance(value, Op):
        return name
    return source.array(np.asarray(0.0 if value is None else value))


def _dictionary(name: str, items: list[str]) -> str:
    return f", {name}{{{', '.join(items)}}}" if items else ""


def initials(returns: Sequence[Op]) -> dict[Op, Any]:
    """The variables that some terms need, with what they begin with: an array or number, a term, or None.

    One that is needed for another's initial value comes before that one.
    """
    found: dict[Op, Any] = {}
    waiting = [t for t in topological(returns) if t.definition.name == "core.variable"]
    while waiting:
        variable = waiting.pop()
        found.pop(variable, None)
        given = found[variable] = Initials().given(variable)
        if isinstance(given, Op):
            waiting += [t for t in topological([given]) if t.definition.name == "core.variable"]
    return dict(reversed(found.items()))


def all_terms(returns: Sequence[Op]) -> list[Op]:
    """What is asked for, and what variables begin with that is a term."""
    return [*returns, *(value for value in initials(returns).values() if isinstance(value, Op))]
