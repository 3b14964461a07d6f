# SPDX-License-Identifier: Apache-2.0
"""The cache folder across processes: nothing is compiled twice, and nothing in it is believed unchecked."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import library

PROGRAM = """
import sys, numpy as np, ngraph_rewrite as ng
H, W, N = ng.Axis("H", 3), ng.Axis("W", 4), ng.Axis("N")
x, w = ng.placeholder([H, N], name="x"), ng.variable([W, H], initial_value=0.5, name="w")
with ng.make_transformer("cpu") as transformer:
    computation = transformer.computation(ng.sum(ng.tanh(ng.dot(w, x)), out_axes=[]), x)
    print(float(computation(np.ones((3, 2)))), computation.stats()["compiled"], "numba" in sys.modules)
"""


def run(folder: Path, program: str = PROGRAM) -> tuple[list[str], str]:
    """What a process with this cache folder prints: the result, kernels compiled, whether Numba was imported."""
    environment = {**os.environ, "NGRAPH_REWRITE_CACHE": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split(), done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cache folder that one process has used, and that process's result; the library had been read before."""
    folder = tmp_path_factory.mktemp("cache")
    library()
    for path in Path(os.environ["NGRAPH_REWRITE_CACHE"]).glob("library_*.rules"):
        shutil.copy(path, folder)
    (result, compiled, numba), _ = run(folder)
    assert int(compiled) > 0
    assert numba == "True"
    return folder, result


def test_a_second_process_compiles_nothing(filled: tuple[Path, str]) -> None:
    """And does without Numba."""
    folder, result = filled
    before = sorted(p.name for p in folder.iterdir())
    assert run(folder)[0] == [result, "0", "False"]
    assert sorted(p.name for p in folder.iterdir()) == before


CONTENTS = (b"", b"garbage", b"\xff\0" * 9, b"[[7]]", b"null")


def test_entries_that_are_whole_and_say_nothing_are_made_again(filled: tuple[Path, str], tmp_path: Path) -> None:
    """Another program may have written them: their digests are right. There are several of each kind, and contents."""
    folder, result = filled
    cache = Cache(tmp_path)
    for number, path in enumerate(sorted(folder.iterdir())):
        content = CONTENTS[number % len(CONTENTS)]
        first = path.read_bytes().partition(b"\n")[0] + b"\n" if path.suffix in (".rules", ".code") else b""
        cache.write(path.stem, path.suffix[1:], first + content)  # what is in front says what they are made of
    assert run(tmp_path)[0][0] == result


DAMAGES = (lambda data: data[: len(data) // 2], lambda data: b"raise SystemExit(5)\n" + data, lambda data: b"")


@pytest.mark.parametrize("pattern", ["*.o", "*.py"])
def test_damaged_entries_are_made_again(filled: tuple[Path, str], pattern: str) -> None:
    """All of them at once, one after the other in another way: there are six of machine code, and more of Python."""
    folder, result = filled
    entries = sorted(folder.glob(pattern))
    whole = {path: path.read_bytes() for path in entries}
    assert len(entries) > len(DAMAGES)
    for number, path in enumerate(entries):
        path.write_bytes(DAMAGES[number % len(DAMAGES)](whole[path]))
    assert run(folder)[0][0] == result
    assert {path: path.read_bytes() for path in entries if path.suffix == ".py"} == {
        path: data for path, data in whole.items() if path.suffix == ".py"
    }


def test_a_folder_that_cannot_be_written_is_replaced_with_one_warning(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    output, errors = run(in_the_way / "cache", PROGRAM.replace("ng.dot(w, x)", "x"))
    assert float(output[0]) == pytest.approx(6 * math.tanh(1), rel=1e-6)
    assert errors.count("CacheWarning") == 1
