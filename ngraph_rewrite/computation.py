# SPDX-License-Identifier: Apache-2.0
"""A computation: lowered once, planned for each set of lengths it meets, called like a function."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.arguments import as_argument, checked_inputs, in_order
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.call_values import CallValues
from ngraph_rewrite.errors import ArgumentError, InvalidHandleError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.disabling import Choice, only_off
from ngraph_rewrite.lowering.passes import Lowering, Passes, lower
from ngraph_rewrite.lowering.table import Step
from ngraph_rewrite.outputs import apart, outputs
from ngraph_rewrite.preparation import Preparation
from ngraph_rewrite.ready import Ready, Shapes, Signature, machine_call, same_dtype
from ngraph_rewrite.returns import check_handles, has_value, leaves, packing, replaced, unboxed
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.runtime.aligned import result_array
from ngraph_rewrite.state import State
from ngraph_rewrite.targets.target import Executable, Target
from ngraph_rewrite.terms.info import user_line
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
_PATIENCE = 10.0  # seconds that a call waits for the garbage collector at most


class Computation:
    """A function of arrays. Made by `Transformer.computation`; several share the transformer's state.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"H": 3}, name="x")
    >>> with ng.make_transformer("cpu") as transformer:
    ...     twice, result = transformer.computation(x + x, x), np.empty(3, np.float32)
    ...     same = twice(np.ones(3, np.float32), out=result) is result
    ...     same, result, twice(feed_dict={x: [1, 2, 3]})
    (True, array([2., 2., 2.], dtype=float32), array([2., 4., 6.], dtype=float32))
    """

    __slots__ = ("__dict__", "__weakref__", "_entry")
    _entry: Callable[..., Any]

    def __init__(
        self,
        target: Target,
        matchers: Passes,
        state: State,
        cache: Cache,
        returns: Any,
        inputs: Sequence[Op | str],
        keep: Sequence[Op],
        choice: Choice | None = None,
        complete: bool = True,
        threads: int = 1,
    ) -> None:
        self._target, self._state, self._cache, self._passes = target, state, cache, matchers
        self._choice = choice or Choice(RuleSet(), (), ())
        check_handles([*leaves(returns), *keep])
        self._parts = {h: unboxed(h) for h in (*leaves(returns), *keep)}
        self.returns = replaced(returns, self._parts.__getitem__)
        self._handles = [*leaves(self.returns), *leaves([self._parts[h] for h in keep])]
        self.inputs = checked_inputs(self._handles, inputs)
        self._valued = [h for h in self._handles if has_value(h)]
        self._packed = packing(self.returns)
        self.lowering: Lowering = lower(self._handles, target, matchers, complete)
        before = [*self.lowering.sequenced.roots, *self.lowering.sequenced.writes]
        order = self.lowering.sequenced.order or topological(before)
        state.register(
            (t for t in order if t.definition.name == "core.variable"),
            (t for t in order if "draw" in t.definition.traits),
        )
        self._dtypes = [same_dtype(p.dtype) for p in self.inputs]
        # the last call: what was ready, the number of the call, arguments and results
        self._kept: list[tuple[Any, ...] | None] = [None]
        self._called_by(_Calls(self))
        terms = dict(zip(self._handles, self.lowering.roots, strict=True))
        roots = [terms[h] for h in self._valued]
        self._prepared = Preparation(
            target, self.lowering, self._handles, roots, self.inputs, state, cache, threads, self._signature
        )

    def _called_by(self, calls: _Calls) -> None:
        """What makes a call: this, or machine code for the shapes of the latest one, where there is any."""
        self._by_python = self._entry = calls._call
        self._signature = Signature(self._dtypes, self.returns, self._kept, calls, self._state, self._cache)

    def __del__(self) -> None:
        """Whoever has only a function that calls it (`computation.__call__`) keeps it from now on.

        It is whole all the time: other threads may find it meanwhile, such as one that closes the transformer.
        """
        if not hasattr(self, "_prepared"):
            return  # it was never whole
        self.forget_executables()
        calls = ref(self._signature.computation)
        self._called_by(_Calls(self))
        self._prepared.signature = self._signature
        held: Any = calls()
        if held is not None:
            held.keep(self)
            self._called_by(held)
            self._prepared.signature = self._signature

    def __repr__(self) -> str:
        inside = ", ".join(describe(p, 1) for p in self.inputs)
        return f"Computation({', '.join(describe(h, 1) for h in self._handles)}; {inside})"

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            "a computation cannot be copied or pickled: it is memory and machine code of this process",
            where=user_line(),
            do="ask a transformer for another one; several threads may call this one",
        )

    # -- calling ------------------------------------------------------------------------------------

    def __call__(self, *args: Any, feed_dict: Mapping[Op, Any] | None = None, out: Any = None) -> Any:
        """The values of `returns` for these arguments, in its structure: fresh arrays, or those in `out`.

        Args:
            args: A value for each input, in order; arrays of its dtype are not copied.
            feed_dict: Instead of `args`: values by placeholder.
            out: Arrays to write the results into, in the structure of `returns` (None where there is none).

        Raises:
            ComputationError: for a wrong number of arguments, or wrong shapes or dtypes.
            ClosedError: if the transformer was closed.
            KeyboardInterrupt: between two kernels. Variables and `out` keep what was written until then, and the
                computation can be called again.
        """
        return self._call(*args, feed_dict=feed_dict, out=out)

    def entry(self, *examples: Any) -> Callable[..., Any]:
        """A function that calls this computation, made ready for arguments of one set of shapes: what calls cost least.

        It takes arguments in order, and ``out=``, and gives what the computation gives. Arguments of other shapes, or
        that have to be converted, are no mistake: they take the way that calls take.

        Args:
            examples: A value for each input, or its shape; only shapes matter.

        Raises:
            ComputationError, ClosedError: as calls do.

        >>> import numpy as np
        >>> import ngraph_rewrite as ng
        >>> x = ng.placeholder({"H": 3}, name="x")
        >>> with ng.make_transformer("cpu") as transformer:
        ...     twice = transformer.computation(x + x, x).entry((3,))
        ...     twice(np.ones(3, np.float32))
        array([2., 2., 2.], dtype=float32)
        """
        given = in_order(self.inputs, examples, None)
        shapes = tuple(one if isinstance(one, tuple) else np.shape(one) for one in given)
        with self._state.lock:
            self._state.allocate()
            ready = self._executable(shapes)
            return machine_call(ready, self._signature._replace(computation=self)) or self._call

    def on_device(self, *args: Any, feed_dict: Mapping[Op, Any] | None = None) -> Any:
        """As a call, but the results stay where they were computed, on the device of the transformer's target.

        They are arrays that other libraries read by the CUDA Array Interface, NumPy by a copy, and computations of the
        same target as arguments without one.

        Raises:
            ArgumentError: if the target computes on the host.
            ComputationError, ClosedError: as calls do.
            DeviceError: if the device is missing, fails, or has not enough memory.
        """
        if self._target.arrays is None:
            raise ArgumentError(
                f"the target {self._target.name} has no device for results to stay on",
                where=user_line(),
                do="call the computation, or use the target cuda",
            )
        results = self._stay(args) if feed_dict is None else None
        if results is None:
            return self._run(in_order(self.inputs, args, feed_dict), None, self._target.arrays.empty)
        return self._packed(results)

    def _stay(self, args: Sequence[Any]) -> list[Any] | None:
        """The results of a call as the last one, where they were computed; None if it has to go another way."""
        state, prepared = self._state, self._prepared
        with state.lock:
            ready, words = prepared.latest, state.words
            if ready is None or words[0] or prepared.stale:  # the first word: it was closed, or a variable has no array
                return None
            number = words[1]
            results = ready.stay(args, number)
            if results is not None:
                self._kept[0] = (ready, number, *args, *results)
                words[1] = number + 1
            return results

    def _argument(self, value: Any, term: Op, dtype: np.dtype[Any]) -> Any:
        """A value as an array that kernels can read: on the device of the target, if it is there."""
        if type(value) is np.ndarray and value.dtype is dtype and (f := value.flags).c_contiguous and f.aligned:
            return value
        arrays = self._target.arrays
        found = None if arrays is None else arrays.adopt(value, term)
        return as_argument(value, term) if found is None else found

    def _call(self, *args: Any, feed_dict: Mapping[Op, Any] | None = None, out: Any = None) -> Any:
        """A call, whatever the arguments are."""
        return self._run(in_order(self.inputs, args, feed_dict), out, result_array)

    def _run(self, values: Sequence[Any], out: Any, empty: Callable[[tuple[int, ...], Any], Any]) -> Any:
        """A call with a value for each input.

        Args:
            empty: Makes an array for a result.
        """
        state = self._state
        with state.lock:
            state.allocate()
            arrays = list(map(self._argument, values, self.inputs, self._dtypes))
            ready = self._executable(tuple([a.shape for a in arrays]))
            if out is None:
                results = [empty(shape, dtype) for dtype, shape in ready.kinds]
            else:
                results = outputs(ready.shapes, self._valued, self.returns, out)
                arrays = [apart(array, results) for array in arrays]
            number = state.calls
            ready.executable.run(arrays, results, number)
            self._kept[0] = (ready, number, *arrays, *results)
            state.calls = number + 1
        return self._packed(results)

    def _executable(self, shapes: Shapes) -> Ready:
        """What is ready for a set of shapes; it becomes the latest."""
        if self._prepared.stale:  # nobody told this one: it came back from the garbage collector
            self.forget_executables()
        latest = self._prepared.latest
        if latest is not None and latest.given == shapes:
            return latest
        ready = self._prepared.find(shapes)
        self._entry = self._prepared.entry or self._by_python
        return ready

    def forget_executables(self) -> None:
        """Drop what was prepared for calls; the next call prepares it again."""
        self._prepared.forget()
        self._entry, self._kept[0] = self._by_python, None

    # -- asking -------------------------------------------------------------------------------------

    def value(self, op: Op, recompute: bool = False) -> Any:
        """The value of a handle in the last call (of a variable: its present value; of a tuple, a tuple).

        Arguments and results of that call are not copied: what was changed in them since shows.

        Args:
            recompute: Evaluate the handle's meaning on the host, from the last arguments, if it has no value.

        Raises:
            InvalidHandleError: if it has none: the message says what became of it.
        """
        check_handles([op])
        if isinstance(op.type, TupleType):
            parts = self._parts[op] if op in self._parts else unboxed(op)
            return replaced(parts, lambda part: self.value(part, recompute))
        with self._state.lock:
            self._state.check_open()
            if op.definition.name == "core.variable":
                return self._state.array(op).copy()
            if self._kept[0] is None:
                raise InvalidHandleError(f"{describe(op, 1)} has no value before a call", where=user_line())
            return self._values(self._kept[0]).value(op, recompute)

    def _values(self, call: tuple[Any, ...]) -> CallValues:
        return CallValues(call, self.lowering, self.inputs, self._handles, self._state)

    def explain(self, op: Op) -> str:
        """How a handle was rewritten, step by step, and what computes it: the rule, its place, before and after."""
        check_handles([op])
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
        check_handles([op])
        with self._state.lock:
            return why_not.why_not(rule, op, self.lowering, self._passes, self._target, self._choice)

    def rule_stats(self) -> RuleStats:
        """How often each rule was tried and fired in this lowering, and the time it took: it is done once more."""
        with self._state.lock, only_off(self._choice.disabled):
            return rule_stats.rule_stats(self._handles, self._target, self._passes)

    def steps(self) -> Iterator[Seen]:
        """Every step of the lowering and what its rule says; what builds a term comes before what rewrites it."""
        replay = self._replay()
        handles = topological(self._handles)
        replay.shown.update(step.before for handle in handles for step in self.lowering.table.history(handle))
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
        executable = self._prepared.latest.executable if self._prepared.latest is not None else self._executed()
        return str(getattr(executable, "shown", executable.source)())

    def source(self) -> str:
        """The text of the kernels that the last call ran.

        Raises:
            InvalidHandleError: before the first call, which prepares them.
        """
        return self._executed().source()

    def stats(self) -> dict[str, Any]:
        """Figures about the last call: kernels, launches, bytes of the arena.

        Raises:
            InvalidHandleError: before the first call.
        """
        return {**self._executed().stats(), "plans": len(self._prepared)}

    def _executed(self) -> Executable:
        """What the last call ran."""
        ready: Ready = self._last_call()[0]
        return ready.executable

    def _last_call(self) -> tuple[Any, ...]:
        """What was ready for the last call, its number, arguments and results."""
        self._state.check_open()
        if self._kept[0] is None:
            raise InvalidHandleError("nothing has run yet", where=user_line(), do="call the computation first")
        return self._kept[0]


class _Calls:
    """Makes the calls of a computation that machine code does not: what a computation keeps may not keep it.

    Its memory would wait for the garbage collector, who does not know how much it is. What he finds has no weak
    references any more before its `__del__` is called: other threads that call it wait for that.
    """

    __slots__ = ("__weakref__", "_computation")

    def __init__(self, computation: Computation) -> None:
        self._computation: Callable[[], Computation | None] = ref(computation)

    def keep(self, computation: Computation) -> None:
        """From now on it is there as long as this."""
        self._computation = lambda: computation

    def _call(self, *args: Any, **given: Any) -> Any:
        end = time.monotonic() + _PATIENCE
        while (computation := self._computation()) is None:
            if time.monotonic() > end:
                what = "the computation that this function calls is gone"
                raise InvalidHandleError(what, where=user_line(), do="keep the computation beside it")
            time.sleep(0)
        return computation._call(*args, **given)


class QuickComputation(Computation):
    """A computation whose calls begin in machine code: a frame of Python takes longer than a small call does."""

    __slots__ = ()
    if not TYPE_CHECKING:
        __call__ = Computation._entry  # the slot, which gives what an instance keeps there

    @property
    def __signature__(self) -> inspect.Signature:
        """That of calls, which `inspect` does not find in a slot."""
        return inspect.signature(self._call)
