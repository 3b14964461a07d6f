# SPDX-License-Identifier: Apache-2.0
"""Kernel files for ops of one's own: what code is given, how operands reach it, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.testing import WrongKernel, check_kernel


def mixed(term: ng.Op, x: Any, y: Any) -> Any:
    """``x * taps[0] + y * taps[1] + offset``, twice if the mode is "twice"."""
    taps, mode, offset, _ = term.attrs
    once = x * x.dtype.type(taps[0]) + y.astype(x.dtype) * x.dtype.type(taps[1]) + x.dtype.type(offset)
    return once + once if mode == "twice" else once


@ng.op("own_base.mix", meaning=mixed)
def mix(x: ng.TensorType, y: ng.TensorType, *, taps: tuple[float, ...], mode: str, offset: float, note: Any) -> Any:
    """A weighted sum of two arrays of one shape, the second of any dtype."""
    ng.checks.float_only(x)
    ng.checks.positional(x, y)
    if x.shape != y.shape:
        raise ng.AxesError(f"mix takes two arrays of one shape, not {x!r} and {y!r}")
    return x


@ng.argument_domain("own_base.mix")
def mixed_types(position: int, known: Any, wish: Any, domain: ng.Domain) -> Any:
    like = known.get(1 - position, wish)
    return domain.pool("semi") if like is None else [like.with_dtype(d) for d in domain.dtypes]


@ng.attribute_domain("own_base.mix")
def mixed_attributes(types: Any, wish: Any, domain: ng.Domain) -> Iterator[tuple[Any, ...]]:
    for taps in ((2.0, 0.5), (0.0, -0.0), (float("inf"), 1.0)):
        yield from ((taps, mode, offset, None) for mode in ("once", "twice") for offset in (1.0, float("nan")))


KERNEL = """# A weighted sum of two arrays.
kernel mix
    own_base.mix(x, y, taps=t, mode=m, offset=o)
where count = self.size
if x.dtype == 'float32' or x.dtype == 'float64'

on cpu:
    $imports

    import numpy as np


    def $name(args, chunk, nchunks):
        $arguments
        first, second = $t
        for i in range(chunk_start(count, chunk, nchunks), chunk_start(count, chunk + 1, nchunks)):
            left = load_$x_dtype(x, i, 0) * to_$x_dtype(first)
            right = to_$x_dtype(load_$y_dtype(y, i, 1)) * to_$x_dtype(second)
            once = left + right + to_$x_dtype($o)
            store_$self_dtype(self, i, once + once if $m == 'twice' else once, 2)
