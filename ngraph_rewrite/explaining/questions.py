# SPDX-License-Identifier: Apache-2.0
"""Questions about an op, asked without a transformer: it is lowered for the answer alone."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.passes import SAFE_CLASSES
from ngraph_rewrite.lowering.verdicts import WhyNot
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.transformer import make_transformer

OwnRules = RuleSet | str | os.PathLike[str] | None


def explain(
    op: Op,
    target: str | Target = "cpu",
    *,
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: OwnRules = None,
    passes: Iterable[GraphPass] = (),
) -> str:
    """How an op is lowered for a target, step by step: the rule, its place, the term before and after.

    Args:
        op: A handle.
        target: The name of a target, or a target.
        classes: As `make_transformer` takes them, and so the others.

    Raises:
        ArgumentError: for an unknown target, class or rule.
        ComputationError: for something else than a handle.
        RewriteError: if lowering fails.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> print(explain(ng.log(ng.exp(x))).splitlines()[-1])
        normal form: x
    """
    with make_transformer(target, classes=classes, disabled=disabled, rules=rules, passes=passes) as transformer:
        return transformer.lowered(op).explain(op)


def why_not(
    rule: str,
    op: Op,
    target: str | Target = "cpu",
    *,
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: OwnRules = None,
    passes: Iterable[GraphPass] = (),
) -> WhyNot:
    """Why a rule does not fire on an op: how far it matches, what its guard says, or what comes before it.

    Args:
        rule: The name of a rule; one written with ``for`` stands for all its alternatives.
        op: A handle.
        target: The name of a target, or a target.
        classes: As `make_transformer` takes them, and so the others.

    Raises:
        ArgumentError: for a name that no rule has (the message tells the nearest), or an unknown target.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> print(why_not("semi.log_exp", ng.log(ng.tanh(x))))  # doctest: +ELLIPSIS
    semi.log_exp @refines  (rules/semi.rules:...)
    does not match on semi.log(semi.tanh(strip(x))), a form in the pass lower
        log(exp(x)) => x
            ^^^^^^
            expected semi.exp, here stands semi.tanh(strip(x))
    """
    with make_transformer(target, classes=classes, disabled=disabled, rules=rules, passes=passes) as transformer:
        return transformer.lowered(op).why_not(rule, op)
