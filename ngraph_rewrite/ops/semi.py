# SPDX-License-Identifier: Apache-2.0
"""The semi family: row-major, anonymous axes, equal shapes and dtypes; what targets compute.

The order of the imports is the order of declaration: rules go down in it.
"""

# isort: off
from ngraph_rewrite.ops import core
from ngraph_rewrite.ops import semi_sources
from ngraph_rewrite.ops import semi_movement
from ngraph_rewrite.ops import semi_elementwise
from ngraph_rewrite.ops import semi_reduce

__all__ = ["core", "semi_elementwise", "semi_movement", "semi_reduce", "semi_sources"]