"""
TARGET = ng.find_target("cpu").extended("own", add=["own_base.mix"])


@pytest.fixture(autouse=True)
def kernel() -> None:
    ng.add_kernel(KERNEL)


def test_the_kernel_means_what_the_op_means() -> None:
    assert check_kernel(KERNEL, examples=5) > 2


def test_a_kernel_added_again_replaces_the_first() -> None:
    ng.add_kernel(KERNEL.replace("once + once if", "once * 100 if"))
    x = np.ones(3, np.float32)
    assert computed(lambda a, b: (a, b), x, x, mode="twice").tolist() == [400] * 3


def computed(operands: Any, *arrays: np.ndarray, target: Any = TARGET, **more: Any) -> np.ndarray:
    """The value of a mix of what `operands` makes of placeholders for the arrays."""
    inputs = [ng.placeholder(a.shape, a.dtype, name=f"x{i}") for i, a in enumerate(arrays)]
    attributes = {"taps": (2.0, 1.0), "mode": "once", "offset": 1.0, "note": None, **more}
    y = ng.make_op("own_base.mix", *operands(*inputs), **attributes)
    with ng.make_transformer(target) as transformer:
        return np.asarray(transformer.computation(y, *inputs)(*arrays))


X, Y = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(6, dtype=np.int16).reshape(2, 3) - 3


@pytest.mark.parametrize(
    ("operands", "arrays"),
    [
        (lambda a, b: (a, b), (X, Y)),
        (lambda a: (a, a), (X,)),
        (lambda a, b: (a + 0.5, ng.semi.negative(b)), (X, Y)),
        (lambda a, b: (ng.semi.transpose(a, (1, 0)), ng.semi.transpose(b, (1, 0))), (X, Y)),
        (lambda a, b: (ng.semi.reshape(a, (6,))[1:4], ng.semi.reshape(b, (6,))[::-2]), (X, Y)),
        (lambda a: (a, ng.semi.broadcast(ng.constant(3.0), (2, 3), ())), (X,)),
        (lambda a, b: (a, b), (X[:, :0], Y[:, :0])),
        (lambda a, b: (a, b), (X[0, 0].reshape(()), Y[0, 0].reshape(()))),
    ],
    ids=["plain", "twice the same", "computed", "transposed", "strided", "a number", "empty", "a scalar"],
)
def test_operands_reach_the_kernel_row_by_row(operands: Any, arrays: tuple[np.ndarray, ...]) -> None:
    found = computed(operands, *arrays)
    np.testing.assert_array_equal(found, computed(operands, *arrays, target="reference"))


def test_a_result_is_written_straight_into_a_variable() -> None:
    v = ng.variable((3,), initial_value=1.0, name="v")
    step = ng.assign(v, ng.make_op("own_base.mix", v, v, taps=(2.0, 1.0), mode="once", offset=0.0, note=None))
    with ng.make_transformer(TARGET) as transformer:
        computation = transformer.computation(step)
        computation()
        computation()
        assert transformer.get(v).tolist() == [9, 9, 9]


def test_what_no_kernel_takes_is_an_error_that_says_why() -> None:
    with pytest.raises(ng.KernelError) as caught:
        computed(lambda a: (a, a), X.astype(np.float16))
    assert "no kernel computes own_base.mix(float16[2, 3], float16[2, 3])" in str(caught.value)
    assert "asks if x.dtype == 'float32' or x.dtype == 'float64'" in str(caught.value)


def test_an_op_that_a_target_does_not_have_is_an_error_there() -> None:
    with pytest.raises(ng.UnloweredOpError, match=r"own_base\.mix"):
        computed(lambda a: (a, a), X, target="cpu")


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("own_base.mix(", "own_base.mux(", ng.KernelError, "computes own_base.mux, and no op is called so"),
        ("(x, y,", "(x, x,", ng.KernelError, "name each operand once"),
        ("(x, y,", "(x,", ng.RuleFileError, "<kernel>:3:5: own_base.mix takes 2 arguments, not 1"),
        ("mode=m", "mood=m", ng.RuleFileError, "has no attribute mood"),
        ("taps=t", "taps=name", ng.KernelError, "`name` cannot be bound here"),
        ("self.size", "sise", ng.RuleFileError, "<kernel>:4:15: `sise` is not bound"),
        ("if x.dtype", "if z.dtype", ng.RuleFileError, "<kernel>:5:4: `z` is not bound"),
        ("where count", "let count", ng.KernelError, "expected 'kernel NAME', 'where NAME = ...'"),
        ("# A weighted sum of two arrays.\n", "", ng.KernelError, "does not say what it does"),
    ],
)
def test_a_kernel_file_with_a_mistake_is_refused(old: str, new: str, error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        ng.add_kernel(KERNEL.replace(old, new, 1))
    assert message in str(caught.value)


# Of a body: the mistake stands in line 15 of the file, after `$arguments`.
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("print(count)", "kernel mix calls print"),
        ("taps = [count]", "kernel mix has a list"),
        ("taps = {count: 1}", "kernel mix has a dict"),
        ("taps = [i for i in range(count)]", "kernel mix has a list"),
        ("taps = np.zeros(3)", "kernel mix makes an array by np.zeros"),
        ("taps = str(count)", "kernel mix calls str"),
        ("taps = f'{count}'", "kernel mix has a string"),
        ("taps = lambda: count", "kernel mix has a function in a function"),
        ("first.append(3)", "kernel mix calls first.append"),
        ("raise ValueError", "kernel mix has `raise`"),
        ("assert count", "kernel mix has `assert`"),
        ("import os", "kernel mix has an import in a function"),
        ("yield count", "kernel mix has a generator"),
        ("taps = 3j", "kernel mix has the constant 3j"),
        ("mixed(count)", "kernel mix calls mixed"),
        ("math.sqrt(2.0)", "kernel mix calls math.sqrt"),
        ("taps = $taps", "kernel mix nothing fills the hole $taps"),
        ("taps = $ t", "kernel mix has a dollar sign that begins no hole"),
        ("taps = = 3", "kernel mix is not Python: invalid syntax"),
    ],
)
def test_what_a_kernel_cannot_have_is_refused_before_it_is_used(statement: str, message: str) -> None:
    with pytest.raises(ng.KernelError) as caught:
        ng.add_kernel(KERNEL.replace("$arguments\n", f"$arguments\n        {statement}\n", 1))
    assert message in str(caught.value)
    assert "<kernel>:15" in str(caught.value)


@pytest.mark.parametrize(
    "statement",
    ["open('made', 'w')", "made = open('made', 'w')", "if open('made'):\n        pass", "class Made:\n        pass"],
)
def test_no_text_of_a_kernel_file_is_executed(statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ng.KernelError, match=r"kernel mix executes `(open|made|if|class)[^`]*`\n  at <kernel>:8\n"):
        check_kernel(KERNEL.replace("    $imports\n", f"    {statement}\n    $imports\n", 1))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "header",
    [
        "@open('made', 'w')\n    def $name(args, chunk, nchunks):",
        "def $name(args, chunk, nchunks=open('made', 'w')):",
        "def $name(args, chunk, *, nchunks=open('made', 'w')):",
        "def $name(args: open('made', 'w'), chunk, nchunks):",
        "def $name(args, chunk, nchunks) -> open('made', 'w'):",
        "async def $name(args, chunk, nchunks):",
    ],
)
def test_nothing_but_names_stands_in_the_header_of_a_kernel(header: str) -> None:
    with pytest.raises(ng.KernelError, match=r"has a decorator, or arguments that are more than names|executes `async"):
        ng.add_kernel(KERNEL.replace("def $name(args, chunk, nchunks):", header, 1))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("self.size", "self.size // 0", 4, "`where count = self.size // 0` fails where self is own_base.mix(x0, x0"),
        ("self.size", "x.shape[9]", 4, "fails where x is x0 : float32[2, 3]: IndexError: tuple index out of range"),
        ("self.size", "self.size // (m == 'twice')", 4, "m is 'once': ZeroDivisionError"),
        ("self.size\nif x", "self.size // 0\nif count == 1 or x", 4, "`where count = self.size // 0` fails"),
        ("if x", "if t[9] == 1.0 or x", 5, "`if t[9] == 1.0 or x.dtype == 'float32' or x.dtype == 'float64'` fails"),
    ],
)
def test_a_clause_that_fails_is_told_with_its_line_and_values(old: str, new: str, line: int, message: str) -> None:
    ng.add_kernel(KERNEL.replace(old, new, 1))
    with pytest.raises(ng.KernelError) as caught:
        computed(lambda a: (a, a), X)
    assert message in str(caught.value)
    assert f"\n  at <kernel>:{line}\n" in str(caught.value)


def test_a_clause_that_fails_is_told_by_the_check_too() -> None:
    with pytest.raises(WrongKernel, match=r"ZeroDivisionError: integer division or modulo by zero\n  at <kernel>:4"):
        check_kernel(KERNEL.replace("self.size", "self.size // 0", 1), examples=8)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("self.size", "self.size == 3", "only integers are handed over"),
        ("offset=o", "offset=o, note=n", "which code cannot contain"),
        ("store_$self_dtype(self, i,", "store_$self_dtype(self, i, 2,", "does not compile"),
    ],
)
def test_a_mistake_that_shows_when_a_kernel_is_rendered(old: str, new: str, message: str) -> None:
    ng.add_kernel(KERNEL.replace(old, new, 1))
    with pytest.raises(ng.KernelError, match=message.replace("$", r"\$")):
        computed(lambda a: (a, a), X, note=object() if "note=n" in new else None)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("left + right + $t[5]", "does not compile: tuple index out of range: `once = left"),
        ("left + right + $t", "No implementation of function"),
        ("left + right + nosuch", "NameError: name 'nosuch' is not defined: `once = left"),
    ],
)
def test_what_does_not_compile_is_told_with_the_line_of_the_kernel_file(new: str, message: str) -> None:
    text = KERNEL.replace("left + right", new, 1)
    line = 1 + [f"once = {new}" in row for row in text.split("\n")].index(True)
    ng.add_kernel(text)
    for run, kind in (
        (lambda: computed(lambda a: (a, a), X), ng.KernelError),
        (lambda: check_kernel(text), WrongKernel),
    ):
        with pytest.raises(kind) as caught:
            run()
        assert message in str(caught.value) and f"\n  at <kernel>:{line}\n  mend the line" in str(caught.value)
        assert "candidate" not in str(caught.value)


def test_a_kernel_that_ends_by_an_index_out_of_range_is_told_so() -> None:
    text = KERNEL.replace("left + right", "(left + right) * to_$x_dtype((1.0, 1.0)[i])", 1)
    with pytest.raises(WrongKernel, match="kernel mix ends by IndexError: tuple index out of range, on own_base.mix"):
        check_kernel(text, examples=8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("left + right", "left - right"),
        ("chunk_start(count, chunk + 1, nchunks)", "count - 1"),
        ("load_$y_dtype(y, i, 1)", "load_$y_dtype(y, 0, 1)"),
    ],
)
def test_a_wrong_kernel_is_found(old: str, new: str) -> None:
    with pytest.raises(WrongKernel, match=r"kernel mix (does not compute|fails on) own_base\.mix"):
        check_kernel(KERNEL.replace(old, new, 1), examples=8)
