# SPDX-License-Identifier: Apache-2.0
"""The op families. They never import each other; they meet in the rule files.

The order of the imports is the order of declaration, in which rules go down: core, semi, simple, numpy, axes.
"""

# isort: off
from ngraph_rewrite.ops import core
from ngraph_rewrite.ops import core_tuples
from ngraph_rewrite.ops import core_control
from ngraph_rewrite.ops import core_loops
from ngraph_rewrite.ops import semi
from ngraph_rewrite.ops import simple
from ngraph_rewrite.ops import numpy
from ngraph_rewrite.ops import axes

__all__ = ["axes", "core", "core_control", "core_loops", "core_tuples", "numpy", "semi", "simple"]
