# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU: what stays there, what other libraries hand over, variables on both sides, and memory that ends."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.runtime.cuda.device import find_device
from ngraph_rewrite.runtime.cuda.dlpack import CPU, CUDA, Handed, handed_over, read_dlpack
from ngraph_rewrite.targets.cuda import CudaExecutable
from ngraph_rewrite.targets.device_arrays import DeviceArray

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

X = np.arange(6, dtype=np.float32).reshape(2, 3)
x = ng.placeholder(ng.anonymous((2, 3)), name="x")


class Foreign:
    """An array of another library."""

    def __init__(self, **interface: Any) -> None:
        self.__cuda_array_interface__ = interface


def test_results_stay_where_they_were_computed_and_are_arguments_again() -> None:
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x)
        once = double.on_device(X)
        twice = double.on_device(once)
        assert isinstance(once, DeviceArray) and isinstance(twice, DeviceArray)
        assert np.asarray(once).tolist() == (2 * X).tolist()  # a later call has not written over it
        assert np.asarray(twice).tolist() == (4 * X).tolist()
        assert double(twice).tolist() == (8 * X).tolist()
        assert double.value(x).tolist() == (4 * X).tolist()


def test_a_call_after_one_that_is_told_knows_its_arguments() -> None:
    """What a call records has the addresses of its own arguments, also if those of the call before were the same."""
    first, other = ng.to_device(X), ng.to_device(X + 1)
    total = ng.numpy.cumsum(ng.numpy.cumsum(x, axis=0), axis=1)  # only the second launch has the address of a result
    with ng.make_transformer("cuda") as transformer:
        sums = transformer.computation(total, x)
        sums.on_device(first)
        with ng.trace_calls(lambda *told: None):
            sums.on_device(other)
        assert np.asarray(sums.on_device(other)).tolist() == (X + 1).cumsum(0).cumsum(1).tolist()
        assert sums.stats()["launches"] > 1


long = ng.placeholder([ng.Axis("H", 3), ng.Axis("N")], name="long")
CALLS = ["there", "there", "there", "host", "longer", "told", "set", "restored", "closed"]


def stepped(target: str, calls: Sequence[str], path: Path, stays: bool) -> list[Any]:
    """What a step gives that draws numbers and changes a variable, by calls, and what the variable is at the end."""
    w = ng.variable(long.axes[:1], initial_value=1.0)
    total, drawn = long + w, ng.sequential([ng.assign(w, w * 2), ng.uniform(long.axes[:1], low=0.0, high=1.0)])
    found = list[Any]()
    with ng.make_transformer(target, seed=5) as transformer:
        step = transformer.computation([total, drawn], long)
        transformer.save(path)
        for number, how in enumerate(calls):
            value: Any = np.full((3, 4 if how == "longer" else 2), number, np.float32)
            if target == "cuda" and how != "host":
                value = ng.to_device(value)
            if how == "set":
                transformer.set(w, [3, 1, number])
            elif how == "restored":
                transformer.restore(path)
            elif how == "closed":
                transformer.close()
            lines = list[str]()
            with ng.trace_calls(lines.append) if how == "told" else nullcontext():
                try:
                    results = (step.on_device if stays else step)(value)
                    found.append([np.asarray(one) for one in (*results, step.value(total))] + [bool(lines)])
                except ng.ClosedError:
                    return [*found, "closed"]
        return [*found, transformer.get(w)]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from(CALLS), max_size=6))
def test_a_call_that_moves_nothing_is_one_as_any_other(calls: Sequence[str]) -> None:
    """Among others, with other arguments and after all that can happen in between: what it draws and writes too."""
    with TemporaryDirectory() as folder:
        found, wanted = (
            stepped(target, calls, Path(folder) / target, target == "cuda") for target in ("cuda", "reference")
        )
    for one, other in zip(found, wanted, strict=True):
        assert str(one) == str(other)


