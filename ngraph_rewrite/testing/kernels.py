# SPDX-License-Identifier: Apache-2.0
"""Each kernel file checked on drawn instances of its op: what its code stores, on a target, is what the op means.

Code that loops for ever, or uses memory that is not its own, costs the process that tries it, not the one that asks.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hypothesis import assume, given
from hypothesis.errors import Unsatisfiable

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.opkernel_files import kernel_text, read_kernel
from ngraph_rewrite.codegen.opkernels import OpKernel
from ngraph_rewrite.errors import DeviceError, KernelError, NGraphRewriteError
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.runtime.cuda.device import find_device
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.testing.evaluate import Undefined
from ngraph_rewrite.testing.given import check_count
from ngraph_rewrite.testing.kernel_differences import kernel_difference, place_of
from ngraph_rewrite.testing.kernel_runs import RUNS
from ngraph_rewrite.testing.rules import quietly
from ngraph_rewrite.testing.seldom import long_examples
from ngraph_rewrite.testing.strategies import Example, lengths, seeded_instances
from ngraph_rewrite.testing.values import ENOUGH
from ngraph_rewrite.testing.workers import MEGABYTES, Lost, Workers, cores

# Seconds for one instance, before the process that tries it is ended: far more than any right kernel needs.
PATIENCE = 30.0
# So many counterexamples are enough to show a short one.
MANY_WRONG = 4
# So many instances with a long axis are tried, of so many searches, with so many elements; what is longer is long.
LONG_ONES, LONG_SEARCHES, LONG_ELEMENTS, SHORT = 3, 40, 4000, 100


class WrongKernel(AssertionError):
    """A kernel that does not compute its op, with a counterexample."""


def check_kernel(
    source: str | Path | OpKernel,
    examples: int = 30,
    cache: Cache | None = None,
    target: str = "cpu",
    seconds: float = PATIENCE,
    seed: int = 0,
) -> int:
    """Check a kernel file on drawn instances of its op: its body for a target.

    Lengths, dtypes and attributes are drawn for which the guard holds; the same ones every time. Lengths go up to 3,
    and to those that the guard says; a few more instances have axes of 300 elements, where the op takes them. Each
    result must be the op's meaning, but for rounding, and the same however the work is shared out.

    A body for ``cpu`` runs in a process of its own, and its arrays lie so that an access outside of them ends that one,
    or is noticed. A body for ``cuda`` runs in this process on a GPU, or in Numba's simulator, or on an emulated GPU,
    where that is on, which also finds accesses outside of the arrays.

    Args:
        source: The path of a kernel file, or its text.
        examples: How many instances are drawn.
        cache: Where compiled kernels are kept; by default the user's cache folder.
        target: ``cpu`` or ``cuda``.
        seconds: How long an instance may take on the CPU.
        seed: Other instances for other seeds.

    Returns:
        On how many instances the kernel was compared.

    Raises:
        WrongKernel: with the term, the values and both results; with the term, if the kernel finds no end or ends its
            process; or if too few instances were found.
        KernelError, RuleFileError: if the file is not right, or has no body for the target.
        DeviceError: if there is no GPU, and the simulator is off.
    """
    check_count(examples)
    kernel = _kernel(source)
    if target not in kernel.template.bodies or target not in RUNS:
        raise KernelError(f"kernel {kernel.template.name} has no body for {target!r}", where=kernel.template.place,
                          do=f"check one that it has: {', '.join(kernel.template.bodies)}")  # fmt: skip
    if target == "cuda":
        return _compared(kernel, Draws(examples, seed), cache or Cache(), target)
    ((_, answer),) = _asked([Body(source, target)], 1, seconds, Draws(examples, seed), cache)
    if isinstance(answer, Exception):
        raise answer
    return answer


@dataclass(frozen=True)
class Draws:
    """How many instances are drawn, and from which seed."""

    examples: int = 30
    seed: int = 0


USUAL = Draws()


@dataclass(frozen=True)
class Body:
    """A kernel file, or its text, and one of the targets that it has a body for."""

    source: str | Path | OpKernel
    target: str


def check_bodies(
    bodies: Sequence[Body], jobs: int | None = None, seconds: float = PATIENCE, draws: Draws = USUAL
) -> Iterator[tuple[Body, int | Exception]]:
    """Each body with the number of instances that it was right on, or what is wrong, as it is found out.

    Processes of their own try them. One for ``cuda`` that they have no device for is tried by this one: what was forked
    from a process that uses a GPU cannot use it.
    """
    for body, answer in _asked(bodies, jobs, seconds, draws):
        yield body, _answered(body, draws) if isinstance(answer, DeviceError) else answer


def _asked(
    bodies: Sequence[Body], jobs: int | None, seconds: float, draws: Draws, cache: Cache | None = None
) -> Iterator[tuple[Body, int | Exception]]:
    if not bodies:
        return
    # The driver of a GPU takes more addresses than there is memory.
    megabytes = MEGABYTES if all(body.target == "cpu" for body in bodies) else None
    count = min(len(bodies), jobs or cores())
    with Workers(_Trials(bodies, draws, cache), count, seconds, megabytes) as workers:
        for number, answer in workers.ask(range(len(bodies))):
            body = bodies[number]
            yield body, _lost(body, answer) if isinstance(answer, Lost) else answer


@dataclass(frozen=True)
class _Trials:
    """Answers of a process: on how many instances the body of a number is right, or what came of it."""

    bodies: Sequence[Body]
    draws: Draws
    cache: Cache | None

    def __call__(self, number: int) -> int | Exception:
        faulthandler.disable()  # who asks says how this process ended
        return _answered(self.bodies[number], self.draws, self.cache)


def _answered(body: Body, draws: Draws, cache: Cache | None = None) -> int | Exception:
    try:
        return _compared(_kernel(body.source), draws, cache or Cache(), body.target)
    except (WrongKernel, NGraphRewriteError) as error:
        return error
    except Exception as error:  # of the op: not every exception can be sent
        says = f"cannot be checked: {told(error)}"
        return WrongKernel(f"{place_of(_kernel(body.source), body.target)} {says}")


def _lost(body: Body, answer: Lost) -> WrongKernel:
    kernel, strays = _kernel(body.source), "SIGSEGV" in answer.why or "SIGBUS" in answer.why
    what = f"{kernel.template.place}: kernel {kernel.template.name} on {body.target} {answer.why}"
    about = "before any instance" if answer.at is None else f"on {answer.at}"
    advice = "\n  it reads or stores outside of its arrays, or stores in an operand" if strays else ""
    return WrongKernel(f"{what}, {about}{advice}")


def _compared(kernel: OpKernel, draws: Draws, cache: Cache, target: str) -> int:
    """On how many instances a kernel was compared, in this process."""
    if target == "cuda":
        find_device()
    compared = 0
    wrong: list[str] = []

    def one(example: Example) -> bool:
        defined = False
        for values in example.choices if len(wrong) < MANY_WRONG else ():
            with suppress(Undefined):
                wrong.extend(kernel_difference(kernel, example.instance.term, values, cache, target))
                defined = True
        return defined or len(wrong) >= MANY_WRONG

    def drawn(example: Example) -> None:
        nonlocal compared
        assume(one(example))
        compared += 1

    with suppress(Unsatisfiable):  # no instance at all: said below
        quietly(draws.examples)(given(seeded_instances(kernel.rule, seed=draws.seed))(drawn))()
    more = sum(map(one, _long_ones(kernel, draws.seed)))
    if wrong:
        raise WrongKernel(min(wrong, key=len))
    if compared < ENOUGH * draws.examples:
        raise WrongKernel(
            f"{kernel.template.place}: kernel {kernel.template.name} was tried on {compared} of {draws.examples} drawn "
            f"instances of {kernel.definition}: say what can be drawn with ng.argument_domain and ng.attribute_domain"
        )
    return compared + more


def _long_ones(kernel: OpKernel, seed: int) -> Iterator[Example]:
    """Instances with long axes, no two with the same ones; few, and of few elements (some), as a simulator is slow."""
    seen = set[tuple[tuple[int, int], ...]]()
    for example in long_examples(kernel.rule, LONG_SEARCHES, seed, LONG_ELEMENTS):
        term = example.instance.term
        long = tuple((i, k) for i, t in enumerate((*term.args, term)) for k, n in enumerate(lengths(t)) if n > SHORT)
        if long and long not in seen and len(seen) < LONG_ONES and 0 not in lengths(term):
            seen.add(long)
            yield example


def _kernel(source: str | Path | OpKernel) -> OpKernel:
    if isinstance(source, OpKernel):
        return source
    load_plugin_ops()
    if isinstance(source, str) and "\n" in source:
        return read_kernel(source)
    return read_kernel(kernel_text(source), str(source))
