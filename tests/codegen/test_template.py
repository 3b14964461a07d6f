# SPDX-License-Identifier: Apache-2.0
"""Kernel files are read as written, filled hole by hole, and refused with file and line."""

import ast

import pytest

from ngraph_rewrite.codegen.kernel_code import mistakes
from ngraph_rewrite.codegen.template import kernel_template, read_template
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import KernelError

GOOD = """\
# Adds one.
# To everything.
kernel plus
    add(x, 1)
if rank == 1

on cpu:
    def $name(args):
        $body
        return $$

on cuda:
    pass
"""


def test_a_file_says_what_it_is_and_how() -> None:
    template = read_template(GOOD, "plus.kernel")
    assert (template.name, template.term, template.guard) == ("plus", "add(x, 1)", "rank == 1")
    assert template.idea == "Adds one.\nTo everything."
    assert template.bodies["cuda"] == "pass\n"
    assert template.place == "plus.kernel:3"


def test_a_hole_alone_on_its_line_takes_a_block() -> None:
    filled = read_template(GOOD).fill("cpu", name="f", body="for i in x:\n    $y")
    assert filled == "def f(args):\n    for i in x:\n        $y\n    return $\n"


@pytest.mark.parametrize("path", sorted(data_folder("kernels").glob("*.kernel")), ids=lambda path: path.stem)
def test_every_shipped_file_is_readable(path: object) -> None:
    template = kernel_template(path.stem)  # type: ignore[attr-defined]
    assert template.name == path.stem  # type: ignore[attr-defined]
    assert template.idea
    for body in template.bodies.values():
        ast.parse(body.replace("$", "hole_"))


@pytest.mark.parametrize(
    "text, place, message",
    [
        ("on cpu:\n    pass\n", "f.kernel:1", "exactly one line"),
        ("kernel a\n    t\nkernel b\n    t\non cpu:\n    pass\n", "f.kernel:1", "exactly one line"),
        ("kernel a\n    t\nin cpu:\n    pass\n", "f.kernel:3", "found 'in cpu:'"),
        ("kernel a\n    t\non tpu:\n    pass\n", "f.kernel:3", "unknown target 'tpu'"),
        ("kernel a\n    t\non cpu:\n    pass\non cpu:\n    pass\n", "f.kernel:5", "second body"),
        ("# idea\nkernel a\non cpu:\n    pass\n", "f.kernel:2", "which term"),
        ("kernel a\n    t\n", "f.kernel:1", "no body"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, place: str, message: str) -> None:
    with pytest.raises(KernelError, match=message) as raised:
        read_template(text, "f.kernel")
    assert place in str(raised.value)


def test_an_unfilled_hole_a_lone_dollar_and_a_missing_body_are_told() -> None:
    template = read_template("kernel a\n    t\non cpu:\n    $x $y\n", "f.kernel")
    with pytest.raises(KernelError, match=r"hole \$y"):
        template.fill("cpu", x="1")
    with pytest.raises(KernelError, match="no body for cuda"):
        template.fill("cuda")
    with pytest.raises(KernelError, match="Invalid placeholder"):
        read_template("kernel a\n    t\non cpu:\n    $ x\n").fill("cpu")


def test_an_unknown_kernel_is_an_error() -> None:
    with pytest.raises(KernelError, match="fft"):
        kernel_template("fft")


@pytest.mark.parametrize(("target", "header"), [("cpu", "(args, chunk, nchunks)"), ("cuda", "($parameters)")])
def test_a_body_without_a_function_is_told_the_convention_of_its_target(target: str, header: str) -> None:
    (found,) = mistakes("import math\n", frozenset(["name", "parameters"]), target)
    assert (found.what, found.do) == ("has no function $name", f"write def $name{header}:")