def test_a_call_that_moves_nothing_goes_a_way_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once there is what runs: also if nobody reads an argument, if two are one array, after the arena has moved."""
    axes = [ng.Axis("H", 3), ng.Axis("N")]
    a, b, unread = ng.placeholder(axes), ng.placeholder(axes), ng.placeholder([ng.Axis("Z", 2)])
    total = ng.numpy.cumsum(ng.numpy.cumsum(a + b, axis=0), axis=1)  # something is between two launches
    short, long = (np.arange(3 * n, dtype=np.float32).reshape(3, n) % 7 for n in (2, 400))
    with ng.make_transformer("cuda") as transformer:
        sums = transformer.computation(total, a, b, unread)
        for value in (short, long, short):
            given_ = [ng.to_device(value)] * 2 + [ng.to_device(np.ones(2, np.float32))]
            sums.entry(value.shape, value.shape, (2,))  # what was ready for these shapes is the latest again
            assert np.asarray(sums.on_device(*given_)).tolist() == (2 * value).cumsum(0).cumsum(1).tolist()
            with monkeypatch.context() as patch:
                patch.setattr(CudaExecutable, "run", None)
                found = sums.on_device(*given_)
            assert np.asarray(found).tolist() == (2 * value).cumsum(0).cumsum(1).tolist()


def test_an_argument_that_is_not_read_may_be_empty_and_of_any_length() -> None:
    unread = ng.placeholder([ng.Axis("Z", 0), ng.Axis("N")])
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x, unread)
        for n in (2, 3):
            there = [ng.to_device(X), ng.to_device(np.zeros((0, n), np.float32))]
            assert [np.asarray(double.on_device(*there)).tolist() for _ in range(2)] == [(2 * X).tolist()] * 2


@pytest.mark.parametrize("given_", [(), (X,) * 2, (X.astype(np.float64),), (X[0],)], ids=["none", "two", "wide", "row"])
def test_a_call_that_is_wrong_is_refused_as_by_others(given_: tuple[Any, ...]) -> None:
    there = [ng.to_device(one) for one in given_]
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x)
        once = double.on_device(ng.to_device(X))
        with pytest.raises(ng.ComputationError):
            double.on_device(*there)
        assert np.asarray(double.on_device(once)).tolist() == (4 * X).tolist()


def test_an_array_on_another_gpu_is_refused() -> None:
    class There:
        def __dlpack__(self, **options: Any) -> None:
            raise AssertionError("nobody should ask")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 1

    with pytest.raises(ng.ComputationError, match="GPU 1"):
        ng.to_device(There())


def test_an_array_of_another_library_is_read_where_it_is() -> None:
    own = ng.to_device(X)
    assert ng.to_device(own) is own
    seen = ng.to_device(Foreign(**own.__cuda_array_interface__))
    assert seen.address == own.address and np.asarray(seen).tolist() == X.tolist()
    turned = Foreign(**{**own.__cuda_array_interface__, "strides": (4, 8)})
    with pytest.raises(ng.ComputationError, match="strides"):
        ng.to_device(turned)
    assert ng.to_device(Foreign(shape=(2,), typestr="<V2", data=(own.address, False), version=3)).dtype == "bfloat16"


@pytest.mark.parametrize("dtype, offset", [("float32", 1), ("float64", 4), ("bfloat16", 1)])
def test_an_array_that_is_not_aligned_to_its_elements_is_refused(dtype: str, offset: int) -> None:
    """Some bytes of another library, seen as numbers: a kernel that reads them ends the context."""
    own, text = ng.to_device(np.zeros(64, np.uint8)), np.dtype(dtype).str
    with pytest.raises(ng.ComputationError, match=f"array of {dtype} on the GPU is at .* no multiple of"):
        ng.to_device(Foreign(shape=(4,), typestr=text, data=(own.address + offset, False), version=3, stream=None))
    assert ng.to_device(Foreign(shape=(0,), typestr=text, data=(own.address + offset, False), version=3)).nbytes == 0


def test_bytes_that_dlpack_says_to_pass_over_are_a_part_of_the_address() -> None:
    given_ = Producer(ng.to_device(X).address, 2)
    given_.words[5] = 1
    with pytest.raises(ng.ComputationError, match="no multiple of 4 bytes"):
        ng.to_device(given_)


def test_an_array_with_a_mask_is_refused() -> None:
    own = ng.to_device(X)
    with pytest.raises(ng.ComputationError, match="has a mask"):
        ng.to_device(Foreign(**own.__cuda_array_interface__, mask=own))


@pytest.mark.parametrize("shape, strides", [((0, 3), (4, 8)), ((3, 0), (0, 4)), ((2, 0, 3), (1, 2, 3))])
def test_an_array_without_elements_may_have_any_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    seen = ng.to_device(Foreign(shape=shape, strides=strides, typestr="<f4", data=(0, False), version=3))
    assert np.asarray(seen).shape == seen.shape == shape


def test_an_argument_of_another_dtype_is_refused() -> None:
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x)
        with pytest.raises(ng.ComputationError, match="float64"):
            double(ng.to_device(X.astype(np.float64)))
        assert double(X).tolist() == (2 * X).tolist()


class Producer:
    """What hands over a tensor of DLPack: `kind` is that of the device."""

    def __init__(self, address: int, kind: int) -> None:
        self.kind, self.shape = kind, (ctypes.c_int64 * 2)(2, 3)
        # data, device, its number, rank, dtype (float, 32 bits, 1 lane), shape, strides, offset: as dlpack.h has them
        self.words = (ctypes.c_uint64 * 6)(
            address, kind, 2 | (2 | 32 << 8 | 1 << 16) << 32, ctypes.addressof(self.shape), 0, 0
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, stream: int) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.words), b"dltensor", None)


def test_dlpack_hands_over_what_is_on_a_gpu() -> None:
    own = ng.to_device(X)
    seen = ng.to_device(Producer(own.address, 2))
    assert seen.address == own.address and np.asarray(seen).tolist() == X.tolist()
    assert read_dlpack(Producer(own.address, 1)) is None  # on the host
    assert read_dlpack(X) is None


class Newer(Producer):
    """The same in the structure of version 1, of memory that may only be read."""

    def __dlpack__(self, stream: int, max_version: tuple[int, int] = (0, 8)) -> Any:
        assert max_version >= (1, 0)
        given = Handed(int(self.words[0]), (2, 3), X.dtype, self.kind, self, read_only=True)
        return handed_over(given, max_version)


def test_dlpack_of_version_1_says_what_may_only_be_read() -> None:
    own = ng.to_device(X)
    seen = ng.to_device(Newer(own.address, 2))
    assert seen.address == own.address and np.asarray(seen).tolist() == X.tolist()
    assert seen.__cuda_array_interface__["data"] == (own.address, True)
    with pytest.raises(BufferError, match="only be read"):
        seen.__dlpack__()


@pytest.mark.parametrize("version", [None, (1, 0), (1, 3), (2, 0)])
def test_what_is_handed_over_by_dlpack_lives_as_long_as_the_other_library_has_it(version: Any) -> None:
    address, owner = X.ctypes.data, Foreign()
    alive = weakref.ref(owner)
    taken = np.from_dlpack(Host(handed_over(Handed(address, X.shape, X.dtype, CPU, owner), version)))
    unused = handed_over(Handed(address, X.shape, X.dtype, CPU, owner), version)
    assert taken.tolist() == X.tolist() and taken.ctypes.data == address
    del owner
    del taken
    assert alive() is not None  # what nobody took has it still
    del unused
    assert alive() is None


class Host:
    """What hands over one capsule."""

    def __init__(self, capsule: object, kind: int = CPU) -> None:
        self.capsules, self.kind = [capsule], kind

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, **options: Any) -> object:
        return self.capsules.pop()


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_what_another_library_refuses_is_given_back_and_its_error_is_told(version: Any) -> None:
    owner = Foreign()
    alive = weakref.ref(owner)
    given_ = Host(handed_over(Handed(X.ctypes.data, X.shape, X.dtype, CUDA, owner), version), CUDA)
    del owner
    with pytest.raises((RuntimeError, BufferError), match=r"(?i)device"):
        np.from_dlpack(given_)
    assert alive() is None


@pytest.mark.parametrize("version, name", [(None, b"dltensor"), ((1, 0), b"dltensor_versioned")])
def test_another_library_gives_back_without_the_lock(version: Any, name: bytes) -> None:
    owner, api = Foreign(), ctypes.pythonapi
    alive = weakref.ref(owner)
    capsule = handed_over(Handed(X.ctypes.data, X.shape, X.dtype, CPU, owner), version)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    place = api.PyCapsule_GetPointer(ctypes.py_object(capsule), name)
    assert api.PyCapsule_SetName(ctypes.py_object(capsule), b"used_" + name) == 0
    del owner, capsule
    assert alive() is not None
    words = (ctypes.c_uint64 * 8).from_address(place)  # as dlpack.h has them
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(words[7] if version is None else words[2])(place)
    assert alive() is None


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "bool"])
def test_results_are_handed_over_by_dlpack(dtype: str) -> None:
    own = ng.to_device(np.array([[0, 1], [1, 0], [1, 1]], dtype))
    seen = ng.to_device(Relay(own))
    assert (seen.address, seen.shape, seen.dtype) == (own.address, own.shape, own.dtype)
    copied = ng.to_device(Relay(own, copy=True))
    assert copied.address != own.address and np.asarray(copied).tolist() == np.asarray(own).tolist()
    assert ng.to_device(Relay(ng.to_device(np.ones((), "float32")))).shape == ()
    with pytest.raises(BufferError, match="device"):
        own.__dlpack__(dl_device=(9, 0))


class Relay:
    """What another library makes of an array, and hands on."""

    def __init__(self, array: DeviceArray, **how: Any) -> None:
        self.array, self.how = array, how

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options, **self.how)


def test_bfloat16_is_known_to_dlpack() -> None:
    own = ng.to_device(X.astype("bfloat16"))
    assert ng.to_device(Relay(own)).dtype == own.dtype == "bfloat16"


def test_numpy_gets_a_copy_or_nothing() -> None:
    own = ng.to_device(X)
    assert np.asarray(own, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.array(own, copy=False)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_memory_of_its_own(copied: Callable[[Any], Any]) -> None:
    first = ng.to_device(X)
    arrays = [first, copied(first), copied(ng.to_device(Foreign(**first.__cuda_array_interface__)))]
    assert len({array.address for array in arrays}) == 3
    del first, arrays[0]
    assert [np.asarray(array).tolist() for array in arrays] == [X.tolist()] * 2
    before = np.asarray(ng.to_device(X + 1))  # what is taken next is nobody else's
    assert before.tolist() == (X + 1).tolist() and np.asarray(arrays[0]).tolist() == X.tolist()


def test_an_array_does_not_go_to_other_processes() -> None:
    with pytest.raises(ng.ArgumentError, match="cannot be pickled"):
        pickle.dumps(ng.to_device(X))


def test_a_host_has_no_device_for_results() -> None:
    with ng.make_transformer("cpu") as transformer:
        with pytest.raises(ng.ArgumentError, match="no device"):
            transformer.computation(x + x, x).on_device(X)


def test_variables_are_the_same_on_both_sides() -> None:
    w = ng.variable(ng.anonymous((3,)), initial_value=1.0)
    with ng.make_transformer("cuda") as transformer:
        grow, read = transformer.computation(ng.assign(w, w * 2)), transformer.computation(w + 0)
        grow()
        grow()
        assert transformer.get(w).tolist() == [4, 4, 4]
        transformer.set(w, [1, 2, 3])
        assert read().tolist() == [1, 2, 3]
        grow()
        assert read().tolist() == [2, 4, 6]
        transformer.initialize()
        assert read().tolist() == [1, 1, 1] == transformer.get(w).tolist()


def test_initial_values_may_be_drawn_there() -> None:
    axes = [ng.Axis("H", 5)]
    w = ng.variable(axes, initial_value=ng.uniform(axes, low=2.0, high=3.0))
    found = {}
    for name in ("cuda", "reference"):
        with ng.make_transformer(name, seed=7) as transformer:
            transformer.computation(w + 0)()
            found[name] = transformer.get(w)
    assert found["cuda"].tolist() == found["reference"].tolist()


def test_too_much_memory_is_refused_and_nothing_is_lost() -> None:
    total = find_device().memory()[1]
    big = ng.placeholder(ng.anonymous(()), name="big")
    wide = ng.semi.broadcast(big, shape=(total, 2), dims=())  # a result of more than there is
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x)
        with pytest.raises(ng.DeviceMemoryError, match=f"{8 * total:,} bytes for a result.*{total:,}"):
            transformer.computation(wide, big).on_device(np.float32(1))
        assert double(X).tolist() == (2 * X).tolist()


def test_memory_is_given_back_with_what_owns_it() -> None:
    device = find_device()
    gc.collect()
    before = device.memory()[0]
    with ng.make_transformer("cuda") as transformer:
        result = transformer.computation(ng.exp(x), x).on_device(X)
        assert device.is_real or device.memory()[0] < before
    del result, transformer
    gc.collect()
    assert device.is_real or device.memory()[0] == before  # a real one keeps it for the next


def test_a_small_graph_is_one_launch_and_says_what_it_takes() -> None:
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(ng.exp(x) * 2 + 1, x)
        computation(X)
        stats = computation.stats()
        assert stats["launches"] == 1 and stats["device_bytes"] >= 2 * X.nbytes and stats["blocks"] == [1]
        assert "def map_" in computation.source() and "load4_float32" in computation.source()
