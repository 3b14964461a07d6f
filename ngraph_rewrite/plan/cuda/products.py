# SPDX-License-Identifier: Apache-2.0
"""Products of matrices on a GPU, by rows, by tiles or by a library, and maps over them and over convolutions."""

from __future__ import annotations

from collections.abc import Hashable

from ngraph_rewrite.codegen.cuda.halves import WarpTile, render_halves
from ngraph_rewrite.codegen.cuda.products import render_product, render_sums, stored
from ngraph_rewrite.codegen.loops import MapNest
from ngraph_rewrite.codegen.scalar import held
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.cuda import convolutions
from ngraph_rewrite.plan.cuda.cuts import Cut, cut_for
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.cuda.library import library_call
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.matrices import Matrix
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch
from ngraph_rewrite.plan.products import Product, product
from ngraph_rewrite.plan.renderer import Epilogues
from ngraph_rewrite.plan.rows import thin_job
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.terms.op import Op

_LIBRARY = "cuda.gemm"
PRODUCTS = ("semi.dot", "semi.batch_dot", _LIBRARY)


def product_job(term: Op, groups: Groups) -> Job:
    """The work of a product of matrices, or of many.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    given = product(term, groups)
    if given.is_thin and given.dtype in ("float32", "float64"):
        return thin_job(term, given, groups)
    call = library_call(given) if term.definition.name == _LIBRARY else None
    return Job(term, calls=_calls(given) if call is None else (call,))


def cut(given: Product) -> Cut:
    """How a product is done."""
    return cut_for(given.sizes, given.dtype, (_is_along(given.a), _is_along(given.b.transposed)))


def _is_along(lines: Matrix) -> bool:
    """Whether memory lies along k, given a matrix whose columns are k."""
    _, down, k = lines.strides
    return k == 1 or (down != 1 and 0 < abs(k) <= abs(down))


def _calls(given: Product, mapped: bool = False) -> tuple[Call, ...]:
    """The calls that compute a product; one whose result a map takes has the arguments of this map at its end."""
    how = cut(given)
    (count, m, n, k), a, b, dtype, *_ = given
    arguments = (count, m, n, k, a.load, *a.strides, b.load, *b.strides, how.parts, how.stretch)
    plain = () if mapped else (OUTPUT, m * n, n)
    if how.parts == 1:
        return (Call(_render(how, stored(dtype)), (*arguments, *plain), how.grid, given=given),)
    own = held(dtype)
    sums = Scratch(how.parts * count * m * n * DTYPE_SIZES[own])
    whole = _tiled(how, stored(own))
    first = Call(whole, (*arguments, sums, m * n, n), how.grid, (sums,))
    ends = (count, m, n, how.parts, sums, *plain)
    return first, Call(_render(how, stored(dtype)), ends, grid_for(count * m * n), given=given)


def _calls_mapped(given: Product | Convolution, each: float, there: bool) -> tuple[Call, ...]:
    if isinstance(given, Convolution):
        return convolutions.convolution_calls(given, mapped=True)
    return _calls(given, mapped=True)


def _form(given: Product | Convolution) -> Hashable:
    return convolutions.form(given) if isinstance(given, Convolution) else cut(given)


def _render(form: Hashable, nest: MapNest, literals: tuple[object, ...] = ()) -> Source:
    """The kernel that ends a product with a map, after one that sums parts if there are some."""
    if isinstance(form, convolutions.Form):
        return convolutions.render(form, nest, literals)
    assert isinstance(form, Cut)
    if form.parts > 1:
        return render_sums(form.dtype, nest, literals)
    return _tiled(form, nest, literals)


def _tiled(how: Cut, nest: MapNest, literals: tuple[object, ...] = ()) -> Source:
    """The kernel of tiles: of floats of 16 bits by tensor cores."""
    if isinstance(how.tile, WarpTile):
        return render_halves(how.dtype, how.tile, how.along, nest, literals)
    return render_product(how.dtype, how.tile, how.along, nest, literals)


EPILOGUES = Epilogues(_calls_mapped, _form, _render, is_called=False)
