# SPDX-License-Identifier: Apache-2.0
"""How each engine is given a function and arrays, as its users would: what is compiled is compiled for these shapes.

Peers are imported when they are first asked for, so that those that are not installed are left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Arrays, Made, Task, as_arrays
from benchmarks.harness import OURS
from ngraph_rewrite.types.dtypes import BFLOAT16, is_float

Make = Callable[[], Made]
Show = Callable[[Any], Arrays]
# By the name of an engine: the package that it needs.
PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        OURS: "ngraph_rewrite",
        "numpy": "numpy",
        "numexpr": "numexpr",
        "jax": "jax",
        "torch": "torch",
        "torch.compile": "torch",
        "pytensor": "pytensor",
    }
)


def installed() -> list[str]:
    """The engines whose packages are there, and the compiler that one of them needs."""
    found = [name for name, package in PACKAGES.items() if importlib.util.find_spec(package)]
    return [name for name in found if name != "torch.compile" or compiler()]


def compiler() -> str | None:
    """The C++ compiler that torch would call."""
    return os.environ.get("CXX") or next(filter(None, map(shutil.which, ("g++", "clang++", "c++"))), None)


def missing() -> list[str]:
    """The engines that are left out."""
    return [name for name in PACKAGES if name not in installed()]


def module(name: str) -> Any:
    """A peer's module, imported if it is not yet."""
    return sys.modules.get(name) or importlib.import_module(name)


def in_ours(
    build: Callable[..., Any], axes: Sequence[Any], arrays: Arrays, show: Show = as_arrays, out: bool = True
) -> Make:
    """A computation of placeholders with these axes, which writes where the first result lies, if `out`."""

    def make() -> Made:
        inputs = [ng.placeholder(a, x.dtype.name) for a, x in zip(axes, arrays, strict=True)]
        computation = ng.make_transformer("cpu").computation(build(*inputs), *inputs)
        kept = computation(*arrays) if out else None
        return Made(lambda: computation(*arrays, out=kept), show, lambda: planned(computation))

    return make


def planned(computation: ng.Computation) -> str:
    """What the planner made of a computation: launches, layout copies and temporaries."""
    stats = computation.stats()
    words = [f"{stats['launches']} launches"]
    if stats["layout_copies"]:
        words.append(f"{stats['layout_copies']} layout copies of {stats['layout_copy_bytes'] / 1e6:.3g} MB")
    if stats["arena_bytes"] > 1e6:
        words.append(f"arena {stats['arena_bytes'] / 1e6:.3g} MB")
    return "; ".join(words)


def in_numpy(function: Callable[..., Any], arrays: Arrays) -> Make:
    """The function as it stands."""
    return lambda: Made(lambda: function(*arrays))


def in_jax(function: Callable[..., Any], arrays: Arrays, show: Show = as_arrays) -> Make:
    """Compiled by ``jax.jit``, until results are there."""

    def make() -> Made:
        jax = module("jax")
        compiled, inputs = jax.jit(function), [jax.device_put(a) for a in arrays]
        return Made(lambda: jax.block_until_ready(compiled(*inputs)), show)

    return make


def in_torch(
    function: Callable[..., Any],
    arrays: Arrays,
    compiled: bool = False,
    channels_last: bool = False,
    show: Show = as_arrays,
) -> Make:
    """Eager, or compiled by ``torch.compile`` for these shapes; images in the layout of channels last, if asked for."""

    def make() -> Made:
        torch = module("torch")
        inputs = [_tensor(torch, a) for a in arrays]
        if channels_last:
            inputs = [t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t for t in inputs]
        call = compiled_torch(function) if compiled else function

        def run() -> Any:
            with torch.inference_mode():
                return call(*inputs)

        return Made(run, show)

    return make


def _tensor(torch: Any, array: Array) -> Any:
    """An array as a tensor; bits of a bfloat16, which NumPy has none of, are those of an int16."""
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def compiled_torch(function: Callable[..., Any], mode: str | None = None) -> Any:
    """What ``torch.compile`` makes of a function in a mode, as if it were the first one."""
    torch = module("torch")
    importlib.import_module("torch._dynamo").reset()
    return torch.compile(function, dynamic=False, mode=mode)


def in_numexpr(expression: str, arrays: Mapping[str, Array]) -> Make:
    """An expression, which numexpr keeps compiled."""
    return lambda: Made(lambda: module("numexpr").evaluate(expression, local_dict=dict(arrays)))


def in_pytensor(function: Callable[..., Any], arrays: Arrays, mode: str | None = None) -> Make:
    """A compiled function whose arguments are not checked, in PyTensor's own mode or in another."""

    def make() -> Made:
        pytensor, tensors = module("pytensor"), module("pytensor.tensor")
        inputs = [tensors.tensor(dtype=a.dtype.name, shape=a.shape) for a in arrays]
        found = function(*inputs)
        outputs = [pytensor.Out(f, borrow=True) for f in (found if isinstance(found, list | tuple) else [found])]
        compiled = pytensor.function(inputs, outputs, mode=mode)
        compiled.trust_input = True
        return Made(lambda: compiled(*arrays))

    return make


def task(
    name: str,
    function: Callable[..., Any],
    arrays: Arrays,
    engines: Mapping[str, Make],
    like_numpy: Iterable[str] = ("numpy", "jax"),
    **rest: Any,
) -> Task:
    """A task whose answer is a function of a module like NumPy's and of the arrays; some engines run that function.

    Args:
        function: From such a module and the arrays to one result or several.
        engines: What runs other functions.
        like_numpy: Which engines run this one: numpy, jax, pytensor, and pytensor-c, which compiles to C.
        rest: As of `Task`.
    """
    there = set(installed())
    same: dict[str, Make] = {}
    if "numpy" in like_numpy:
        same["numpy"] = in_numpy(lambda *a: function(np, *a), arrays)
    if "jax" in like_numpy and "jax" in there:
        same["jax"] = in_jax(lambda *a: function(module("jax.numpy"), *a), arrays)
    for engine, mode in (("pytensor", None), ("pytensor-c", "CVM")):
        if engine in like_numpy and "pytensor" in there:
            same[engine] = in_pytensor(lambda *a: function(module("pytensor.tensor"), *a), arrays, mode)
    present = {engine: make for engine, make in engines.items() if package_there(engine, there)}
    first = {engine: present.pop(engine) for engine in list(present) if engine.startswith(OURS)}
    return Task(name, lambda: as_arrays(function(np, *map(double, arrays))), {**first, **same, **present}, **rest)


def package_there(engine: str, there: set[str]) -> bool:
    """Whether an engine, or the engine of which it is a variant, is installed."""
    return engine in there or engine.partition("-")[0] in there


def double(array: Array) -> Array:
    """Floats in float64; others as they are."""
    return array.astype(np.float64) if is_float(array.dtype) else array


def both_torches(function: Callable[..., Any], arrays: Arrays) -> dict[str, Make]:
    """Eager and compiled."""
    return {"torch": in_torch(function, arrays), "torch.compile": in_torch(function, arrays, compiled=True)}


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    """Numbers of float32 that are normally distributed."""
    return np.random.default_rng([seed, *shape]).normal(scale=scale, size=shape).astype(np.float32)
