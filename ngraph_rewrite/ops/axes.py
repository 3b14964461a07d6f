# SPDX-License-Identifier: Apache-2.0
"""The axes family: operands are matched by the names of their axes.

The order of the imports is the order of declaration: rules go down in it.
"""

# isort: off
from ngraph_rewrite.ops import axes_sources
from ngraph_rewrite.ops import axes_order
from ngraph_rewrite.ops import axes_elementwise
from ngraph_rewrite.ops import axes_slices
from ngraph_rewrite.ops import axes_reduce
from ngraph_rewrite.ops import axes_network

__all__ = ["axes_elementwise", "axes_network", "axes_order", "axes_reduce", "axes_slices", "axes_sources"]
