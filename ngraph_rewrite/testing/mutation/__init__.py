# SPDX-License-Identifier: Apache-2.0
"""The checks are themselves checked: rules broken on purpose must be refused, each by some check."""

from ngraph_rewrite.testing.mutation.mutants import Mutant, mutants
from ngraph_rewrite.testing.mutation.score import Report, score
from ngraph_rewrite.testing.mutation.verdicts import MutantVerdict, mutation_findings

__all__ = ["Mutant", "MutantVerdict", "Report", "mutants", "mutation_findings", "score"]
