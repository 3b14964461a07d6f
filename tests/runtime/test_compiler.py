# SPDX-License-Identifier: Apache-2.0
"""A kernel is compiled once: in a process, and across processes that share a cache folder."""

import gc
import json
import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np
import pytest
from llvmlite.binding.newpassmanagers import FunctionPassManager, ModulePassManager, NewPassManager

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import MapNest, Operand, Source, Step, render_map
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime import compiler, stored
from ngraph_rewrite.runtime.compiler import compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable

PROGRAM = """
import json, sys
import numpy as np
from ngraph_rewrite.codegen.library import render_random
from ngraph_rewrite.codegen.loops import MapNest, Operand, Step, render_map
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.compiler import compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable

vector, cache = Operand("float64", ("1",)), Cache()
ops = sys.argv[1].split()
steps = tuple(Step(op, "float64", (0,)) for op in ops)
steps += (Step("mod", "float64", (0, 1)), Step("power", "float64", (0, 1)))
stores = tuple((1 + i, vector) for i in range(len(steps)))
source = render_map(MapNest(1, (vector,), steps, stores, tuple(range(1 + len(stores)))))
draws = render_random("normal", "float32")
kernels = [compile_kernel(s.text, s.name, cache) for s in (source, draws)]
x, y = np.linspace(0.1, 1, 10), np.zeros((len(stores), 10))
LaunchTable([Launch(kernels[0], [10, x.ctypes.data, *(row.ctypes.data for row in y)])]).run()
print(json.dumps({
    "cached": [kernel.from_cache for kernel in kernels],
    "numba": "numba" in sys.modules,
    "right": bool(np.allclose(y[0], np.exp(x)) and np.allclose(y[-1], x ** np.exp(x))),
}))
"""  # the 2nd operand of mod and power is the exponential
EVERY = "exp expm1 log log1p sin cos tan tanh erf sigmoid sqrt floor"


def start(folder: Path, ops: str = EVERY) -> "subprocess.Popen[str]":
    environment = {**os.environ, "NGRAPH_REWRITE_CACHE": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, ops], stdout=subprocess.PIPE, text=True, env=environment)


def outcome(process: "subprocess.Popen[str]") -> dict[str, object]:
    output, _ = process.communicate()
    assert process.returncode == 0
    return dict(json.loads(output))


def test_a_second_process_loads_objects_and_never_imports_numba(tmp_path: Path) -> None:
    assert outcome(start(tmp_path)) == {"cached": [False, False], "numba": True, "right": True}
    assert outcome(start(tmp_path)) == {"cached": [True, True], "numba": False, "right": True}
    for path in tmp_path.glob("*.o"):
        path.write_bytes(path.read_bytes()[:-100])
    assert outcome(start(tmp_path)) == {"cached": [False, False], "numba": True, "right": True}
    assert outcome(start(tmp_path)) == {"cached": [True, True], "numba": False, "right": True}


