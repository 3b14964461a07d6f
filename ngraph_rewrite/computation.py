# SPDX-License-Identifier: Apache-2.0
"""A computation: lowered once, planned for each set of lengths it meets, called like a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import is_
from threading import get_ident
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import ref

import numpy as np

from ngraph_rewrite.answering import Answering
from ngraph_rewrite.arguments import as_argument, checked_inputs, in_order
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.calls import Calls
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.disabling import Choice
from ngraph_rewrite.lowering.passes import Lowering, Passes, lower
from ngraph_rewrite.outputs import apart, outputs
from ngraph_rewrite.preparation import Preparation
from ngraph_rewrite.ready import Ready, Shapes, Signature, machine_call, same_dtype
from ngraph_rewrite.returns import check_handles, has_value, leaves, packing, replaced, unboxed
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.runtime.aligned import result_array
from ngraph_rewrite.state import State
from ngraph_rewrite.stepping import Stepping, StepValues
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axis_checks import checked_length
from ngraph_rewrite.types.lengths import known


class Computation(Answering):
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
        given = [*leaves(returns), *keep]
        order = check_handles(given)
        self._parts = {h: unboxed(h) for h in given}
        self.returns = replaced(returns, self._parts.__getitem__)
        self._handles = [*leaves(self.returns), *leaves([self._parts[h] for h in keep])]
        if self._handles != given:  # parts of tuples
            order = topological(self._handles)
        self.inputs = checked_inputs(order, inputs)
        self._valued = [h for h in self._handles if has_value(h)]
        self._packed = packing(self.returns)
        self.lowering: Lowering = lower(self._handles, target, matchers, complete, order)
        order = self.lowering.sequenced.order
        state.register(
            (t for t in order if t.definition.name == "core.variable"),
            (t for t in order if "draw" in t.definition.traits),
        )
        self._dtypes = [same_dtype(p.dtype) for p in self.inputs]
        # the last call: what was ready, the number of the call, arguments and results
        self._kept: list[tuple[Any, ...] | None] = [None]
        # threads that ask machine code again: what it does not take then, as another thread came between, Python does
        self._asking: set[int] = set()
        self._running = False  # whether Python makes a call now: what it calls meanwhile shares no memory with it
        self._called_by(Calls(self))
        terms = dict(zip(self._handles, self.lowering.roots, strict=True))
        roots = [terms[h] for h in self._valued]
        self._prepared = Preparation(
            target, self.lowering, self._handles, roots, self.inputs, state, cache, threads, self._signature
        )

    def _called_by(self, calls: Calls) -> None:
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
        self._called_by(Calls(self))
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
            AxesError: for a shape that has something else than lengths.
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
        shapes = tuple(map(_shape, given))
        with self._state.lock:
            self._state.allocate()
            ready = self._executable(shapes)
            return machine_call(ready, self._signature._replace(computation=self)) or self._call

    def on_device(self, *args: Any, feed_dict: Mapping[Op, Any] | None = None, **others: Any) -> Any:
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
        results = self._stay(args) if feed_dict is None and not others else None
        if results is None:
            return self._run(in_order(self.inputs, args, feed_dict, others), None, self._target.arrays.empty)
        return self._packed(results)

    def _stay(self, args: Sequence[Any]) -> list[Any] | None:
        """The results of a call as the last one, where they were computed; None if it has to go another way."""
        state, prepared = self._state, self._prepared
        with state.lock:
            ready, words = prepared.latest, state.words
            # the first word: it was closed, or a variable has no array
            if ready is None or words[0] or prepared.stale or self._running:
                return None
            number = words[1]
            results = ready.stay(args, number)
            if results is not None:
                self._kept[0] = (ready, number, *args, *results)
                words[1] = number + 1
            return results

    def step(self, *args: Any, feed_dict: Mapping[Op, Any] | None = None, out: Any = None, **others: Any) -> Stepping:
        """A call that is made kernel by kernel: what runs next runs when it is asked for, and any handle can be probed.

        Args:
            args, feed_dict, out: As those of a call. Arrays are copied: what changes in them meanwhile does not show.

        Raises:
            ComputationError, ClosedError: as calls do.

        >>> import ngraph_rewrite as ng
        >>> x = ng.placeholder({"H": 3}, name="x")
        >>> y = ng.tanh(ng.dot(x, x))
        >>> with ng.make_transformer("cpu") as transformer:
        ...     call = transformer.computation(x + y, x).step([1, 2, 3])
        ...     for stepped in call:
        ...         print(stepped, call.value(y))  # doctest: +ELLIPSIS
        ...     call.results()
        0: gemm_... computes semi.tanh(...) 1.0
        1: map_... computes semi.add(..., ...) 1.0
        array([2., 3., 4.], dtype=float32)
        """
        state = self._state
        with state.lock:
            state.allocate()
            given = in_order(self.inputs, args, feed_dict, others)
            arrays = list(map(self._argument, given, self.inputs, self._dtypes))
            ready = self._prepared.made(tuple([a.shape for a in arrays]), apart=True)
            results = outputs(ready.shapes, self._valued, self.returns, out)
            own = [array.copy() if isinstance(array, np.ndarray) else array for array in arrays]
            call = (ready, state.calls, *own, *results)
            values = StepValues(call, self.lowering, self.inputs, self._handles, state)
            state.calls += 1
        return Stepping(values, state, partial(self._kept.__setitem__, 0, call), self._packed)

    def _argument(self, value: Any, term: Op, dtype: np.dtype[Any]) -> Any:
        """A value as an array that kernels can read: on the device of the target, if it is there."""
        if type(value) is np.ndarray and value.dtype is dtype and (f := value.flags).c_contiguous and f.aligned:
            return value
        if type(value) is float and dtype.kind == "f":
            return np.asarray(value, dtype)
        arrays = self._target.arrays
        found = None if arrays is None else arrays.adopt(value, term)
        return as_argument(value, term) if found is None else found

    def _call(self, /, *args: Any, feed_dict: Mapping[Op, Any] | None = None, out: Any = None, **others: Any) -> Any:
        """A call, whatever the arguments are: machine code may take them as they are converted, or for other shapes."""
        usual = feed_dict is None and not others and len(args) == len(self.inputs)
        given, thread = args if usual else in_order(self.inputs, args, feed_dict, others), get_ident()
        if self._entry is self._by_python or thread in self._asking:
            return self._run(given, out, result_array)
        with self._state.lock:
            arrays, entry = given, self._prepared.other(given)
            if entry is None:
                self._state.allocate()
                arrays, latest = list(map(self._argument, given, self.inputs, self._dtypes)), self._prepared.latest
                ready = self._executable(tuple([a.shape for a in arrays]))
                asked = usual and ready is latest and all(map(is_, arrays, given))
                entry = None if asked else self._entry
            else:
                self._entry = entry
        if entry is None:
            return self._run(arrays, out, result_array)
        self._asking.add(thread)
        try:
            return entry(*arrays, out=out)
        finally:
            self._asking.discard(thread)

    def _run(self, values: Sequence[Any], out: Any, empty: Callable[[tuple[int, ...], Any], Any]) -> Any:
        """A call with a value for each input.

        Args:
            empty: Makes an array for a result.
        """
        state = self._state
        with state.lock:
            state.allocate()
            arrays = list(map(self._argument, values, self.inputs, self._dtypes))
            shapes, running = tuple([a.shape for a in arrays]), self._running
            # a handler of a signal, or who listens to the calls, may call this while it is called
            ready = self._prepared.made(shapes, apart=True) if running else self._executable(shapes)
            given = None if out is None else outputs(ready.shapes, self._valued, self.returns, out)
            self._kept[0] = None  # so that results may lie where the last ones do, if nobody else has these
            if given is None:
                results = [empty(shape, dtype) for dtype, shape in ready.kinds]
            else:
                results, arrays = given, [apart(array, given) for array in arrays]
            number, self._running = state.calls, True
            try:
                ready.executable.run(arrays, results, number)
            finally:
                self._running = running
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


def _shape(example: Any) -> tuple[int, ...]:
    """The shape of a value, or the one that it is."""
    if isinstance(example, tuple):
        return tuple([known(checked_length(None, length)) for length in example])
    return np.shape(example)


class QuickComputation(Computation):
    """A computation whose calls begin in machine code: a frame of Python takes longer than a small call does."""

    __slots__ = ()
    if not TYPE_CHECKING:
        __call__ = Computation._entry  # the slot, which gives what an instance keeps there

    @property
    def __signature__(self) -> inspect.Signature:
        """That of calls, which `inspect` does not find in a slot."""
        return inspect.signature(super().__call__)
