# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions that the array API standard does not have, by what stands for them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.frontend.numpy import (
    along_axes,
    attributes,
    choices,
    convolving,
    counting,
    covariances,
    elementwise,
    grids,
    histograms,
    matrices,
    more_elementwise,
    nan_reductions,
    order_statistics,
    packing,
    polynomial_parts,
    polynomials,
    refilled,
    samples,
    selections,
    slopes,
    sorting,
    special_values,
    splitting,
    stacking,
    turning,
)
from ngraph_rewrite.frontend.numpy.formulas import in_their_family
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.signatures import averaged, spread
from ngraph_rewrite.terms.op import Op


def _in_its_family(name: str) -> Callable[..., Op]:
    def function(x: Array) -> Op:
        found: Op = in_their_family(name, x)
        return found

    function.__qualname__ = name
    return function


def _angle(z: Array, deg: bool = False) -> Op:
    found = in_their_family("angle", z)
    return in_their_family("degrees", found) if deg else found  # type: ignore[no-any-return]


def _nan_to_num(x: Array, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Op:
    return special_values.replaced(in_their_family, x, nan, posinf, neginf)


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Op:
    found: Op = in_their_family("isclose", a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return found


def _copy(a: Array, order: str = "K", subok: bool = False) -> Op:
    return attributes.copy(a)


# Functions that work on each element by itself: terms with names keep them.
EACH_ELEMENT = frozenset(
    {np.fix, np.sinc, np.isposinf, np.isneginf, np.nan_to_num, np.isclose, np.i0, np.copy, np.angle}
)

FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    np.fix: _in_its_family("fix"), np.sinc: _in_its_family("sinc"), np.isposinf: _in_its_family("isposinf"),
    np.isneginf: _in_its_family("isneginf"), np.nan_to_num: _nan_to_num, np.isclose: _isclose,
    np.allclose: special_values.allclose, np.array_equal: special_values.array_equal,
    np.select: more_elementwise.select,
    np.nansum: nan_reductions.nansum, np.nanprod: nan_reductions.nanprod, np.nancumsum: nan_reductions.nancumsum,
    np.nancumprod: nan_reductions.nancumprod, np.nanmax: nan_reductions.nanmax, np.nanmin: nan_reductions.nanmin,
    np.nanargmax: nan_reductions.nanargmax, np.nanargmin: nan_reductions.nanargmin,
    np.nanmean: averaged(nan_reductions.nanmean), np.nanvar: spread(nan_reductions.nanvar),
    np.nanstd: spread(nan_reductions.nanstd),
    np.ptp: order_statistics.ptp, np.median: order_statistics.median, np.nanmedian: order_statistics.nanmedian,
    np.quantile: order_statistics.quantile, np.percentile: order_statistics.percentile,
    np.nanquantile: order_statistics.nanquantile, np.nanpercentile: order_statistics.nanpercentile,
    np.split: splitting.split, np.array_split: splitting.array_split, np.hsplit: splitting.hsplit,
    np.vsplit: splitting.vsplit, np.dsplit: splitting.dsplit,
    np.atleast_1d: stacking.atleast_1d, np.atleast_2d: stacking.atleast_2d, np.atleast_3d: stacking.atleast_3d,
    np.hstack: stacking.hstack, np.vstack: stacking.vstack, np.dstack: stacking.dstack,
    np.column_stack: stacking.column_stack, np.block: stacking.block, np.append: stacking.append,
    np.rot90: turning.rot90, np.fliplr: turning.fliplr, np.flipud: turning.flipud, np.rollaxis: turning.rollaxis,
    np.insert: turning.insert, np.delete: turning.delete,
    np.diag: matrices.diag, np.diagflat: matrices.diagflat, np.vander: matrices.vander, np.kron: matrices.kron,
    np.cross: matrices.cross, np.vdot: matrices.vdot,
    np.bincount: counting.bincount, np.digitize: counting.digitize, np.histogram: histograms.histogram,
    np.interp: samples.interp, np.trapezoid: samples.trapezoid, np.ediff1d: samples.ediff1d,
    np.polyval: polynomials.polyval, np.gradient: slopes.gradient,
    np.convolve: convolving.convolve, np.correlate: convolving.correlate,
    np.average: covariances.average, np.cov: covariances.cov, np.corrcoef: covariances.corrcoef,
    np.unravel_index: grids.unravel_index, np.ravel_multi_index: grids.ravel_multi_index,
    np.partition: sorting.partition, np.argpartition: sorting.argpartition, np.lexsort: sorting.lexsort,
    np.apply_along_axis: along_axes.apply_along_axis, np.apply_over_axes: along_axes.apply_over_axes,
    np.piecewise: choices.piecewise, np.choose: choices.choose, np.unwrap: samples.unwrap,
    np.array_equiv: special_values.array_equiv, np.i0: _in_its_family("i0"),
    np.ix_: selections.ix_, np.diag_indices_from: selections.diag_indices_from,
    np.tril_indices_from: selections.tril_indices_from, np.triu_indices_from: selections.triu_indices_from,
    np.imag: elementwise.imag, np.isreal: attributes.isreal, np.iscomplex: attributes.iscomplex,
    np.isrealobj: attributes.isrealobj, np.iscomplexobj: attributes.iscomplexobj, np.copy: _copy,
    np.shape: attributes.shape, np.ndim: attributes.ndim, np.size: attributes.size,
    np.histogram_bin_edges: histograms.histogram_bin_edges, np.histogram2d: histograms.histogram2d,
    np.histogramdd: histograms.histogramdd,
    np.polyadd: polynomials.polyadd, np.polysub: polynomials.polysub, np.polymul: polynomials.polymul,
    np.polyder: polynomials.polyder, np.polyint: polynomials.polyint, np.polyfit: polynomials.polyfit,
    np.poly: polynomial_parts.poly, np.polydiv: polynomial_parts.polydiv, np.angle: _angle,
    np.packbits: packing.packbits, np.unpackbits: packing.unpackbits, np.resize: refilled.resize,
}  # fmt: skip
