# SPDX-License-Identifier: Apache-2.0
"""Questions about a term, asked without a transformer: it is lowered, or normalised, for the answer alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, overload

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.disabling import known_names, switched_off
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.normalising import is_of_signature
from ngraph_rewrite.lowering.passes import SAFE_CLASSES
from ngraph_rewrite.lowering.strategies import innermost
from ngraph_rewrite.lowering.verdicts import WhyNot
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.rule import CLASSES, RuleSet
from ngraph_rewrite.rewritten import Rewritten, rewrite
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.transformer import make_transformer

Rules = RuleSet | str | os.PathLike[str]


@overload
def explain(
    op: Op,
    target: str | Target = "cpu",
    *,
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: Rules | None = None,
    passes: Iterable[GraphPass] = (),
) -> str: ...
@overload
def explain(op: Op, target: Rules, *, disabled: Iterable[str] | str = ()) -> str: ...
def explain(
    op: Op,
    target: Any = "cpu",
    *,
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: Rules | None = None,
    passes: Iterable[GraphPass] = (),
) -> str:
    """How an op is lowered for a target, or a term of a signature comes to its normal form: rule by rule.

    Args:
        op: A handle, or a term of a signature.
        target: The name of a target, or a target. For a term of a signature its rules stand here, or in `rules`.
        classes: As `make_transformer` takes them, and so the others.
        rules: Rules of your own, beside the library's.

    Raises:
        ArgumentError: for an unknown target, class or rule, or a term of a signature without rules.
        ComputationError: for something else than a handle.
        RewriteError: if lowering fails, or the rules do not come to an end.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> print(explain(ng.log(ng.exp(x))).splitlines()[-1])
        normal form: x
    >>> bits = ng.signature("explained_bits")
    >>> _ = bits.sort("Bit")
    >>> one, flip = bits.operation("one", (), "Bit"), bits.operation("flip", ("Bit",), "Bit")
    >>> print(explain(flip(flip(one())), bits.rules("rule twice: flip(flip(x)) => x")))  # doctest: +ELLIPSIS
    flip(flip(one())) : Bit  built at ...
        innermost: explained_bits.twice  (<explained_bits>:2)
            flip(flip(x)) => x
            flip(flip(one()))
         => one()
        normal form: one()
    """
    if isinstance(op, Op) and is_of_signature(op):
        return normalised(op, target, rules, disabled).explain(op)
    target, rules = _told(target, rules)
    with make_transformer(target, classes=classes, disabled=disabled, rules=rules, passes=passes) as transformer:
        return transformer.lowered(op).explain(op)


@overload
def why_not(
    rule: str,
    op: Op,
    target: str | Target = "cpu",
    *,
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: Rules | None = None,
    passes: Iterable[GraphPass] = (),
) -> WhyNot: ...
@overload
def why_not(rule: str, op: Op, target: Rules, *, disabled: Iterable[str] | str = ()) -> WhyNot: ...
def why_not(
    rule: str,
    op: Op,
    target: Any = "cpu",
    *,
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: Rules | None = None,
    passes: Iterable[GraphPass] = (),
) -> WhyNot:
    """Why a rule does not fire on an op: how far it matches, what its guard says, or what comes before it.

    Args:
        rule: The name of a rule; one written with ``for`` stands for all its alternatives.
        op: A handle, or a term of a signature.
        target: The name of a target, or a target. For a term of a signature its rules stand here, or in `rules`.
        classes: As `make_transformer` takes them, and so the others.

    Raises:
        ArgumentError: for a name that no rule has (the message tells the nearest), an unknown target, or a term of a
            signature without rules.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> print(why_not("semi.log_exp", ng.log(ng.tanh(x))))  # doctest: +ELLIPSIS
    semi.log_exp @refines  (rules/semi.rules:...)
    does not match on semi.log(semi.tanh(strip(x))), a form in the pass lower
        log(exp(x)) => x
            ^^^^^^
            expected semi.exp, here stands semi.tanh(strip(x))
    """
    if isinstance(op, Op) and is_of_signature(op):
        return normalised(op, target, rules, disabled).why_not(rule, op)
    target, rules = _told(target, rules)
    with make_transformer(target, classes=classes, disabled=disabled, rules=rules, passes=passes) as transformer:
        return transformer.lowered(op).why_not(rule, op)


def _told(target: Any, rules: Rules | None) -> tuple[Any, Rules | None]:
    """The target and the rules of one's own: a set, or a path, that stands in the place of a target is rules."""
    if rules is None and isinstance(target, RuleSet | os.PathLike):
        return "cpu", target
    return target, rules


def normalised(op: Op, target: Any, rules: Rules | None, disabled: Iterable[str] | str = ()) -> Rewritten:
    """A term of a signature in its normal form, with the steps that led to it.

    Args:
        target: Its rules, if they are not among `rules`.

    Raises:
        ArgumentError: if there are no rules, or a target, or for a name that no rule has.
    """
    given = rules if target == "cpu" or target is None else target
    if isinstance(given, Target) or given is None or (given is target and rules is not None):
        what = f"{describe(op, 1)} is a term of a signature: it has no target, and rules that come to its normal form"
        raise ArgumentError(what, where=user_line(), do="give the rules: ng.explain(term, rules)")
    own = as_rules(given)
    off = (disabled,) if isinstance(disabled, str) else tuple(disabled)
    with switched_off(known_names(own, off)):
        return rewrite(op, innermost(own), classes=CLASSES)
