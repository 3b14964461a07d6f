# SPDX-License-Identifier: Apache-2.0
"""What is told where a GPU cannot be used: what is missing or too old, what there is, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")

from fake_driver import FakeDevice, fake_driver  # noqa: E402

from ngraph_rewrite.runtime.cuda import driver  # noqa: E402
from ngraph_rewrite.runtime.cuda.machine_code import MachineCode, Resources  # noqa: E402

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
            "CUDA 13 or",
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


def test_a_computation_whose_kernels_are_refused_can_be_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_driver() as fake, ng.make_transformer("cuda") as transformer:
        refused = transformer.computation(ng.exp(x), x)
        with monkeypatch.context() as patch, pytest.raises(ng.DeviceError, match="refused"):
            patch.setattr(fake, "function", refuse)
            refused([1, 2, 3])
        assert refused([1, 2, 3]).shape == (3,)


def refuse(name: str, text: str) -> int:
    raise ng.DeviceError(f"the kernel {name} was refused")
