# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of convolutions, which copy a part of an image with its padding and multiply what windows see."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import literal
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.types.dtypes import TILED, as_dtype

HALO = "x_sc x_sz x_sy x_sx nz ny nx bz by bx iz iy ix phases slots pz py pc halo_lines"
_SHARED = (
    "source x_sb w space room panel_at image_at size pieces bands groups channels filters wz wy wx oz oy ox "
    "sz sy sx dz dy dx move_z move_y move_x long_z long_y long_x high wide halo "
)
_ALONG = (
    "w_so w_sk dense every_w out sides lines_at a_at c_at every columns rows deep packs apart lanes tile look pack "
    "rows_of epilogue "
)
_ACROSS = "seen_at sums w_so w_sc images parts blocks rows pitch abreast few walk pack "


@cache
def render_halo(dtype: str) -> Source:
    """Return what copies part of an image, padded, with `phases` lines side by side of `slots` elements for each line.

    It is called with the address of its arguments, which are in those of its callers, and of nine int64: the address of
    the image and of the copy, the number of channels, the first place in the padded image and the lengths of the part.
    Strides are in bytes, but for that of elements of a line; ``iz``, ``iy``, ``ix`` are how far elements are put apart.
    ``halo_lines`` is the function of `ngraph_rewrite.runtime.image_lines` that copies lines, of one or two phases.

    >>> render_halo("float32").signature[:4]
    ('x_sc', 'x_sz', 'x_sy', 'x_sx')
    """
    has_dtype(dtype, TILED, "halo")
    size = str(as_dtype(dtype).itemsize)
    return rendered("halo", tuple(HALO.split()), dtype=dtype, zero=literal(0, dtype), size=size)


@cache
def render_convolution() -> Source:
    """Return the kernel of a convolution of bands of images, whose result may go to an epilogue.

    Each of ``pieces`` is a band and one of ``sides`` of its filters.

    Lengths along the axes z, y and x are ``n`` of the image, ``w`` of the window, ``o`` of the result, ``long`` of a
    band, which is ``move`` after the one before; ``s``, ``d`` and ``b`` are strides, dilations and what pads before.
    A window has ``channels``, each group has ``filters``, of strides ``w_so`` and ``w_sk`` between them and
    inside one, which are one stretch of ``every_w`` elements if they are ``dense``; ``deep`` elements of a window are
    multiplied at once, for ``columns`` places and ``rows`` filters. What follows the arguments is the epilogue's: see
    `render_gemm`.
    """
    return _rendered("convolution", _SHARED + _ALONG)


@cache
def render_convolution_across() -> Source:
    """Return the kernel of a convolution whose windows are large: ``parts`` sums of what ``channels`` give.

    A chunk has some of ``pieces``, each a part, a group and some ``rows`` of ``images``; ``abreast`` places of the
    result are rows of a tile if it is not 1, else images are; ``few`` lines of images are multiplied at once. ``sums``
    has the sums of each part, by groups, places, images and filters, whose number is rounded up to ``pitch``; at
    ``seen_at`` are the lines and columns of a window that see an image, for each place.
    """
    return _rendered("convolution_across", _SHARED + _ACROSS)


@cache
def render_convolution_sums(dtype: str) -> Source:
    """Return the kernel that adds such sums up, and stores them by images, groups, filters and places.

    >>> render_convolution_sums("float32").signature
    ('sums', 'out', 'parts', 'groups', 'places', 'images', 'pitch', 'filters')
    """
    has_dtype(dtype, TILED, "convolution_sums")
    names = ("sums", "out", "parts", "groups", "places", "images", "pitch", "filters")
    return rendered("convolution_sums", names, dtype=dtype, zero=literal(0, dtype))


def _rendered(kernel: str, given: str) -> Source:
    names = (*given.split(), *HALO.split())
    at = names.index(HALO.split()[0])
    return rendered(kernel, names, halo_at=str(8 * at), length=str(8 * len(names)))
