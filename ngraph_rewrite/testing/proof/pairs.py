# SPDX-License-Identifier: Apache-2.0
"""Pairs of expressions that should be equal: told by their form, part by part, or asked of a prover of scalars.

What is asked is made small first. Parts that both sides share are replaced by symbols: what holds for any value
holds for theirs. Symbols are numbered as they come, so that one answer serves all elements of all shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ngraph_rewrite.testing.proof.normal import Normal
from ngraph_rewrite.testing.proof.scalar import decide
from ngraph_rewrite.testing.proof.symbols import NUMBER, SYMBOL, Scalar, parts, symbol

SAME = "element by element"
# Larger expressions are not asked about.
LARGEST = 120


@dataclass(frozen=True)
class Answer:
    """Whether two expressions are equal.

    Attributes:
        proved: True or False, or None if that was not found out.
        how: How it was, in a few words.
        model: Values of symbols for which they differ.
    """

    proved: bool | None
    how: str
    model: Mapping[str, Any] = field(default_factory=dict)


class TooLarge(Exception):
    """Expressions of a size of which nothing is asked."""


class Prover:
    """Decides pairs under one class; each question is asked once.

    Args:
        seconds: For each question.

    Attributes:
        asked: How large all questions were together that were asked of the prover of scalars.
    """

    def __init__(self, grade: str, seconds: float) -> None:
        self._grade, self._seconds = grade, seconds
        self.asked = 0
        self._normal = Normal(grade)
        self._pairs: dict[tuple[Scalar, Scalar], Answer] = {}
        self._answers: dict[tuple[Scalar, Scalar], Answer] = {}

    def equal(self, left: Scalar, right: Scalar) -> Answer:
        """Whether two expressions have the same value, whatever that of their symbols.

        Raises:
            TooLarge: if that would take too long.
        """
        if (left, right) not in self._pairs:
            self._pairs[left, right] = self._equal(left, right)
        return self._pairs[left, right]

    def _equal(self, left: Scalar, right: Scalar) -> Answer:
        if left is right or self._normal(left) is self._normal(right):
            return Answer(True, SAME)
        smaller, names = _general(left, right)
        answer = self._asked(*smaller)
        if answer.proved is not True and any(t.args for t in names.values()):
            answer = self._by_parts(left, right) or self._plain(left, right)
            return answer
        return self._named(answer, names)

    def _plain(self, left: Scalar, right: Scalar) -> Answer:
        """The question with nothing replaced but the names of symbols."""
        (left, right), names = _general(left, right, only_symbols=True)
        return self._named(self._asked(left, right), names)

    def _by_parts(self, left: Scalar, right: Scalar) -> Answer | None:
        """Whether the same function is applied to what is equal."""
        if (left.op, left.dtype, len(left.args)) != (right.op, right.dtype, len(right.args)) or not left.args:
            return None
        how = set()
        for one, other in zip(left.args, right.args, strict=True):
            if one.dtype != other.dtype:
                return None
            answer = self.equal(one, other)
            if answer.proved is not True:
                return None
            how.add(answer.how)
        return Answer(True, ", ".join(sorted(how - {SAME})))

    def _asked(self, left: Scalar, right: Scalar) -> Answer:
        if (left, right) not in self._answers:
            self._answers[left, right] = self._ask(left, right)
        return self._answers[left, right]

    def _ask(self, left: Scalar, right: Scalar) -> Answer:
        if left is right or self._normal(left) is self._normal(right):
            return Answer(True, SAME)
        size = sum(1 for _ in parts([left, right]))
        self.asked += size
        if size > LARGEST:
            raise TooLarge(f"{shortened(left)} = {shortened(right)} is too large to be decided")
        verdict = decide(left, right, self._grade, self._seconds)
        how = verdict.how if verdict.proved else f"{shortened(left)} = {shortened(right)}: {verdict.how}"
        return Answer(verdict.proved, how, verdict.model or {})

    @staticmethod
    def _named(answer: Answer, names: Mapping[str, Scalar]) -> Answer:
        """The answer with the symbols' own names in its model."""
        own = {str(names[n].name): v for n, v in answer.model.items() if n in names and names[n].op is SYMBOL}
        return Answer(answer.proved, answer.how, own)


def _general(
    left: Scalar, right: Scalar, only_symbols: bool = False
) -> tuple[tuple[Scalar, Scalar], dict[str, Scalar]]:
    """Both with what they share replaced by symbols, the greatest parts first; and what those stand for."""
    mine = set(parts([left]))
    shared = {t for t in parts([right]) if t in mine and t.op is not NUMBER and (not only_symbols or not t.args)}
    shared |= {t for t in (*mine, *parts([right])) if t.op is SYMBOL}
    names: dict[str, Scalar] = {}
    known: dict[Scalar, Scalar] = {}

    def replaced(root: Scalar) -> Scalar:
        stack = [(root, False)]
        while stack:
            term, ready = stack.pop()
            if term in known:
                continue
            if term in shared:
                new = symbol(f"v{len(names)}", term.dtype)
                names[str(new.name)], known[term] = term, new
            elif ready or not term.args:
                args = tuple([known[a] for a in term.args])
                known[term] = Scalar(term.op, term.dtype, args, term.value, term.name)
            else:
                stack.append((term, True))
                stack.extend([(a, False) for a in reversed(term.args)])
        return known[root]

    return (replaced(left), replaced(right)), names


def shortened(term: Scalar) -> str:
    """An expression in a few words."""
    text = repr(term)
    return text if len(text) <= 90 else f"{text[:87]}..."
