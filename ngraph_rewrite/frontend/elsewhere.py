# SPDX-License-Identifier: Apache-2.0
"""Names that are looked for in ``ng`` or ``ng.simple``, and are elsewhere: functions by position have most of them."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping

import numpy as np

from ngraph_rewrite.errors import MissingMethodError
from ngraph_rewrite.frontend.numpy.absent import TRANSFORMS
from ngraph_rewrite.frontend.numpy.activation_formulas import ACTIVATIONS
from ngraph_rewrite.terms.info import user_line

_BY_NAME: Mapping[str, str] = {
    **TRANSFORMS,
    "abs": "use ng.absolute", "pow": "use ng.power", "var": "use ng.variance", "matmul": "use ng.dot",
    "concat": "use ng.concat_along_axis", "concatenate": "use ng.concat_along_axis",
    "transpose": "axes are matched by name, in any order; ng.axes_with_order gives a result one",
    "reshape": "use ng.flatten, ng.flatten_at or ng.unflatten; ng.numpy.reshape goes by position",
    "random": "use ng.uniform or ng.normal, by name, or ng.numpy.random, by position",
    "dropout": "ng.select(ng.uniform(x.axes) < keep, x / keep, 0.0)",
    "einsum": "ng.dot sums over the axes that both have; ng.numpy.einsum goes by position",
    "special": "use ng.numpy.special; SciPy's ufuncs take terms with names, which stay",
    "linalg": "use ng.numpy.linalg, by position", "fft": "use ng.numpy.fft, by position",
    "nn": "functions between layers are in ng itself: relu, softmax, dot, ...",
    "zeros": "use ng.constant(0.0, axes)", "ones": "use ng.constant(1.0, axes)",
    "arange": "use ng.constant(np.arange(n), axes)", "array": "use ng.constant(array, axes)",
    "gather": "use scores[classes], or ng.lookuptable",
}  # fmt: skip


def refused_by_name(name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that ``ng`` has not.

    >>> import ngraph_rewrite as ng
    >>> raise refused_by_name("cumsum", ng.__all__)
    Traceback (most recent call last):
        ...
    ngraph_rewrite.errors.MissingMethodError: ng has no cumsum
      at ...
      ng.numpy.cumsum goes by position
    """
    return _refused(
        "ngraph_rewrite", "ng", name, _BY_NAME.get(name) or _by_position(name, "") or _near(name, "ng", known)
    )


def refused_by_marks(name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that ``ng.simple`` has not.

    >>> import ngraph_rewrite as ng
    >>> raise refused_by_marks("sinh", ng.simple.__all__)
    Traceback (most recent call last):
        ...
    ngraph_rewrite.errors.MissingMethodError: ng.simple has no sinh
      at ...
      np.sinh of a term keeps its marks
    """
    if name in ACTIVATIONS:
        do: str | None = f"ng.{name} takes terms with marks, too"
    elif isinstance(getattr(np, name, None), np.ufunc):
        do = f"np.{name} of a term keeps its marks"
    else:
        do = TRANSFORMS.get(name) or _by_position(name, ", and forgets marks") or _near(name, "ng.simple", known)
    return _refused("ngraph_rewrite.frontend.simple", "ng.simple", name, do)


def _by_position(name: str, more: str) -> str | None:
    numpy = sys.modules[f"{__name__.rpartition('.')[0]}.numpy"]
    return f"ng.numpy.{name} goes by position{more}" if name in numpy.__all__ else None


def _near(name: str, called: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)
    return f"did you mean {called}.{near[0]}?" if near else None


def _refused(module: str, called: str, name: str, do: str | None) -> AttributeError:
    if name.startswith("_"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return MissingMethodError(f"{called} has no {name}", where=user_line(), do=do)
