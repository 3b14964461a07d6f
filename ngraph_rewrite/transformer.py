# SPDX-License-Identifier: Apache-2.0
"""A transformer: a target with its rules, its storage and its computations, which share their state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from operator import itemgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

from numpy.typing import NDArray

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.computation import Computation, QuickComputation
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.initialization import run_initializers
from ngraph_rewrite.lowering.counting import stats
from ngraph_rewrite.lowering.disabling import Choice, disabled_now, known_names, switched_off
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.pass_order import in_place
from ngraph_rewrite.lowering.passes import (
    SAFE_CLASSES,
    Passes,
    check_names,
    check_together,
    library,
    passes_of,
    standard_passes,
)
from ngraph_rewrite.rewriting.given import given_classes
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import CLASSES, RuleSet
from ngraph_rewrite.rewriting.watched import without
from ngraph_rewrite.runtime.pool import MOST_THREADS, usable_threads
from ngraph_rewrite.state import State
from ngraph_rewrite.targets.choices import as_target
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.protocols import answers

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ngraph_rewrite.lowering.counting import Figures, RuleStats


def make_transformer(
    name: str | Target = "cpu",
    *,
    seed: int = 0,
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: RuleSet | str | os.PathLike[str] | None = None,
    passes: Iterable[GraphPass] = (),
    sample: str | None = None,
    recurrent: str | None = None,
    cache: Cache | None = None,
    threads: int | None = None,
) -> Transformer:
    """A transformer for the target called `name`.

    Args:
        name: One of `transformer_choices`, or a target of your own.
        seed: Of all random draws; an integer from 0 to 2**63 - 1.
        classes: The classes of rules that may fire; all but ``"fast"`` by default.
        disabled: Names of rules that may not fire (``ng.rules()`` lists them).
        rules: Rules of your own, tried before the library's: a set, or a rule file or its text, which is checked.
        passes: Passes of your own, written in Python; each knows where it stands.
        sample: Where simple tensors have the sample axis inside: ``"first"``, ``"last"`` or ``"any"``; None is the
            target's own preference.
        recurrent: The same for the axis of time steps.
        cache: Where kernels and compiled rules are kept; the user's cache folder by default.
        threads: How many threads may work on a call, the calling one included; 1 starts none. By default
            ``NUMBA_NUM_THREADS``, or the cores this process may run on. Results do not depend on it.

    Raises:
        ArgumentError: for an unknown target, class, rule, pass or place, or a seed or number of threads out of range.
        ExtensionError: for an installed package that cannot be used.
        RuleFileError: for a rule file with a mistake, or a rule that is called as another one, which ships.

    >>> with make_transformer("reference") as transformer:
    ...     transformer.name
    'reference'
    """
    target = as_target(name).preferring(sample, recurrent)
    chosen, off = given_classes(classes), _listed("disabled", disabled, "names of rules")
    own = as_rules(rules)
    check_names(own)
    every = own + library()
    known_names(every, off)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ArgumentError(f"the seed is {seed!r}", where=user_line(), do="give an integer from 0 to 2**63 - 1")
    firing = every.of_class(chosen).without(off)
    check_together(own.of_class(chosen).without(off), firing)
    choice, own_passes = Choice(every, chosen, off), _listed("passes", passes, "passes")
    kept = cache if cache is not None else Cache()
    if not isinstance(kept, Cache):
        raise ArgumentError(f"cache is {cache!r}", where=user_line(), do="give ng.Cache(folder)")
    return Transformer(target, firing, seed, kept, own_passes, choice, _checked_threads(threads))


def _listed(argument: str, given: Any, what: str) -> tuple[Any, ...]:
    """Several things, or one string."""
    try:
        return (given,) if isinstance(given, str) else tuple(given)
    except TypeError:
        raise ArgumentError(f"{argument} is {given!r}", where=user_line(), do=f"give a list of {what}") from None


def _checked_threads(threads: int | None) -> int:
    if threads is None:
        return usable_threads()
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        do = f"give an integer from 1 to {MOST_THREADS}"
        raise ArgumentError(f"the number of threads is {threads!r}", where=user_line(), do=do)
    return threads


PassesBut = Callable[[tuple[str, ...]], Passes]  # those without some rules


class _PassesBut:
    """The compiled rules of each pass but those that are off, and passes of one's own."""

    def __init__(self, rules: RuleSet, target: Target, cache: Cache, own: tuple[GraphPass, ...]) -> None:
        self._given = rules, target, cache, own
        self._known: dict[tuple[str, ...], Passes] = {}

    def __call__(self, off: tuple[str, ...]) -> Passes:
        if () not in self._known:
            self._known[()] = passes_of(*self._given)
        if off not in self._known:
            every = self._known[()].items()
            self._known[off] = {n: without(one, off) if isinstance(one, Matcher) else one for n, one in every}
        return self._known[off]


