# SPDX-License-Identifier: Apache-2.0
"""What Python and NumPy may ask of a term, and who answers: functions that a frontend registers when it is imported.

The questions are ``item`` (``x[i]`` of a term without names), ``item by name`` (of one with names), ``ufunc`` and
``function`` (NumPy's own functions called with a term), ``namespace`` (the module with the array API standard's
functions), and ``method`` (what to write for a method of arrays). A rule set asks for its ``stats``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ngraph_rewrite.errors import AttributeValueError

Function = TypeVar("Function", bound=Callable[..., Any])
_ANSWERS: dict[str, Callable[..., Any]] = {}


def answers(question: str) -> Callable[[Function], Function]:
    """Register a function as the answer to a question.

    Raises:
        AttributeValueError: if another function answers it.
    """

    def register(function: Function) -> Function:
        if _ANSWERS.get(question, function) is not function:
            raise AttributeValueError(f"the question {question} is answered by another function already")
        _ANSWERS[question] = function
        return function

    return register


def ask(question: str, *given: Any) -> Any:
    """The answer; NotImplemented if nobody gives one."""
    function = _ANSWERS.get(question)
    return NotImplemented if function is None else function(*given)
