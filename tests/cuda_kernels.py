# SPDX-License-Identifier: Apache-2.0
"""Runs the text of kernels for GPUs on NumPy arrays: on a device, emulated or simulated. It needs numba-cuda."""

import linecache
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from gpu_examples import EMULATED
from numba import cuda
from numba.cuda.core import config

from ngraph_rewrite.codegen.loops import Step
from ngraph_rewrite.codegen.scalar import expression
from ngraph_rewrite.runtime.cuda import simulated_launches, words
from ngraph_rewrite.runtime.cuda.device import each_way
from ngraph_rewrite.runtime.cuda.permitted import allow, permitted
from ngraph_rewrite.runtime.ptx.program import Program

SIMULATED = bool(config.ENABLE_CUDASIM)
if EMULATED:
    from ngraph_rewrite.runtime.cuda.compiling import compile_ptx
Array = np.ndarray[Any, Any]


def function(text: str) -> Callable[..., None]:
    """The kernel that a text defines with the words; the first name in it is its own."""
    name = text.partition("(")[0].removeprefix("def ")
    place = f"<{name} {hash(text)}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    scope = {**vars(words), "np": np}
    exec(compile(text, place, "exec"), scope)  # noqa: S102  (the text is a test's)
    kernel: Callable[..., None] = scope[name]
    return kernel


_written = cache(function)
_compiled = cache(lambda text: cuda.jit(function(text)))


@cache
def _program(text: str) -> Program:
    kernel = function(text)
    return Program(compile_ptx(kernel, len(signature(kernel).parameters), [(9, 0)])[0], kernel.__name__)


def launch(text: str, *arguments: Any, blocks: int | tuple[int, int, int] = 1, lanes: int = 2) -> None:
    """Run a kernel; it is given the addresses of arrays, which have what it stored afterwards, and integers."""
    if SIMULATED:
        with ExitStack() as context:
            simulated_launches.launch(_written(text), blocks, lanes, [_number(context, x) for x in arguments])
        return
    if EMULATED:
        with ExitStack() as context:
            numbers = [_number(context, x) for x in arguments]
            _program(text).launch(each_way(blocks), lanes, numbers, permitted())
        return
    copies = [cuda.to_device(_bytes(x)) if isinstance(x, np.ndarray) else x for x in arguments]
    addresses = [x if isinstance(x, int) else x.__cuda_array_interface__["data"][0] for x in copies]
    _compiled(text)[blocks, lanes](*addresses)
    for array, copy in zip(arguments, copies, strict=True):
        if isinstance(array, np.ndarray):
            _bytes(array)[:] = copy.copy_to_host()


def _number(context: ExitStack, argument: Any) -> int:
    if not isinstance(argument, np.ndarray):
        return int(argument)
    context.enter_context(allow(argument.ctypes.data, argument.nbytes))
    return argument.ctypes.data


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def map_text(steps: Sequence[Step], dtypes: Sequence[str]) -> str:
    """A kernel that applies steps to the elements of arrays: ``(n, operands..., results...)``."""
    operands = [f"x{i}" for i in range(len(dtypes))]
    names = [*operands, *(f"y{i}" for i in range(len(steps)))]
    loads = [f"v{i} = load_{dtype}(x{i}, i, {i})" for i, dtype in enumerate(dtypes)]
    stores = []
    for number, step in enumerate(steps):
        value = expression(step.op, step.dtype, [f"v{i}" for i in step.operands], dict(step.attributes),
                           [dtypes[i] for i in step.operands])  # fmt: skip
        stores.append(f"store_{step.dtype}(y{number}, i, {value}, {len(dtypes) + number})")
    body = "\n        ".join(loads + stores)
    return f"def applied(n, {', '.join(names)}):\n    for i in range(thread(), n, threads()):\n        {body}\n"


def apply(steps: Sequence[Step], *operands: Array) -> list[Array]:
    """What steps give, element by element."""
    results = [np.zeros(operands[0].shape, step.dtype) for step in steps]
    text = map_text(steps, [x.dtype.name for x in operands])
    launch(text, operands[0].size, *operands, *results)
    return results