def _initial_values(
    target: Target, passes: PassesBut, cache: Cache, terms: Sequence[Op], seed: int, streams: Mapping[Uid, int]
) -> list[NDArray[Any]]:
    return run_initializers(terms, target, passes(disabled_now()), cache, seed, streams)


class Transformer:
    """A target, the rules that may fire, storage, and computations. Make one with `make_transformer`.

    State (variables, and the count of calls that random draws use) belongs to the transformer and is shared
    by all its computations, which may be added at any time. It may be used from several threads: calls run
    one after the other. As a context manager it is closed at the end.
    """

    def __init__(
        self,
        target: Target,
        rules: RuleSet,
        seed: int,
        cache: Cache,
        passes: tuple[GraphPass, ...] = (),
        choice: Choice | None = None,
        threads: int = 1,
    ) -> None:
        self.target, self.rules, self.cache, self.threads = target, rules, cache, threads
        self.choice = choice or Choice(rules, CLASSES, ())
        in_place(standard_passes(target), passes)  # refuses what has no place
        self._passes = self._chosen(passes)
        self._state = State(seed, partial(_initial_values, target, self._passes, cache))
        self._computations: WeakValueDictionary[int, Computation] = WeakValueDictionary()
        self._ages = count()

    def _chosen(self, own: tuple[GraphPass, ...]) -> PassesBut:
        """What runs; it may not know this object, which would wait for the garbage collector."""
        return _PassesBut(self.rules, self.target, self.cache, own)

    @property
    def name(self) -> str:
        """The name of its target."""
        return self.target.name

    @property
    def computations(self) -> list[Computation]:
        """Those that are still there, in the order in which they were made: nobody but who asked for one keeps it."""
        found = [(seen.key, made) for seen in self._computations.valuerefs() if (made := seen()) is not None]
        return [made for _, made in sorted(found, key=itemgetter(0))]  # while other threads make some

    def __repr__(self) -> str:
        return f"Transformer({self.name!r}, {len(self.computations)} computations)"

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            "a transformer cannot be copied or pickled: it is the state of this process",
            where=user_line(),
            do="make another one; `save` and `restore` take the values of variables there",
        )

    def __enter__(self) -> Transformer:
        self._state.check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def computation(self, returns: Any, *inputs: Op | str, keep: Iterable[Op] | Op = ()) -> Computation:
        """A callable that computes `returns` from arguments for `inputs`.

        Args:
            returns: An op, or a tuple, list or dict of ops (and of such): results have the same structure.
                An op without a value (`doall`) gives None.
            inputs: The placeholders that arguments are for, in order; ``"all"`` for all, as they are met.
            keep: Ops whose values `Computation.value` can give after a call.

        Raises:
            ComputationError: for a placeholder that is needed and not listed, inputs that are not ones, nothing
                to compute, or a term of another lowering instead of a handle.
            ArgumentError: if `keep` is no list of ops.
            RewriteError, UnloweredOpError: if lowering fails.

        >>> from ngraph_rewrite.frontend.axes import tanh
        >>> from ngraph_rewrite.frontend.storage import placeholder
        >>> x = placeholder([], name="x")
        >>> with make_transformer("reference") as transformer:
        ...     float(transformer.computation(tanh(x), x)(0.0))
        0.0
        """
        made = self._computation(returns, inputs, (keep,) if isinstance(keep, Op) else _listed("keep", keep, "ops"))
        with self._state.lock:
            self._computations[next(self._ages)] = made
        return made

    def lowered(self, returns: Any) -> Computation:
        """A computation that is there to be asked: it may have ops that no rule lowers, and is not kept.

        Raises:
            ComputationError, RewriteError: as `computation` does.

        >>> from ngraph_rewrite.frontend.axes import erf
        >>> from ngraph_rewrite.frontend.storage import placeholder
        >>> with make_transformer("cpu", disabled="axes.unary.erf") as transformer:
        ...     transformer.lowered(erf(placeholder([], name="x"))).lowering.roots
        [axes.erf(x)]
        """
        return self._computation(returns, ("all",), (), complete=False)

    def _computation(
        self, returns: Any, inputs: Sequence[Op | str], keep: Sequence[Op], complete: bool = True
    ) -> Computation:
        state, off = self._state, disabled_now()
        with state.lock:
            state.check_open()
            choice = self.choice._replace(disabled=(*self.choice.disabled, *off))
            passes = self._passes(off)
            with switched_off(self.choice.disabled):  # for passes that have rules of their own
                return QuickComputation(
                    self.target, passes, state, self.cache, returns, inputs, keep, choice, complete, self.threads
                )

    # -- state --------------------------------------------------------------------------------------

    def allocate(self) -> None:
        """Give every variable that has none its storage, with its initial value. Calls do so by themselves."""
        with self._state.lock:
            self._state.allocate()

    def initialize(self) -> None:
        """Give every variable its initial value, again if need be, and begin the random draws anew.

        Initial values that are terms are computed, all by one computation, whose draws have the same numbers
        every time. Calls do so for variables that have no value yet.

        Raises:
            ComputationError: if initial values depend on each other in a cycle, or do not fit.
        """
        with self._state.lock:
            self._state.initialize()

    def get(self, variable: Op) -> NDArray[Any]:
        """A copy of the present value of a variable.

        Raises:
            InvalidHandleError: if no computation of this transformer uses it.
        """
        with self._state.lock:
            return self._state.array(variable).copy()

    def set(self, variable: Op, value: Any) -> None:
        """Give a variable a value.

        Raises:
            ComputationError: if the value does not have its shape, or does not cast to its dtype.
            InvalidHandleError: if no computation of this transformer uses it.
        """
        with self._state.lock:
            self._state.set(variable, value)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file: variables, seed and count of calls. An old file stays until it is whole.

        Raises:
            ArgumentError: if that is no path.
            UnwritableFileError: if it cannot be written; it is an OSError, and nothing is left behind.
        """
        with self._state.lock:
            self._state.save(path)

    def restore(self, path: str | os.PathLike[str], part: bool = False) -> None:
        """Read the state that `save` wrote for the same variables, which are told by their names, else by their order.

        Args:
            part: Whether the file may have other variables too, as that of a training run has for those who only infer.

        Raises:
            SaveFileError: if the file is damaged, or of other variables; then nothing changes.
            ArgumentError: if that is no path.
            OSError: if it cannot be read.
        """
        with self._state.lock:
            self._state.restore(path, part)
            for computation in self.computations:
                computation.forget_executables()

    def close(self) -> None:
        """Free storage and computations; nothing can be called afterwards. Closing twice does nothing."""
        with self._state.lock:
            self._state.closed = True
            for computation in self.computations:
                computation.forget_executables()
            self._computations.clear()
            self._state.storage.clear()


@answers("stats")
def _stats(rules: RuleSet, roots: Any, target: str | Target) -> RuleStats | AbstractContextManager[Figures]:
    """How often each rule of a set is tried and fires in the lowering of a graph, or in a block: `RuleSet.stats`."""
    if roots is None:
        return stats(rules)
    with Transformer(as_target(target), rules.of_class(SAFE_CLASSES), 0, Cache()) as transformer:
        return transformer.lowered(roots).rule_stats()
