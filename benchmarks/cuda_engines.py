# SPDX-License-Identifier: Apache-2.0
"""How each engine is given a function and arrays that lie on a GPU, and where its results can be compared there.

Arrays are drawn by torch, on the GPU, and seen by all engines where they are; the answer is what torch computes from
them in float64. The same runs with the device ``cpu``, so that workloads can be tried where there is no GPU.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

import ngraph_rewrite as ng
from benchmarks.engines import compiled_torch, module
from benchmarks.harness import OURS, Run
from ngraph_rewrite.cuda_programs import LIBRARY
from ngraph_rewrite.runtime.cuda.device import find_device
from ngraph_rewrite.targets.device_arrays import DeviceArray

Tensor = Any  # of torch
Tensors = Sequence[Tensor]
Function = Callable[..., Any]
RATE = 0.01
# How torch compiles: what it tries the most for, and what replays a graph of launches as ours does.
TUNED, GRAPH = "max-autotune-no-cudagraphs", "reduce-overhead"
COMPILE = "torch.compile"


@dataclass(frozen=True)
class Made:
    """What an engine made of a problem.

    Attributes:
        run: One call; its results may still be computed when it returns.
        show: From what the first call returned to tensors as those of the answer.
        note: What is to be known about it, once it has run.
        close: Gives back what it holds.
    """

    run: Run
    show: Callable[[Any], Tensors]
    note: Callable[[], str] = str
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Problem:
    """What is computed: the answer in float64, and for each engine a function that makes what is timed.

    Attributes:
        bytes: What has to be read and written at least, where memory is the limit.
        flops: Multiplications and additions, where arithmetic is the limit, of the dtype.
        tolerance: The largest error allowed, relative to the largest number of each tensor of the answer.
        waits: Whether a call is timed to its very end, on the host.
    """

    name: str
    answer: Callable[[], Tensors]
    engines: Mapping[str, Callable[[], Made]]
    bytes: int = 0
    flops: int = 0
    dtype: str = "float32"
    tolerance: float = 1e-4
    waits: bool = field(default=False, kw_only=True)


Problems = Mapping[str, Callable[[], Problem]]


# -- arrays ------------------------------------------------------------------------------------------------------------


def normal(device: str, *shape: int, seed: int = 0, scale: float = 1.0, dtype: str = "float32") -> Tensor:
    """A tensor of normally distributed numbers."""
    torch = module("torch")
    generator = torch.Generator(device).manual_seed(hash((seed, *shape)) % 2**31)
    drawn = torch.randn(shape, generator=generator, device=device, dtype=torch.float32)
    return drawn.mul_(scale).to(getattr(torch, dtype))


def double(tensor: Tensor) -> Tensor:
    """Floats in float64; others as they are."""
    return tensor.double() if tensor.is_floating_point() else tensor


def listed(result: Any) -> Tensors:
    """One tensor, or several, as a list."""
    return list(result) if isinstance(result, list | tuple) else [result]


def to_ours(tensor: Tensor) -> Any:
    """A tensor as an argument of ours, where it is."""
    torch = module("torch")
    tensor = tensor.detach().contiguous()
    half = tensor.dtype == torch.bfloat16
    dtype = np.dtype(ml_dtypes.bfloat16 if half else str(tensor.dtype).removeprefix("torch."))
    if tensor.is_cuda:
        return DeviceArray(find_device(), tuple(tensor.shape), dtype, tensor.data_ptr(), owner=tensor)
    return tensor.view(torch.int16).numpy().view(dtype) if half else tensor.numpy()


def from_ours(result: Any) -> Tensor:
    """A result of ours as a tensor, where it is."""
    torch = module("torch")
    if not isinstance(result, DeviceArray):
        result = np.asarray(result)
        half = result.dtype == ml_dtypes.bfloat16
        tensor = torch.from_numpy(result.view(np.int16) if half else result)
        return tensor.view(torch.bfloat16) if half else tensor
    if result.dtype != ml_dtypes.bfloat16:
        return torch.as_tensor(result, device="cuda")
    bits = DeviceArray(result.device, result.shape, np.dtype(np.int16), result.address, owner=result)
    return torch.as_tensor(bits, device="cuda").view(torch.bfloat16)


# -- engines -----------------------------------------------------------------------------------------------------------


def in_ours(build: Function, axes: Sequence[Any], tensors: Tensors, device: str, disabled: Sequence[str] = ()) -> Made:
    """A computation of placeholders with these axes, without some rules."""
    given = [to_ours(t) for t in tensors]
    inputs = [ng.placeholder(a, g.dtype.name) for a, g in zip(axes, given, strict=True)]
    transformer = ng.make_transformer(device, disabled=disabled)
    computation = transformer.computation(build(*inputs), *inputs)
    run = called(computation, given, device)
    return Made(run, lambda r: [from_ours(x) for x in listed(r)], partial(planned, computation), transformer.close)


def called(computation: ng.Computation, given: Sequence[Any], device: str) -> Run:
    """A call whose results stay on the device."""
    call = computation.on_device if device == "cuda" else computation
    return lambda: call(*given)


def planned(computation: ng.Computation) -> str:
    """How many launches a call is."""
    return f"{computation.stats()['launches']} launches"


def in_torch(function: Function, tensors: Tensors, mode: str | None = None) -> Made:
    """Eager, or compiled in a mode, for these shapes."""
    torch = module("torch")
    call = function if mode is None else compiled_torch(function, mode)

    def run() -> Any:
        if mode == GRAPH:
            torch.compiler.cudagraph_mark_step_begin()
        with torch.inference_mode():
            return call(*tensors)

    return Made(run, listed)


def in_cupy(function: Function, tensors: Tensors) -> Made:
    """A function of CuPy's module and its arrays."""
    cupy = module("cupy")
    given = [cupy.asarray(t) for t in tensors]
    return Made(
        lambda: function(cupy, *given),
        lambda result: [module("torch").as_tensor(x, device="cuda") for x in listed(result)],
    )


