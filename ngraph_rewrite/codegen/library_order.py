# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that depend on the order of elements: stable sorts and binary search."""

from functools import cache

import numpy as np

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, is_real
from ngraph_rewrite.codegen.source import Source

# Runs up to this length are faster sorted by insertion than by merging.
_RUN = "8"


@cache
def render_sort(dtype: str, descending: bool) -> Source:
    """Return the kernel that sorts x[o, :, i] into y, both contiguous; ``rows`` counts the pairs (o, i).

    ``first`` and ``second`` are workspaces of ``rows * n`` elements; ``first`` may be ``y`` if ``inner`` is 1.

    >>> render_sort("float32", False).signature
    ('rows', 'n', 'inner', 'x', 'first', 'second', 'y')
    """
    load = f"load_{dtype}(x, line + j * inner, 0)"
    return _sorting(dtype, dtype, descending, item=load, item_key="item", left_key="left")


@cache
def render_argsort(dtype: str, descending: bool) -> Source:
    """As `render_sort`, for the positions of the elements: y and the workspaces are int64.

    >>> render_argsort("float32", False).signature
    ('rows', 'n', 'inner', 'x', 'first', 'second', 'y')
    """
    keys = {f"{name}_key": f"load_{dtype}(x, line + {name} * inner, 0)" for name in ("item", "left")}
    return _sorting(dtype, "int64", descending, item="j", **keys)


def _sorting(dtype: str, moved: str, descending: bool, **holes: str) -> Source:
    has_dtype(dtype, DTYPES, "sort")
    names = ("rows", "n", "inner", "x", "first", "second", "y")
    sizes = {"itemsize": str(np.dtype(moved).itemsize), "run": _RUN}
    precedes = _precedes("v", "u", dtype, descending)
    return rendered("sort", names, moved=moved, precedes=precedes, **sizes, **holes)


def _precedes(first: str, second: str, dtype: str, descending: bool = False) -> str:
    """Whether one value has to stand before another."""
    text = f"{first} {'>' if descending else '<'} {second}"
    return f"{text} or ({first} == {first} and {second} != {second})" if is_real(dtype) else text


@cache
def render_searchsorted(dtype: str, right: bool) -> Source:
    """Return the kernel that finds where v[j] belongs in the ascending x; after what equals it if ``right``.

    >>> render_searchsorted("int32", True).signature
    ('count', 'length', 'x', 'v', 'y')
    """
    has_dtype(dtype, DTYPES, "searchsorted")
    passes = f"not ({_precedes('wanted', 'found', dtype)})" if right else _precedes("found", "wanted", dtype)
    return rendered("searchsorted", ("count", "length", "x", "v", "y"), dtype=dtype, passes=passes)
