# SPDX-License-Identifier: Apache-2.0
"""Processes that compile beside this one: all is compiled once, whoever does it and whatever becomes of them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest

from ngraph_rewrite import helpers
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import MapNest, Operand, Step, render_map
from ngraph_rewrite.errors import ArgumentError, KernelError
from ngraph_rewrite.runtime import compiler
from ngraph_rewrite.runtime.compiler import compile_kernels
from ngraph_rewrite.runtime.stored import object_key, read_object

COUNT = 7


@pytest.fixture(autouse=True)
def as_many_as_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NGRAPH_REWRITE_HELPERS", raising=False)  # which tests set where several processes run them


def kernels(first: int) -> dict[str, str]:
    """Sources, each with a number of its own in it."""
    vector, found = Operand("float32", ("1",)), {}
    for number in range(first, first + COUNT):
        steps = (Step("constant", "float32", (), (("value", number),)), Step("multiply", "float32", (0, 1)))
        source = render_map(MapNest(1, (vector,), steps, ((2, vector),), (0, 1)))
        found[source.name] = source.text
    return found


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the kernels of this process; there is always a core for a helper."""
    monkeypatch.setattr(compiler, "_kernels", WeakValueDictionary())
    monkeypatch.setattr(helpers, "_idle", lambda: 1)


def is_whole(sources: dict[str, str], cache: Cache) -> bool:
    """Whether the object code of all is there."""
    return all(read_object(cache, object_key(text, name)) is not None for name, text in sources.items())


def own(monkeypatch: pytest.MonkeyPatch, before: Callable[[], object] = lambda: None) -> list[str]:
    """The names of what this process compiles itself; `before` each of them something is done."""
    names: list[str] = []
    compile_object = compiler.compile_object

    def noted(source: str, name: str, cache: Cache) -> Any:
        before()
        names.append(name)
        return compile_object(source, name, cache)

    monkeypatch.setattr(compiler, "compile_object", noted)
    return names


def test_a_helper_takes_what_this_process_has_not_taken(
    tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here it waits before each, until the helper has been at work."""
    begun, cache, sources = threading.Event(), Cache(tmp_path), kernels(100)
    asked = helpers._asked

    def told(to: Any, back: Any, line: str) -> str | None:
        answered = asked(to, back, line)
        if line in sources:
            begun.set()
        return answered

    monkeypatch.setattr(helpers, "_asked", told)
    names = own(monkeypatch, before=lambda: begun.wait(60))
    found = compile_kernels(sources, cache, 2)
    assert 1 <= len(names) < COUNT and len(set(names)) == len(names)
    assert [*found] == [*sources] and is_whole(sources, cache)
    assert not any(kernel.from_cache for kernel in found.values())
    assert len({kernel.address for kernel in found.values()}) == COUNT


START = subprocess.Popen  # what tests put something else in place of


def wrong_helpers() -> dict[str, Any]:
    python = [sys.executable, "-c"]

    def process(program: str) -> Callable[..., Any]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return lambda *args, **kwargs: START([*python, program], **pipes)

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError("no processes")

    return {
        "none can be started": refused,
        "it ends at once": process(""),
        "it ends at the first kernel": process("print(input(), flush=True); input()"),
        "it does nothing": process("import sys\nfor line in sys.stdin: print(line, flush=True)"),
        "it does not begin": process("import time; time.sleep(1000)"),
    }


@pytest.mark.parametrize("what", wrong_helpers())
def test_what_helpers_leave_is_done_here(
    what: str, tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def start(*args: Any, **kwargs: Any) -> Any:
        started.append(wrong_helpers()[what](*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(helpers.subprocess, "Popen", start)
    cache, sources = Cache(tmp_path), kernels(200)
    assert len(compile_kernels(sources, cache, 2)) == COUNT
    assert is_whole(sources, cache)
    assert all(process.poll() is not None for process in started)


def test_a_kernel_that_does_not_compile_is_told_and_helpers_end(
    tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes: list[Any] = []
    start = helpers._started
    monkeypatch.setattr(helpers, "_started", lambda: processes.append(start()) or processes[-1])
    sources = {**kernels(300), "wrong": "def wrong(args, chunk, nchunks):\n    return missing\n"}
    with pytest.raises(KernelError, match="kernel wrong does not compile"):
        compile_kernels(sources, Cache(tmp_path), 2)
    assert [process.poll() is not None for process in processes] == [True]


@pytest.mark.parametrize(
    "count, idle, told, expected",
    [(0, 4, "", 0), (3, 0, "", 0), (3, -1, "", 0), (3, 1, "", 1), (1, 4, "", 1), (9, 9, "", 2)]
    + [(9, 9, "1", 1), (9, 9, "0", 0), (9, 1, "2", 1)],
)
def test_helpers_are_as_many_as_are_worth_it(
    count: int, idle: int, told: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than was asked for, than cores have nothing to do, than have some kernels each, and than it was told."""
    started: list[None] = []
    if told:
        monkeypatch.setenv("NGRAPH_REWRITE_HELPERS", told)
    monkeypatch.setattr(helpers, "_idle", lambda: idle)
    monkeypatch.setattr(helpers, "_Helper", lambda *_: type("", (), {"end": lambda self: None})())
    monkeypatch.setattr(helpers, "_started", lambda: started.append(None) or object())
    with helpers.helped(helpers.Work(deque(map(str, range(12))), "module", (), 6), count):
        assert len(started) == expected


def test_how_many_helpers_may_be_is_told_by_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NGRAPH_REWRITE_HELPERS", "few")
    with pytest.raises(ArgumentError, match="NGRAPH_REWRITE_HELPERS is 'few'\n  set it to a number"):
        with helpers.helped(helpers.Work(deque("ab"), "module", (), 1), 1):
            pass


@pytest.mark.parametrize(
    "lately, now, idle", [(0.1, "9/100", 4), (9.0, "1/100", 4), (2.9, "4/100", 1), (9.0, "9/1", -4)]
)
def test_a_core_is_idle_if_it_is_now_or_was_lately(
    lately: float, now: str, idle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "loadavg"
    file.write_text(f"{lately} 1.0 1.0 {now} 4711\n")
    monkeypatch.setattr(helpers, "open", lambda _, **told: file.open(**told), raising=False)
    monkeypatch.setattr(helpers.os, "getloadavg", lambda: (lately, 1.0, 1.0), raising=False)
    monkeypatch.setattr(helpers.os, "cpu_count", lambda: 4)
    assert helpers._idle() == idle
    file.write_text("nothing")
    assert helpers._idle() == round(4 - lately)


def test_a_helper_is_like_this_process(tmp_path: Path) -> None:
    """What it compiles is found by its name, which tells of the environment; however it was started."""
    process = helpers._started()
    assert process is not None and process.stdin is not None and process.stdout is not None
    (name, text), *_ = kernels(400).items()
    cache = Cache(tmp_path)
    cache.write(name, "py", text.encode())
    told = list[tuple[str, str]]()
    work = helpers.Work(
        deque([name]), "ngraph_rewrite.runtime.helping", [str(tmp_path)], 1, lambda *one: told.append(one)
    )
    helper = helpers._Helper(process, work)
    helper._thread.join(60)
    helper.end()
    assert is_whole({name: text}, cache) and process.returncode == 0 and told == [(name, "done")]
    assert os.getpid() != process.pid