def problem(
    name: str,
    axes: Sequence[Any],
    tensors: Callable[[], Tensors],
    ours: Function,
    torch: Function,
    device: str,
    *,
    cupy: Function | None = None,
    mode: str | None = TUNED,
    **rest: Any,
) -> Problem:
    """A problem of a function that each engine has: tensors are drawn here, and kept as long as it is.

    Args:
        mode: How torch compiles it; None of a product, for which it does what it does without, and of which we have
            kernels of our own (``-own``) beside a library's.
        rest: As of `Problem`.
    """
    given = tensors()
    engines: dict[str, Callable[[], Made]] = {
        OURS: lambda: in_ours(ours, axes, given, device),
        "torch": lambda: in_torch(torch, given),
    }
    if mode is None:
        engines[f"{OURS}-own"] = lambda: in_ours(ours, axes, given, device, LIBRARY)
    else:
        engines[COMPILE] = lambda: in_torch(torch, given, mode)
    if cupy is not None and importlib.util.find_spec("cupy"):
        engines["cupy"] = lambda: in_cupy(cupy, given)
    return Problem(name, lambda: listed(torch(*map(double, given))), engines, **rest)


# -- steps of training -------------------------------------------------------------------------------------------------


def step_problem(
    name: str,
    axes: Sequence[Any],
    tensors: Callable[[], Tensors],
    ours: Function,
    torch: Function,
    device: str,
    inputs: int,
    **rest: Any,
) -> Problem:
    """A step of gradient descent: the loss, and weights that are changed where they are.

    Args:
        inputs: How many of the tensors are data; the others are weights.
    """
    given = tensors()
    engines = {
        OURS: lambda: step_in_ours(ours, axes, given, inputs, device),
        "torch": lambda: step_in_torch(torch, given, inputs),
        COMPILE: lambda: step_in_torch(torch, given, inputs, GRAPH),
    }
    return Problem(name, lambda: gradients(torch, list(map(double, given)), inputs), engines, **rest)


def gradients(function: Function, tensors: Tensors, inputs: int) -> Tensors:
    """The loss and the slopes of all weights, by torch."""
    data, weights = tensors[:inputs], [w.detach().clone().requires_grad_() for w in tensors[inputs:]]
    loss = function(*data, *weights)
    return [loss.detach(), *module("torch").autograd.grad(loss, weights)]


def step_in_ours(build: Function, axes: Sequence[Any], tensors: Tensors, inputs: int, device: str) -> Made:
    """Weights are variables, and assigned."""
    before = [w.cpu().numpy() for w in tensors[inputs:]]
    data = [ng.placeholder(a) for a in axes[:inputs]]
    weights = [ng.variable(a, initial_value=w) for a, w in zip(axes[inputs:], before, strict=True)]
    loss = build(*data, *weights)
    slopes = ng.deriv(loss, weights)
    step = ng.doall([ng.assign(w, w - RATE * d) for w, d in zip(weights, slopes, strict=True)])
    transformer = ng.make_transformer(device)
    computation = transformer.computation([loss, step], *data)

    def show(result: Any) -> Tensors:
        after = [from_ours(transformer.get(w)).to(device) for w in weights]
        return [from_ours(result[0]), *slopes_of(tensors[inputs:], after)]

    run = called(computation, [to_ours(t) for t in tensors[:inputs]], device)
    return Made(run, show, partial(planned, computation), transformer.close)


def slopes_of(before: Tensors, after: Tensors) -> Tensors:
    """The slopes that made weights what they are after one step."""
    return [(b.double() - a.detach().double()) / RATE for b, a in zip(before, after, strict=True)]


def step_in_torch(function: Function, tensors: Tensors, inputs: int, mode: str | None = None) -> Made:
    """Weights are changed in place, all in one call."""
    torch = module("torch")
    data, weights = tensors[:inputs], [w.detach().clone().requires_grad_() for w in tensors[inputs:]]
    call = function if mode is None else compiled_torch(function, mode)

    def run() -> Any:
        if mode == GRAPH:
            torch.compiler.cudagraph_mark_step_begin()
        value = call(*data, *weights)
        slopes = torch.autograd.grad(value, weights)
        with torch.no_grad():
            torch._foreach_add_(weights, slopes, alpha=-RATE)
        return value

    return Made(run, lambda value: [value.detach(), *slopes_of(tensors[inputs:], weights)])