def test_two_processes_may_fill_one_folder(tmp_path: Path) -> None:
    for process in [start(tmp_path, "exp"), start(tmp_path, "exp")]:
        assert outcome(process)["right"]
    assert outcome(start(tmp_path, "exp")) == {"cached": [True, True], "numba": False, "right": True}


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the kernels of this process, as a new one would."""
    monkeypatch.setattr(compiler, "_kernels", WeakValueDictionary())


def scaled_by(factor: float) -> Source:
    vector = Operand("float32", ("1",))
    steps = (Step("constant", "float32", (), (("value", factor),)), Step("multiply", "float32", (0, 1)))
    return render_map(MapNest(1, (vector,), steps, ((2, vector),), (0, 1)))


def result_of(kernel: compiler.Kernel) -> float:
    x, y = np.ones(1, "float32"), np.zeros(1, "float32")
    LaunchTable([Launch(kernel, [1, x.ctypes.data, y.ctypes.data])]).run()
    return float(y[0])


def test_equal_sources_are_one_kernel(tmp_path: Path, fresh: None) -> None:
    source = scaled_by(3.0)
    first = compile_kernel(source.text, source.name, Cache(tmp_path))
    assert compile_kernel(source.text, source.name, Cache(tmp_path / "elsewhere")) is first
    assert result_of(first) == 3.0


def test_kernels_that_nobody_has_go_but_for_the_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    monkeypatch.setattr(compiler, "_recent", deque(maxlen=2))
    sources = [scaled_by(factor) for factor in (8.0, 9.0, 10.0, 11.0)]
    kept, *others = [compile_kernel(source.text, source.name, cache) for source in sources]
    seen = [ref(kernel) for kernel in others]
    table = LaunchTable([Launch(kept, [0, 0, 0])])
    del kept, others
    assert [kernel() is None for kernel in seen] == [True, False, False]
    first = sources[0]
    assert compile_kernel(first.text, first.name, cache) is table.launches[0].kernel


def test_compiling_leaves_nothing_of_numba_and_llvm_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred programs left two gigabytes: nobody looks for cycles while a graph is planned."""
    cache, made, given_back = Cache(tmp_path), [0], [0]
    compile_kernel(scaled_by(12.0).text, scaled_by(12.0).name, cache)  # what is prepared once
    for kind in (ModulePassManager, FunctionPassManager):
        monkeypatch.setattr(kind, "__init__", counted(made, kind.__init__))
    monkeypatch.setattr(NewPassManager, "_dispose", counted(given_back, NewPassManager._dispose))
    counts = []
    gc.collect()
    gc.disable()
    try:
        for factor in (13.0, 14.0, 15.0):
            source = scaled_by(factor)
            compile_kernel(source.text, source.name, cache)
            counts.append(Counter(type(one) for one in gc.get_objects() if is_of_compilers(one)))
            assert source.name not in sys.modules
    finally:
        gc.enable()
    assert counts[1] == counts[2]
    assert made[0] == given_back[0] > 0


def counted(count: list[int], method: Callable[..., None]) -> Callable[..., None]:
    def counting(*args: Any) -> None:
        count[0] += 1
        method(*args)

    return counting


def is_of_compilers(thing: object) -> bool:
    return str(type(thing).__module__).partition(".")[0] in ("numba", "llvmlite")


