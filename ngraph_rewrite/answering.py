# SPDX-License-Identifier: Apache-2.0
"""What a computation answers: values of its last call and what ran in it, and of its lowering what became of terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ngraph_rewrite.call_values import CallValues
from ngraph_rewrite.errors import ArgumentError, InvalidHandleError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.disabling import Choice, only_off
from ngraph_rewrite.lowering.passes import Lowering, Passes
from ngraph_rewrite.lowering.stage import Step
from ngraph_rewrite.preparation import Preparation
from ngraph_rewrite.ready import Ready
from ngraph_rewrite.returns import check_handles, replaced, unboxed
from ngraph_rewrite.state import State
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.info import NO_INFO, user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.tuples import TupleType

if TYPE_CHECKING:
    from ngraph_rewrite.lowering import derivation, replaying, rule_stats, why_not
    from ngraph_rewrite.lowering.counting import RuleStats
    from ngraph_rewrite.lowering.replaying import Replay, Seen
    from ngraph_rewrite.lowering.verdicts import WhyNot
else:  # for those who ask
    derivation = lazy_module("ngraph_rewrite.lowering.derivation")
    replaying = lazy_module("ngraph_rewrite.lowering.replaying")
    rule_stats = lazy_module("ngraph_rewrite.lowering.rule_stats")
    why_not = lazy_module("ngraph_rewrite.lowering.why_not")

Array = NDArray[Any]

_NO_CALL = "nothing has run yet, or the last call was not finished"


class Answering:
    """The part of a computation that is asked, and not called.

    >>> import ngraph_rewrite as ng
    >>> v = ng.variable({"H": 3}, initial_value=2.0, name="v")
    >>> with ng.make_transformer("reference") as transformer:
    ...     computation = transformer.computation(v * v)
    ...     _ = computation()
    ...     computation.value(v)
    array([2., 2., 2.], dtype=float32)
    """

    __slots__ = ()
    lowering: Lowering
    inputs: list[Op]
    _target: Target
    _passes: Passes
    _choice: Choice
    _state: State
    _parts: Mapping[Op, Any]
    _handles: list[Op]
    _kept: list[tuple[Any, ...] | None]
    _prepared: Preparation

    def value(self, op: Op, recompute: bool = False) -> Any:
        """The value of a handle in the last call (of a variable: its present value; of a tuple, a tuple).

        Arguments and results of that call are not copied: what was changed in them since shows.

        Args:
            recompute: Evaluate the handle's meaning on the host, from the last arguments, if it has no value.

        Raises:
            InvalidHandleError: if it has none: the message says what became of it.
        """
        if not isinstance(op, Op) or op not in self._parts:  # those have been looked through
            check_handles([op])
        if isinstance(op.type, TupleType):
            parts = self._parts[op] if op in self._parts else unboxed(op)
            return replaced(parts, lambda part: self.value(part, recompute))
        with self._state.lock:
            self._state.check_open()
            if op.definition.name == "core.variable":
                return self._state.array(op).copy()
            if self._kept[0] is None:
                what = f"{describe(op, 1)} has no value: {_NO_CALL}"
                raise InvalidHandleError(what, where=user_line(), do="call the computation first")
            return self._values(self._kept[0]).value(op, recompute)

    def _values(self, call: tuple[Any, ...]) -> CallValues:
        return CallValues(call, self.lowering, self.inputs, self._handles, self._state)

    def explain(self, op: Op) -> str:
        """How a handle was rewritten, step by step, and what computes it: the rule, its place, before and after."""
        self._check_asked(op)
        with self._state.lock:
            text = derivation.derivation(self.lowering.table, op, self._replay())
            where = None if self._kept[0] is None else self._values(self._kept[0]).where(op)
            return text if where is None else f"{text}\ncomputed {where}"

    def why_not(self, rule: str, op: Op) -> WhyNot:
        """Why a rule did not fire on a handle: how far it matches, what its guard says, or what came before it.

        Args:
            rule: Its name; one written with ``for`` stands for all its alternatives.

        Raises:
            ArgumentError: for a name that no rule has; the message tells the nearest.
        """
        self._check_asked(op)
        with self._state.lock:
            return why_not.why_not(rule, op, self.lowering, self._passes, self._target, self._choice)

    def _check_asked(self, op: object) -> None:
        """Refuse what is no handle; one that stands in a step or branch of this computation may be asked about."""
        if not isinstance(op, Op) or op.info is NO_INFO or not self.lowering.table.knows(op):
            check_handles([op])

    def rule_stats(self) -> RuleStats:
        """How often each rule was tried and fired in this lowering, and the time it took: it is done once more."""
        with self._state.lock, only_off(self._choice.disabled):
            return rule_stats.rule_stats(self._handles, self._target, self._passes)

    def steps(self) -> Iterator[Seen]:
        """Every step of the lowering and what its rule says; what builds a term comes before what rewrites it."""
        replay = self._replay()
        handles = topological(self._handles)
        replay.shown |= self.lowering.table.on_the_way(handles)
        for handle in handles:
            yield from replay.steps(handle)

    def step_again(self, step: Step) -> Seen:
        """A step with what its rule says the term before it is, if that can be told.

        Raises:
            ArgumentError: for something else than a step.
        """
        if not isinstance(step, Step):
            raise ArgumentError(f"{step!r} is not a step", where=user_line(), do="give one that `steps` tells of")
        return self._replay().seen(step)

    def meaning(self, term: Op) -> Array:
        """The value of a term of the lowering for the last arguments, by the meanings of ops.

        Raises:
            InvalidHandleError: if it has none: before a call, inside a step of a scan, or after a write.
            ArgumentError: for something else than a term.
        """
        if not isinstance(term, Op):
            raise ArgumentError(f"{term!r} is not a term", where=user_line(), do="give a term of `lowering.roots`")
        with self._state.lock:
            return self._values(self._last_call()).recomputed(term)

    def _replay(self) -> Replay:
        """What can take the steps of this lowering again."""
        return replaying.Replay(self.lowering.table, self.lowering.bank, self._passes, self._target)

    def plan(self) -> str:
        """What the last call did, step by step: what moved, what was launched, where values lie, with their bytes.

        Raises:
            InvalidHandleError: before the first call, unless `entry` has made it ready.

        >>> import ngraph_rewrite as ng
        >>> x = ng.placeholder({"H": 3}, name="x")
        >>> with ng.make_transformer("cpu") as transformer:
        ...     twice = transformer.computation(x + x, x)
        ...     _ = twice.entry((3,))
        ...     print(twice.plan())  # doctest: +ELLIPSIS
        arena: 0 bytes for 0 values
        0: map_... computes semi.add(strip(x), strip(x)), 12 bytes in the memory of result 0
        """
        self._state.check_open()
        call = self._kept[0]
        ready = (self._prepared.latest if call is None else call[0]) or self._ready()
        executable, values = ready.executable, ready.once
        once = [f"once, before the first call: {describe(t, 2)}, {v.nbytes:,} bytes" for t, v in values.items()]
        return "\n".join([*once, str(getattr(executable, "shown", executable.source)())])

    def source(self) -> str:
        """The text of the kernels that the last call ran.

        Raises:
            InvalidHandleError: before the first call, which prepares them.
        """
        return self._ready().executable.source()

    def stats(self) -> dict[str, Any]:
        """Figures about the last call: kernels, launches, bytes of the arena, and of what was computed once before it.

        Raises:
            InvalidHandleError: before the first call.
        """
        ready = self._ready()
        once = sum(value.nbytes for value in ready.once.values())
        return {**ready.executable.stats(), "plans": len(self._prepared), "once_bytes": once}

    def _ready(self) -> Ready:
        """What was ready for the last call; one that another thread makes is waited for."""
        with self._state.lock:
            ready: Ready = self._last_call()[0]
            return ready

    def _last_call(self) -> tuple[Any, ...]:
        """What was ready for the last call, its number, arguments and results."""
        self._state.check_open()
        if self._kept[0] is None:
            raise InvalidHandleError(_NO_CALL, where=user_line(), do="call the computation first")
        return self._kept[0]
