# SPDX-License-Identifier: Apache-2.0
"""Proof that rules are right: drawn instances, evaluated by the ops' meanings, compared as the rule's class demands.

For rule files of your own::

    from ngraph_rewrite.testing import check_rules

    def test_my_rules():
        check_rules("my.rules")
"""

from ngraph_rewrite.testing.derivatives import WrongAdjoint, check_adjoint
from ngraph_rewrite.testing.kernels import WrongKernel, check_kernel
from ngraph_rewrite.testing.rules import WrongRule, check_rule, check_rules
from ngraph_rewrite.testing.strategies import instances_of

__all__ = [
    "WrongAdjoint",
    "WrongKernel",
    "WrongRule",
    "check_adjoint",
    "check_kernel",
    "check_rule",
    "check_rules",
    "instances_of",
]
