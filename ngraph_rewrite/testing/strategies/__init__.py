# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for what this library is about: axes, types, arrays, terms, and instances of rules.

They shrink to small terms, give the same for the same seed in any process, and never depend on the order of a set.
"""

from ngraph_rewrite.testing.strategies.drawing import begin, random_domain
from ngraph_rewrite.testing.strategies.instances import (
    Example,
    Usual,
    draw_example,
    examples_of,
    instances_of,
    seeded_instances,
)
from ngraph_rewrite.testing.strategies.programs import programs
from ngraph_rewrite.testing.strategies.terms import any_application, ops_of, terms
from ngraph_rewrite.testing.strategies.types import axes, axis, extents, tensor_types
from ngraph_rewrite.testing.strategies.values import (
    DISTINCT,
    FEW,
    PLAIN,
    WILD,
    arrays,
    distinct,
    leaf_values,
    lengths,
    random_array,
    random_values,
    valued_leaves,
    values_of,
)

__all__ = [
    "DISTINCT",
    "FEW",
    "PLAIN",
    "WILD",
    "Example",
    "Usual",
    "any_application",
    "arrays",
    "axes",
    "axis",
    "begin",
    "distinct",
    "draw_example",
    "examples_of",
    "extents",
    "instances_of",
    "leaf_values",
    "lengths",
    "ops_of",
    "programs",
    "random_array",
    "random_domain",
    "random_values",
    "seeded_instances",
    "tensor_types",
    "terms",
    "valued_leaves",
    "values_of",
]
