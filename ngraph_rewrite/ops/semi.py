# SPDX-License-Identifier: Apache-2.0
"""The semi family: row-major, anonymous axes, equal shapes and dtypes; what targets compute.

The order of the imports is the order of declaration: rules go down in it.
"""

# isort: off
from ngraph_rewrite.ops import core
from ngraph_rewrite.ops import core_tuples
from ngraph_rewrite.ops import core_loops
from ngraph_rewrite.ops import semi_sources
from ngraph_rewrite.ops import semi_movement
from ngraph_rewrite.ops import semi_memory
from ngraph_rewrite.ops import semi_update
from ngraph_rewrite.ops import semi_scatter
from ngraph_rewrite.ops import semi_elementwise
from ngraph_rewrite.ops import semi_functions
from ngraph_rewrite.ops import semi_draws
from ngraph_rewrite.ops import semi_reduce
from ngraph_rewrite.ops import semi_diagonal
from ngraph_rewrite.ops import semi_products
from ngraph_rewrite.ops import semi_sort
from ngraph_rewrite.ops import semi_recurrence
from ngraph_rewrite.ops import semi_factors
from ngraph_rewrite.ops import semi_spectra
from ngraph_rewrite.ops import semi_fourier
from ngraph_rewrite.ops import semi_windows
from ngraph_rewrite.ops import semi_convolution
from ngraph_rewrite.ops import semi_scan

__all__ = [
    "core",
    "core_loops",
    "core_tuples",
    "semi_convolution",
    "semi_diagonal",
    "semi_draws",
    "semi_elementwise",
    "semi_factors",
    "semi_fourier",
    "semi_functions",
    "semi_memory",
    "semi_movement",
    "semi_products",
    "semi_recurrence",
    "semi_reduce",
    "semi_scan",
    "semi_scatter",
    "semi_sort",
    "semi_sources",
    "semi_spectra",
    "semi_update",
    "semi_windows",
]
