# SPDX-License-Identifier: Apache-2.0
"""The simple family: tensors by position, with the sample axis N and the recurrent axis R marked.

The order of the imports is the order of declaration: rules go down in it.
"""

# isort: off
from ngraph_rewrite.ops import simple_sources
from ngraph_rewrite.ops import simple_order
from ngraph_rewrite.ops import simple_elementwise
from ngraph_rewrite.ops import simple_parts
from ngraph_rewrite.ops import simple_reduce
from ngraph_rewrite.ops import simple_products
from ngraph_rewrite.ops import simple_network
from ngraph_rewrite.ops import simple_windows
from ngraph_rewrite.ops import simple_convolution
from ngraph_rewrite.ops import simple_normalisation

__all__ = [
    "simple_convolution",
    "simple_elementwise",
    "simple_network",
    "simple_normalisation",
    "simple_order",
    "simple_parts",
    "simple_products",
    "simple_reduce",
    "simple_sources",
    "simple_windows",
]
