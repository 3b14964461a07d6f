# SPDX-License-Identifier: Apache-2.0
"""The numpy family: anonymous axes, operands matched by position with NumPy's broadcasting and promotion.

The order of the imports is the order of declaration: rules go down in it.
"""

# isort: off
from ngraph_rewrite.ops import semi
from ngraph_rewrite.ops import numpy_sources
from ngraph_rewrite.ops import numpy_movement
from ngraph_rewrite.ops import numpy_parts
from ngraph_rewrite.ops import numpy_elementwise
from ngraph_rewrite.ops import numpy_reduce
from ngraph_rewrite.ops import numpy_network
from ngraph_rewrite.ops import numpy_search
from ngraph_rewrite.ops import numpy_cumulative
from ngraph_rewrite.ops import numpy_linear

__all__ = [
    "numpy_cumulative",
    "numpy_elementwise",
    "numpy_linear",
    "numpy_movement",
    "numpy_network",
    "numpy_parts",
    "numpy_reduce",
    "numpy_search",
    "numpy_sources",
    "semi",
]
