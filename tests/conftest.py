# SPDX-License-Identifier: Apache-2.0
"""One cache folder for all tests of a run, so that each kernel is compiled once, and the user's is left alone.

Where several processes run the tests, none starts others to help it.
Where there is no GPU, Numba simulates one, in this process and in those that tests start.
Tests that are marked as `sampled`, and those of a GPU that is none, run with a part of their cases, the same ones each
time; NGRAPH_REWRITE_EXAMPLES=2 runs all.
"""

import ctypes
import gc
import linecache
import os
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ngraph_rewrite.terms.catalogue import undone_if_refused

VARIABLE, SIMULATOR, EMULATOR = "NGRAPH_REWRITE_CACHE", "NUMBA_ENABLE_CUDASIM", "NGRAPH_REWRITE_EMULATE_GPU"
HELPERS, EXAMPLES = "NGRAPH_REWRITE_HELPERS", "NGRAPH_REWRITE_EXAMPLES"
collect_ignore = ["extension_package", "cuda_ptx.py"]  # a third party's, for where it is installed; a script


def gpus() -> int:
    """How many the driver of CUDA knows of, if there is one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    return count.value if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


class Doctests:
    """Forgets the lines of files that Numba read: a doctest begins by asking of each whether it has changed.

    Forgets, too, what it declares: its names end with it, and what draws ops would draw one that is of no use.

    A plugin, as most doctests are not in this folder, and hooks for tests are those of the folders that they are in.
    """

    @staticmethod
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
        if not isinstance(item, pytest.DoctestItem):
            return (yield)
        linecache.clearcache()
        with suppress(_Over), undone_if_refused():
            result = yield
            raise _Over
        return result


class _Over(Exception):
    """A doctest has ended."""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Doctests())
    # Where a test does not say how many; how long one takes is up to the machine, and to what else runs there.
    settings.register_profile(
        "tests", settings.default, max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("tests")
    gc.set_threshold(10_000, 20, 20)  # many terms are made and few cycles
    if SIMULATOR not in os.environ and EMULATOR not in os.environ and not gpus():
        os.environ[SIMULATOR] = "1"  # before Numba is imported
    if VARIABLE not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="ngraph_rewrite-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ[VARIABLE] = folder.name
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault(HELPERS, "0")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not sampled, unless somebody names tests."""
    named = any("::" in argument for argument in config.args) or config.option.keyword
    if named or getattr(config.option, "lf", False) or int(os.environ.get(EXAMPLES, "1")) > 1:
        return
    cases, has_gpu = defaultdict[object, list[pytest.Item]](list), not {SIMULATOR, EMULATOR} & {*os.environ}
    for item in items:
        if isinstance(item, pytest.Function) and is_sampled(item, has_gpu):
            cases[item.function].append(item)
    left = {item for same in cases.values() for item in left_out(same)}
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def is_sampled(item: pytest.Item, has_gpu: bool) -> bool:
    return bool(item.get_closest_marker("sampled") or (item.get_closest_marker("cuda") and not has_gpu))


def left_out(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """All but a third of the cases of a test, chosen by checksums of their names; of one that is alone, nothing."""
    return sorted(cases, key=lambda item: zlib.crc32(item.nodeid.encode()))[(len(cases) + 2) // 3 :]


def pytest_collection_finish() -> None:
    _freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What lives on from one file to the next are caches, and more of them with each file."""
    if nextitem is None or nextitem.path != item.path:
        _freeze()


def _freeze() -> None:
    """Freeze what there is, such as all tests: each search of the garbage collector would take a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def thawed() -> Iterator[None]:
    """Nothing is frozen, as in most programs."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, used instead of the shared one."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"
