# SPDX-License-Identifier: Apache-2.0
"""A loss and its gradients on each engine, and steps of gradient descent, as users of the engine write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Arrays, Made, as_arrays
from benchmarks.engines import Make, Show, compiled_torch, in_jax, in_ours, module, planned

Loss = Callable[..., Any]
RATE = 0.01


def ours_gradients(loss: Loss, axes: Sequence[Any], arrays: Arrays, inputs: int, show: Show = as_arrays) -> Make:
    """A loss of inputs, which stand first, and weights, and its gradients by ``ng.deriv``."""

    def build(*terms: ng.Op) -> list[ng.Op]:
        found = loss(*terms)
        return [found, *ng.deriv(found, list(terms[inputs:]))]

    return in_ours(build, axes, arrays, show)


def jax_gradients(loss: Loss, arrays: Arrays, inputs: int) -> Make:
    """The same by ``jax.value_and_grad``, in one compiled function."""

    def both(*given: Any) -> list[Any]:
        value, slopes = module("jax").value_and_grad(loss, tuple(range(inputs, len(given))))(*given)
        return [value, *slopes]

    return in_jax(both, arrays)


def torch_gradients(
    loss: Loss, arrays: Arrays, inputs: int, compiled: bool = False, channels_last: bool = False
) -> Make:
    """The same by ``torch.autograd.grad``; compiled, loss and gradients are."""

    def make() -> Made:
        torch = module("torch")
        form = torch.channels_last if channels_last else torch.contiguous_format
        given = [torch.from_numpy(a) for a in arrays]
        given = [t.contiguous(memory_format=form) if t.dim() == 4 else t for t in given]
        weights = [t.requires_grad_() for t in given[inputs:]]
        call = compiled_torch(loss) if compiled else loss

        def run() -> list[Any]:
            value = call(*given)
            return [value, *torch.autograd.grad(value, weights)]

        return Made(run)

    return make


# -- steps -------------------------------------------------------------------------------------------------------------


def stepped(before: Arrays, after: Sequence[Any]) -> list[Array]:
    """The slopes that made weights what they are after one step."""
    return [(a.astype(np.float64) - b) / RATE for a, b in zip(before, as_arrays(list(after)), strict=True)]


def ours_step(loss: Loss, axes: Sequence[Any], arrays: Arrays, inputs: int) -> Make:
    """Weights are variables, and assigned."""

    def make() -> Made:
        given = [ng.placeholder(a) for a in axes[:inputs]]
        weights = [ng.variable(a, initial_value=w) for a, w in zip(axes[inputs:], arrays[inputs:], strict=True)]
        found = loss(*given, *weights)
        slopes = ng.deriv(found, weights)
        step = ng.doall([ng.assign(w, w - RATE * d) for w, d in zip(weights, slopes, strict=True)])
        computation = ng.make_transformer("cpu").computation([found, step], *given)
        values, out = arrays[:inputs], [np.empty((), np.float32), None]

        def show(result: Any) -> Arrays:
            return [np.array(result[0]), *stepped(arrays[inputs:], [computation.value(w) for w in weights])]

        return Made(lambda: computation(*values, out=out), show, lambda: planned(computation))

    return make


def numpy_step(gradients: Loss, arrays: Arrays, inputs: int) -> Make:
    """Weights are updated in place."""

    def make() -> Made:
        given, weights = arrays[:inputs], [w.copy() for w in arrays[inputs:]]

        def run() -> Any:
            value, *slopes = gradients(np, *given, *weights)
            for weight, slope in zip(weights, slopes, strict=True):
                weight -= np.float32(RATE) * slope
            return value

        return Made(run, lambda value: [np.array(value), *stepped(arrays[inputs:], weights)])

    return make


def jax_step(loss: Loss, arrays: Arrays, inputs: int) -> Make:
    """Weights go in and come out, in the same memory."""

    def make() -> Made:
        jax = module("jax")
        given = [jax.device_put(a) for a in arrays[:inputs]]

        def step(weights: list[Any], *given: Any) -> Any:
            value, slopes = jax.value_and_grad(lambda w: loss(*given, *w))(weights)
            return value, [w - RATE * d for w, d in zip(weights, slopes, strict=True)]

        compiled = jax.jit(step, donate_argnums=0)
        state = [jax.device_put(w.copy()) for w in arrays[inputs:]]

        def run() -> Any:
            value, state[:] = compiled(state, *given)
            return jax.block_until_ready(value)

        return Made(run, lambda value: [np.asarray(value), *stepped(arrays[inputs:], state)])

    return make


def torch_step(loss: Loss, arrays: Arrays, inputs: int, compiled: bool = False) -> Make:
    """Weights are updated in place, all in one call."""

    def make() -> Made:
        torch = module("torch")
        given = [torch.from_numpy(a) for a in arrays[:inputs]]
        weights = [torch.from_numpy(w.copy()).requires_grad_() for w in arrays[inputs:]]
        call = compiled_torch(loss) if compiled else loss

        def run() -> Any:
            value = call(*given, *weights)
            slopes = torch.autograd.grad(value, weights)
            with torch.no_grad():
                torch._foreach_add_(weights, slopes, alpha=-RATE)
            return value

        def show(value: Any) -> Arrays:
            return [value.detach().numpy(), *stepped(arrays[inputs:], weights)]

        return Made(run, show)

    return make
