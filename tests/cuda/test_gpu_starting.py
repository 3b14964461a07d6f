# SPDX-License-Identifier: Apache-2.0
"""What is told where a GPU cannot be used: what is missing or too old, what there is, and what to do."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.cuda.device import find_device

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")

from cuda.bindings import driver as cu
from fake_driver import FakeDevice, FakeDriver, fake_driver

from ngraph_rewrite.runtime.cuda import driver, modules
from ngraph_rewrite.runtime.cuda.machine_code import MachineCode, Resources

pytestmark = pytest.mark.cuda

x = ng.placeholder({"H": 3}, name="x")


def test_a_driver_that_does_not_start_is_told_in_its_own_words() -> None:
    with fake_driver() as fake:
        fake.failing = {"cuInit"}
        with pytest.raises(ng.DeviceError, match="there is no GPU to use: starting the CUDA driver failed") as caught:
            FakeDevice(fake)
    assert "install NVIDIA's driver, or use the target cpu" in str(caught.value)


def test_a_driver_that_is_too_old_is_told_with_its_version() -> None:
    with fake_driver() as fake:
        fake.version = 11080
        with pytest.raises(ng.DeviceError, match=r"is of version 11\.8, and 12\.0 is the oldest that works") as caught:
            FakeDevice(fake)
    assert "install a newer driver" in str(caught.value)


class LoadingDevice(FakeDevice):
    """A device whose driver is asked to load machine code."""

    load = driver.RealDevice.load


@pytest.mark.parametrize(
    ("version", "error", "told", "do"),
    [
        (
            12040,
            "INVALID_IMAGE",
            r"the CUDA driver is of version 12\.4, and machine code is made by packages of CUDA 13\.5",
            "CUDA 13 or newer, or the packages of CUDA 12",
        ),
        (13000, "INVALID_IMAGE", "loading the kernel k failed: CUDA_ERROR_INVALID_IMAGE", "CUresult"),
        (12040, "ILLEGAL_ADDRESS", "loading the kernel k failed: CUDA_ERROR_ILLEGAL_ADDRESS", "CUresult"),
    ],
)
def test_machine_code_that_a_driver_refuses(
    version: int, error: str, told: str, do: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told which of both is too old, if that may be why."""
    code = MachineCode("k", Resources(8, 0, 0, 0, 4), b"code", 13050)
    monkeypatch.setattr(driver, "prepare_codes", lambda *given: None)
    monkeypatch.setattr(driver, "code_of", lambda *given: code)
    with fake_driver() as fake:
        device = LoadingDevice(fake)
        fake.version, fake.failing = version, {"cuModuleLoadData"}
        fake.error = getattr(driver.cu.CUresult, f"CUDA_ERROR_{error}")
        with pytest.raises(ng.DeviceError, match=told) as caught:
            device.load({"k": "def k(): ..."}, Cache(tmp_path), 1)
        assert do in str(caught.value)
        fake.failing = set()
        assert set(device.load({"k": "def k(): ..."}, Cache(tmp_path), 1)) == {"k"}


# -- kernels that end --------------------------------------------------------------------------------------------------


@contextmanager
def loading(cache: Cache) -> Iterator[tuple[FakeDriver, Callable[[str], Any]]]:
    """A driver, and what loads the kernel of a name; one of them stays though nobody has it."""
    code = MachineCode("k", Resources(8, 0, 0, 0, 4), b"code", 13000)
    with fake_driver() as fake, pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "prepare_codes", lambda *given: None)
        patch.setattr(driver, "code_of", lambda *given: code)
        patch.setattr(modules, "RECENT", 1)
        device = LoadingDevice(fake)
        yield fake, lambda name: device.load({name: f"text of {name}"}, cache, 1)[name]


def test_a_kernel_is_unloaded_when_nobody_has_it_but_for_the_last_ones(tmp_path: Path) -> None:
    with loading(Cache(tmp_path)) as (fake, load):
        first = load("a")
        assert load("a") is first and fake.counts()["cuModuleLoadData"] == 1
        load("b")
        load("c")
        assert fake.counts()["cuModuleUnload"] == 1  # b
        assert load("a") is first and fake.counts()["cuModuleUnload"] == 1  # c
        load("d")
        assert not fake.counts()["cuModuleUnload"]
        del first
        assert fake.counts()["cuModuleUnload"] == 1


def test_a_kernel_that_runs_is_unloaded_when_that_is_over(tmp_path: Path) -> None:
    busy = cu.CUresult.CUDA_ERROR_NOT_READY
    with loading(Cache(tmp_path)) as (fake, load):
        fake._cuEventQuery = fake._cuStreamQuery = lambda what: (busy,)
        kernel = load("a")
        load("b")
        del kernel
        assert not fake.counts()["cuModuleUnload"]
        fake._cuEventQuery = lambda what: ()
        kernel = load("c")
        load("d")
        del kernel
        assert fake.counts()["cuModuleUnload"] == 2  # a and b; c may still run


def test_a_kernel_stays_loaded_where_to_unload_it_would_end_a_capture(tmp_path: Path) -> None:
    with loading(Cache(tmp_path)) as (fake, load):
        kernel = load("a")
        load("b")
        fake.failing, fake.error = {"cuStreamIsCapturing"}, cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        del kernel
        find_device().synchronize()
        assert not fake.counts()["cuModuleUnload"]


def test_a_module_that_lacks_its_kernel_is_unloaded(tmp_path: Path) -> None:
    with loading(Cache(tmp_path)) as (fake, load):
        fake.failing = {"cuModuleGetFunction"}
        with pytest.raises(ng.DeviceError, match="finding the kernel a"):
            load("a")
        gc.collect()
        assert fake.counts()["cuModuleUnload"] == 1


def test_a_computation_whose_kernels_are_refused_can_be_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_driver() as fake, ng.make_transformer("cuda") as transformer:
        refused = transformer.computation(ng.exp(x), x)
        with monkeypatch.context() as patch, pytest.raises(ng.DeviceError, match="refused"):
            patch.setattr(fake, "function", refuse)
            refused([1, 2, 3])
        assert refused([1, 2, 3]).shape == (3,)


def refuse(name: str, text: str) -> int:
    raise ng.DeviceError(f"the kernel {name} was refused")
