# SPDX-License-Identifier: Apache-2.0
"""The axes family: operands are matched by the names of their axes.

The order of the imports is the order of declaration: rules go down in it.
"""

# isort: off
from ngraph_rewrite.ops import axes_sources
from ngraph_rewrite.ops import axes_order
from ngraph_rewrite.ops import axes_elementwise
from ngraph_rewrite.ops import axes_slices
from ngraph_rewrite.ops import axes_update
from ngraph_rewrite.ops import axes_reduce
from ngraph_rewrite.ops import axes_network
from ngraph_rewrite.ops import axes_scan
from ngraph_rewrite.ops import axes_pooling
from ngraph_rewrite.ops import axes_convolution
from ngraph_rewrite.ops import axes_normalisation
from ngraph_rewrite.ops import axes_lookup

__all__ = [
    "axes_convolution",
    "axes_elementwise",
    "axes_lookup",
    "axes_network",
    "axes_normalisation",
    "axes_order",
    "axes_pooling",
    "axes_reduce",
    "axes_scan",
    "axes_slices",
    "axes_sources",
    "axes_update",
]
