# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of minimal filtering: one transforms filters, one the images, and multiplies both.

Where windows are as large as images one transforms and multiplies both, and another one adds up and transforms back.
"""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_convolutions import HALO
from ngraph_rewrite.codegen.scalar import literal
from ngraph_rewrite.codegen.source import Source

_FILTERS = "w w_so w_sk target space room pieces channels filters window pitch tall apart pack spread"
_PRODUCTS = (
    "source x_sb w w_so w_sk w_at w_pitch out every space room gathered_at panels_at sums_at lines_at aside_at "
    "pieces bands sides move images count channels filters window high down across oy ox columns deep g_pitch step "
    "s_pitch l_pitch tall wide lanes apart tile tiles_of inward outward exact halo epilogue "
)
_ACROSS = (
    "source x_sb w w_so w_sc sums space room copies_at raw_at w_at x_at pieces parts blocks sides channels images "
    "filters columns some band down across points pitch oy ox threes_y threes_x wy wx copy w_pitch w_apart x_down "
    "x_apart high wide tile pack window_tiles inward_22 inward_23 inward_32 inward_33 halo "
)
_SUMS = (
    "sums out parts points images filters pitch oy ox threes_y threes_x source x_sb x_sc x_sy x_sx w w_so w_sc "
    "channels wy wx ny nx by bx"
)


@cache
def render_minimal_filters(dtype: str) -> Source:
    """Return the kernel that transforms filters, in ``pieces`` of the channels.

    Strides ``w_so`` and ``w_sk`` lie between filters and between elements of one; ``window`` is their number. At the
    ``target`` there is for each point, ``pitch`` bytes apart, for each ``tall`` filters, for each channel a line of
    ``apart`` numbers.

    >>> render_minimal_filters("float32").signature[:3]
    ('w', 'w_so', 'w_sk')
    """
    has_dtype(dtype, ("float32",), "minimal_filters")
    return rendered("minimal_filters", tuple(_FILTERS.split()), dtype=dtype, size="4")


@cache
def render_minimal_filtering(dtype: str) -> Source:
    """Return the kernel that convolves images with filters that the other kernel has transformed, at ``w_at``.

    The result has ``oy`` by ``ox`` places, in ``down`` rows of ``across`` tiles of ``high`` by ``high``; a piece is
    ``move`` rows of an image, of which there are ``bands``, or some ``images``, and one of ``sides`` of the filters;
    ``deep`` channels are multiplied at once. ``g_pitch``, ``s_pitch`` and ``l_pitch`` are how far places of tiles,
    products at a point and lines of the result lie apart, ``step`` those of a filter. What follows the arguments is the
    epilogue's: see `render_gemm`.

    >>> render_minimal_filtering("float32").signature[-1]
    'halo_lines'
    """
    has_dtype(dtype, ("float32",), "minimal_filtering")
    names = (*_PRODUCTS.split(), *HALO.split())
    holes = {"halo_at": str(8 * names.index(HALO.split()[0])), "length": str(8 * len(names))}
    return rendered("minimal_filtering", names, dtype=dtype, size="4", zero=literal(0, dtype), **holes)


@cache
def render_minimal_across(dtype: str) -> Source:
    """Return the kernel that sums up products at points, for windows of ``wy`` by ``wx`` and ``oy`` by ``ox`` places.

    A piece is one of ``parts`` of the ``channels``, of ``blocks`` of the images and of ``sides`` of the filters, of
    ``columns`` each; it does ``band`` rows of tiles, of which a window has ``down`` by ``across``, of ``some`` channels
    at once. Places are taken in threes up to ``threes_y`` and ``threes_x``, then in twos. ``sums`` has those of each
    part, by points, images and filters, whose number is rounded up to ``pitch``. Workspace is for copies of images,
    ``copy`` bytes for a channel, for windows as they are, and for values of windows and of images, ``w_apart`` and
    ``x_apart`` bytes for a point.

    >>> render_minimal_across("float32").signature[:3]
    ('source', 'x_sb', 'w')
    """
    has_dtype(dtype, ("float32",), "minimal_across")
    names = (*_ACROSS.split(), *HALO.split())
    halo_at = str(8 * names.index(HALO.split()[0]))
    return rendered("minimal_across", names, dtype=dtype, size="4", halo_at=halo_at)


@cache
def render_minimal_across_sums(dtype: str) -> Source:
    """Return the kernel that makes places of what the other one has summed up.

    >>> render_minimal_across_sums("float32").signature[:3]
    ('sums', 'out', 'parts')
    """
    has_dtype(dtype, ("float32",), "minimal_across_sums")
    return rendered("minimal_across_sums", tuple(_SUMS.split()), dtype=dtype, size="4", zero=literal(0, dtype))
