# SPDX-License-Identifier: Apache-2.0
"""What a kernel file under check may do wrong: it is found, named, and costs nobody else anything."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import ngraph_rewrite as ng
from ngraph_rewrite.cli import main
from ngraph_rewrite.codegen.opkernel_files import read_kernel
from ngraph_rewrite.testing import WrongKernel, check_kernel, kernel_findings
from ngraph_rewrite.testing.findings import Finding
from ngraph_rewrite.testing.kernels import Body, Draws, check_bodies
from ngraph_rewrite.testing.rules import quietly
from ngraph_rewrite.testing.strategies import seeded_instances


def _double(x: ng.TensorType) -> ng.TensorType:
    ng.checks.positional(x)
    return x


ng.op("checked_base.double", "elementwise", meaning=lambda term, x: x + x)(_double)

KERNEL = """# Each element twice.
kernel double
    checked_base.double(x)
where count = self.size
if x.dtype == 'float32'

on cpu:
    $imports


    def $name(args, chunk, nchunks):
        $arguments
        for i in range(chunk_start(count, chunk, nchunks), chunk_start(count, chunk + 1, nchunks)):
            store_float32(self, i, load_float32(x, i, 0) + load_float32(x, i, 0), 1)
"""
STORE, SECOND = "store_float32(self, i,", "+ load_float32(x, i, 0)"
FOREVER = KERNEL.replace(
    "        for i", "        while count > 1:\n            count = count * 3 % 1000 + 2\n        for i"
)
# Adds nothing to the result, whatever is read.
BEYOND = KERNEL.replace(SECOND, f"{SECOND} + min(abs(load_float32(x, i + 1, 0)), to_float32(0.0))")
BEFORE = BEYOND.replace("i + 1,", "i - 1,")
OUTSIDE = KERNEL.replace(STORE, "store_float32(self, i, to_float32(0.0), 1)\n            store_float32(self, i + 1,")
ASIDE = KERNEL.replace("        for i", "        store_float32(self, count, to_float32(0.0), 1)\n        for i")
ASIDE_BEFORE = ASIDE.replace("self, count,", "self, -1,")
IN_OPERAND = ASIDE.replace("self, count,", "x, 0,")


def test_a_right_kernel_is_right_on_long_instances_too() -> None:
    assert check_kernel(KERNEL, examples=8) > 8


@pytest.mark.parametrize(
    ("text", "where"),
    [(OUTSIDE, "beyond its end"), (ASIDE, "beyond its end"), (ASIDE_BEFORE, "before its beginning")],
)
def test_a_store_outside_of_the_result_is_found(text: str, where: str) -> None:
    with pytest.raises(WrongKernel, match=rf"fails on checked_base.double\(x\) with x: .*: it stores outside of its "
                       rf"result, up to 4 bytes {where}"):  # fmt: skip
        check_kernel(text, examples=8)


@pytest.mark.parametrize("text", [BEYOND, BEFORE, IN_OPERAND], ids=["beyond the end", "before", "a store in it"])
def test_what_nobody_may_do_with_an_operand_ends_only_the_process_that_tries_it(text: str) -> None:
    with pytest.raises(WrongKernel) as caught:
        check_kernel(text, examples=8)
    assert "<kernel>:2: kernel double on cpu ended the process that checked it (exit status -11, SIGSEGV), on " \
           "checked_base.double(x) with x: float32[" in str(caught.value)  # fmt: skip
    assert "reads or stores outside of its arrays" in str(caught.value)


def test_a_loop_without_end_is_given_up() -> None:
    with pytest.raises(
        WrongKernel, match=r"kernel double on cpu took longer than 4 s, on checked_base.double\(x\) with"
    ):
        check_kernel(FOREVER, examples=8, seconds=4)


@pytest.mark.parametrize("last", [30, 100])
def test_a_kernel_that_stops_early_is_found(last: int) -> None:
    """What is told of first is the first element that is not stored."""
    with pytest.raises(WrongKernel, match="kernel double fails on ") as caught:
        check_kernel(
            KERNEL.replace("            store", f"            if i < {last}:\n                store"), examples=8
        )
    said = str(caught.value)
    shape, place = (re.search(text, said) for text in (r"with x: float\d+\[([\d, ]+)\]", r"first at \[([\d, ]+)\]: "))
    assert shape is not None and place is not None
    lengths, index = (tuple(map(int, found[1].split(", "))) for found in (shape, place))
    assert np.ravel_multi_index(index, lengths) == last


def test_a_long_instance_has_elements() -> None:
    """One without would take the place of all that have the same long axis."""
    ng.op("checked_base.pairs", "elementwise", meaning=lambda term, x: x + x)(_double)

    @ng.argument_domain("checked_base.pairs")
    def pairs(position: int, known: object, wish: object, domain: ng.Domain) -> list[ng.TensorType]:
        return [ng.checks.tensor("float32", (n, m)) for n in domain.lengths for m in (2, 0)]

    text = KERNEL.replace("base.double", "base.pairs")
    assert check_kernel(text, examples=8) == 9
    with pytest.raises(WrongKernel, match=r"kernel double fails on .* with x: float32\[300, [12]\]"):
        check_kernel(text.replace("            store", "            if x_0 < 300:\n                store"), examples=8)


def test_chunks_that_store_the_same_are_found() -> None:
    """They may run at once; what comes of it is right as long as all store the same."""
    whole = KERNEL.replace("chunk_start(count, chunk, nchunks)", "0")
    with pytest.raises(
        WrongKernel, match=r"kernel double fails on .*: chunks 0 and 1 of 3 both store the element at \[0"
    ):
        check_kernel(whole, examples=8)


def test_an_op_whose_meaning_fails_is_told() -> None:
    def fails(term: ng.Op, x: object) -> object:
        raise ZeroDivisionError("by zero")

    ng.op("checked_base.fails", "elementwise", meaning=fails)(_double)
    with pytest.raises(
        WrongKernel, match=r"cannot be checked: ZeroDivisionError: by zero, at .*test_kernel_checks.py:"
    ):
        check_kernel(KERNEL.replace("base.double", "base.fails"), examples=8)


@pytest.mark.parametrize("use", [ng.add_kernel, check_kernel])
def test_a_file_that_is_not_there_is_told(use: Callable[[str], object]) -> None:
    with pytest.raises(ng.KernelError, match=r"^missing.kernel cannot be read: No such file.*\n  give the path of"):
        use("missing.kernel")


def test_the_command_goes_on_and_gives_its_verdict_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"outside": ASIDE, "beyond": BEYOND, "right": KERNEL}
    for name, text in texts.items():
        (tmp_path / f"{name}.kernel").write_text(text, encoding="utf-8")
    assert main(["check", *(str(tmp_path / f"{name}.kernel") for name in texts)]) == 1
    said = capsys.readouterr().out
    assert said.index("outside.kernel:2: kernel double fails on") < said.index("beyond.kernel:2: kernel double on cpu")
    assert said.rstrip().endswith("1 of 3 files are right")


@pytest.mark.parametrize("words", [["--rule", "double"], ["--check", "types"], ["--mutate"]])
def test_what_is_said_of_rules_is_refused_for_kernels(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my.kernel"
    path.write_text(ASIDE, encoding="utf-8")
    assert main(["check", *words, str(path)]) == 1
    said = capsys.readouterr()
    assert f"{words[0]} is for rules, and {path} is a kernel\n  leave it out: " in said.err
    assert not said.out


def test_findings_of_kernels_are_written_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = {name: tmp_path / f"{name}.kernel" for name in ("right", "outside", "unreadable")}
    for path, text in zip(paths.values(), (KERNEL, ASIDE, "kernel"), strict=True):
        path.write_text(text, encoding="utf-8")
    assert main(["check", "--quick", "--json", "-", *map(str, paths.values())]) == 1
    said = capsys.readouterr()
    read = json.loads(said.out)
    assert (read["right"], read["rules"], read["kernels"], read["unusable"]) == (False, 0, 2, 1)
    assert read["counts"] == {"kernel failed": 1, "kernel passed": 1}
    right, wrong = [Finding(**one) for one in read["findings"]]
    assert right.says.startswith("the body for cpu is right on ") and right.place == f"{paths['right']}:2"
    assert wrong.says.startswith("kernel double fails on checked_base.double(x)") and wrong.rule == "double"
    assert "outside.kernel:2: kernel double fails on" in said.err and "unreadable.kernel" in said.err


def test_other_instances_are_drawn_by_the_seed_and_for_as_long_as_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, drawn = tmp_path / "my.kernel", list[Draws]()
    path.write_text(KERNEL, encoding="utf-8")

    def tried(bodies: list[Body], jobs: int | None, *, draws: Draws) -> list[tuple[Body, int | Exception]]:
        drawn.append(draws)
        return [(body, 8 if len(drawn) < 3 else WrongKernel("it is wrong")) for body in bodies]

    monkeypatch.setattr(kernel_findings, "check_bodies", tried)
    found = kernel_findings.try_kernels([path], Draws(8, 3), seconds=1e9)
    assert drawn == [Draws(8, 3), Draws(8, 4), Draws(8, 5)] and found.wrong() == {path: "it is wrong"}
    values = list[str]()
    for seed in (0, 1):
        instances = seeded_instances(read_kernel(KERNEL).rule, seed=seed)
        quietly(1)(given(instances)(lambda example: values.append(str(example.choices))))()
    assert values[0] != values[1]


def test_bodies_are_told_with_what_is_wrong_with_them() -> None:
    right, endless = Body(KERNEL, "cpu"), Body(FOREVER, "cpu")
    found = dict(check_bodies([endless, right], jobs=1, seconds=4))
    assert isinstance(found[right], int) and "took longer than 4 s" in str(found[endless])
    assert not dict(check_bodies([]))