def test_threads_that_ask_for_one_source_share_it(tmp_path: Path, fresh: None) -> None:
    source, cache = scaled_by(4.0), Cache(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        kernels = list(pool.map(lambda _: compile_kernel(source.text, source.name, cache), range(8)))
    assert len({id(kernel) for kernel in kernels}) == 1


def test_the_source_is_a_file_to_read_and_is_written_again_if_changed(
    tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, cache = scaled_by(5.0), Cache(tmp_path)
    kernel = compile_kernel(source.text, source.name, cache)
    assert kernel.source_path.read_text().startswith(source.text)
    kernel.source_path.write_text("x = 1\n")
    monkeypatch.setattr(compiler, "_kernels", WeakValueDictionary())
    again = compile_kernel(source.text, source.name, cache)
    assert again.from_cache
    assert again.source_path.read_text().startswith(source.text)
    assert result_of(again) == 5.0


def test_other_instructions_make_other_objects(tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    source, cache = scaled_by(6.0), Cache(tmp_path)
    compile_kernel(source.text, source.name, cache)
    monkeypatch.setattr(compiler, "_kernels", WeakValueDictionary())
    monkeypatch.setattr(stored, "environment", lambda: b"another processor")
    assert not compile_kernel(source.text, source.name, cache).from_cache


@pytest.mark.parametrize(
    "text, message",
    [("def broken(args, chunk, nchunks:", "broken"), ("def broken(args, chunk, nchunks):\n    nothing()\n", "nothing")],
    ids=["syntax", "name"],
)
def test_a_source_that_does_not_compile_says_where_it_is(tmp_path: Path, fresh: None, text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message) as raised:
        compile_kernel(text, "broken", Cache(tmp_path))
    assert str(tmp_path / "broken.py") in str(raised.value)


def test_memory_on_the_stack_is_not_filled_first(tmp_path: Path) -> None:
    """LLVM's time to fill a line of accumulators grew with its square, and each call of a kernel filled it."""
    text = """from ngraph_rewrite.runtime.intrinsics import argument, load_int64, store_int64, workspace_int64

def works(args, chunk, nchunks):
    space = workspace_int64(2048)
    for i in range(nchunks):
        store_int64(space, i, chunk, 0)
    store_int64(argument(args, 0), 0, load_int64(space, argument(args, 1), 0), 1)
"""
    code = compiler.assembly(text, "works", Cache(tmp_path))
    assert "subq" in code and "memset" not in code


def test_an_object_that_needs_what_is_not_there_is_refused(tmp_path: Path, fresh: None) -> None:
    source, cache = scaled_by(7.0), Cache(tmp_path)
    compile_kernel(source.text, source.name, cache)
    (path,) = tmp_path.glob("*.o")
    entry, _, data = (cache.read(path.stem, "o") or b"").split(b"\0", 2)
    cache.write(path.stem, "o", b"\0".join([entry, b"no_such_function", data]))
    compiler._kernels.clear()
    with pytest.raises(KernelError, match="no_such_function"):
        compile_kernel(source.text, source.name, cache)


@pytest.mark.parametrize("damage", [
    lambda entry, data: (b"", data), lambda entry, data: (b"other", data), lambda entry, data: (entry, b""),
    lambda entry, data: (entry, entry), lambda entry, data: (entry, data[:64] + entry),
    lambda entry, data: (entry, data[: len(data) // 2] + entry), lambda entry, data: (entry, data[:-64] + entry),
])  # fmt: skip
def test_an_object_that_is_none_is_compiled_again(
    damage: Callable[[bytes, bytes], tuple[bytes, bytes]], tmp_path: Path, fresh: None
) -> None:
    """Its digest is right: another program wrote it."""
    source, cache = scaled_by(9.0), Cache(tmp_path)
    compile_kernel(source.text, source.name, cache)
    (path,) = tmp_path.glob("*.o")
    entry, outside, data = (cache.read(path.stem, "o") or b"").split(b"\0", 2)
    first, rest = damage(entry, data)
    cache.write(path.stem, "o", b"\0".join([first, outside, rest]))
    compiler._kernels.clear()
    assert not compile_kernel(source.text, source.name, cache).from_cache
    compiler._kernels.clear()
    assert compile_kernel(source.text, source.name, cache).from_cache


@pytest.mark.parametrize("statement", ["print(args)", "[args].append(chunk)\n    print(nchunks)", "str(args)"])
def test_a_kernel_that_needs_the_interpreter_is_refused_also_from_the_cache(statement: str, tmp_path: Path) -> None:
    source = f"def talks(args, chunk, nchunks):\n    {statement}\n"
    for _ in range(2):
        with pytest.raises(KernelError, match=r"kernel talks has a Python object, or makes an array: it calls \w+"):
            compile_kernel(source, "talks", Cache(tmp_path))


INTERRUPTED = """
import signal, sys
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.compiler import compile_kernel

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.base":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs this may not listen to it
sys.meta_path.insert(0, CtrlC())
source = "def nothing(args, chunk, nchunks):\\n    pass\\n"
try:
    compile_kernel(source, "nothing", Cache(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted")
print(compile_kernel(source, "nothing", Cache(sys.argv[1])).name)
"""


def test_the_first_kernel_does_not_wait_for_scipy_and_who_needs_it_has_it() -> None:
    """Numba asks for SciPy as it reads what it knows of arrays, and again where matrices are multiplied."""
    program = (
        "import sys\n"
        "from ngraph_rewrite.runtime import objectcode\n"
        "objectcode.warm()\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "from numba.np import arraymath, linalg\n"
        "assert arraymath._HAVE_BLAS and arraymath.ensure_blas is linalg.ensure_blas\n"
        "linalg.ensure_blas()\n"
        "assert 'scipy.linalg.cython_blas' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_interrupt_while_numba_is_imported_leaves_it_whole(tmp_path: Path) -> None:
    """Half of it would stay imported, and no kernel could be compiled from then on."""
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (found.stdout, found.stderr) == ("interrupted\nnothing\n", "")


def test_an_interrupt_ends_compiling_after_the_kernel_at_hand(
    tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That kernel is kept, and no other is begun."""
    begun: list[str] = []

    def slow(function: Callable[..., None]) -> Any:
        begun.append(function.__name__)
        if len(begun) == 2:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does, when it comes
        return real(function)

    real = compiler.objectcode.object_code
    monkeypatch.setattr(compiler.objectcode, "object_code", slow)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sources = {source.name: source.text for source in map(scaled_by, (21.0, 22.0, 23.0, 24.0))}
    try:
        with pytest.raises(KeyboardInterrupt):
            compiler.compile_kernels(sources, Cache(tmp_path))
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(begun) == 2 and {path.name.partition("-")[0] for path in tmp_path.glob("*.o")} <= {*begun}
    assert set(compiler.compile_kernels(sources, Cache(tmp_path))) == {*sources} == {*begun}
