# SPDX-License-Identifier: Apache-2.0
"""Proof that rules are right: drawn instances, evaluated by the ops' meanings, compared as the rule's class demands.

For rule files of your own::

    from ngraph_rewrite.testing import check_rules

    def test_my_rules():
        check_rules("my.rules")
"""

from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.testing.adjoints import assert_adjoint
from ngraph_rewrite.testing.counterexample import assert_same, rewritten
from ngraph_rewrite.testing.cpu import assert_same_on_cpu
from ngraph_rewrite.testing.derivatives import WrongAdjoint, check_adjoint
from ngraph_rewrite.testing.files import check_rules
from ngraph_rewrite.testing.kernels import WrongKernel, check_kernel
from ngraph_rewrite.testing.printing import as_python, term
from ngraph_rewrite.testing.programs.program import Program, program_of
from ngraph_rewrite.testing.rules import WrongRule, check_rule
from ngraph_rewrite.testing.strategies import instances_of
from ngraph_rewrite.testing.termination import assert_ends
from ngraph_rewrite.testing.whole.suite import WrongProgram, assert_right

__all__ = [
    "Literal",
    "Program",
    "Uid",
    "WrongAdjoint",
    "WrongKernel",
    "WrongProgram",
    "WrongRule",
    "as_python",
    "assert_adjoint",
    "assert_right",
    "assert_ends",
    "assert_same",
    "assert_same_on_cpu",
    "check_adjoint",
    "check_kernel",
    "check_rule",
    "check_rules",
    "instances_of",
    "program_of",
    "rewritten",
    "term",
]
