# SPDX-License-Identifier: Apache-2.0
"""Names that are looked for in ``ng`` or ``ng.simple``, and are elsewhere: functions by position have most of them."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Iterable, Mapping

import numpy as np

from ngraph_rewrite.errors import MissingMethodError
from ngraph_rewrite.frontend.numpy.absent import NAMES, TRANSFORMS
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
_BY_MARKS: Mapping[str, str] = {
    **TRANSFORMS,
    **dict.fromkeys(("matmul", "matvec", "vecmat", "vecdot"), "use ng.simple.dot, or tensordot"),
    "var": "use ng.simple.variance", "concatenate": "use ng.simple.concat", "gather": "use ng.simple.take",
    **dict.fromkeys(("zeros", "ones", "array", "asarray"), "use ng.simple.constant"),
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
    if name.startswith("_"):
        return _unknown("ngraph_rewrite", name)
    do = _BY_NAME.get(name) or _same(name, "ng", known) or _by_position(name, "") or _near(name, "ng", known)
    return _refused("ng", name, do)


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
    if name.startswith("_"):
        return _unknown("ngraph_rewrite.frontend.simple", name)
    ufunc = getattr(np, name, None)
    do = _BY_MARKS.get(name) or _same(name, "ng.simple", known)
    if do is None and (own := NAMES["numpy"].get(name, name)) in ACTIVATIONS:
        do = f"ng.{own} takes terms with marks, too"
    elif do is None and isinstance(ufunc, np.ufunc) and ufunc.signature is None and name != "isnat":
        do = f"np.{name} of a term keeps its marks"
    do = do or _by_position(name, ", and forgets marks") or _near(name, "ng.simple", known)
    return _refused("ng.simple", name, do)


def _same(name: str, called: str, known: Iterable[str]) -> str | None:
    """A name that differs in nothing but its case, or that other libraries have for the same."""
    there = {k.lower(): k for k in known}
    found = there.get(name.lower()) or there.get(NAMES["numpy"].get(name, ""))
    return f"use {called}.{found}" if found else None


def _by_position(name: str, more: str) -> str | None:
    """What ``ng.numpy`` and ``ng.numpy.special`` have: functions, but for dtypes and numbers."""
    numpy = sys.modules[f"{__name__.rpartition('.')[0]}.numpy"]
    name = NAMES["numpy"].get(name, name)
    if inspect.isfunction(getattr(numpy.special, name, None)):
        return f"ng.numpy.special.{name} goes by position{more}"
    if name not in numpy.__all__:
        return None
    goes = inspect.isfunction(getattr(numpy, name))
    return f"ng.numpy.{name} goes by position{more}" if goes else f"use ng.numpy.{name}"


def _near(name: str, called: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)
    return f"did you mean {called}.{near[0]}?" if near else None


def _unknown(module: str, name: str) -> AttributeError:
    """The error for what tools look for in any module, and nobody reads: no name is looked for that is like it."""
    return AttributeError(f"module {module!r} has no attribute {name!r}")


def _refused(called: str, name: str, do: str | None) -> AttributeError:
    return MissingMethodError(f"{called} has no {name}", where=user_line(), do=do)
