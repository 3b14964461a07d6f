# SPDX-License-Identifier: Apache-2.0
"""Bodies for GPUs are checked as those for the CPU are: on drawn instances of their ops, however many threads run."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.cli import main
from ngraph_rewrite.plan.cuda.calls import CALLS
from ngraph_rewrite.plan.cuda.products import PRODUCTS
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.runtime.cuda.device import find_device
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.testing import WrongKernel, check_kernel, kernels
from ngraph_rewrite.testing.compare import as_rounded, same_bits
from ngraph_rewrite.testing.evaluate import evaluate
from ngraph_rewrite.testing.strategies import PLAIN, examples_of

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

TRIPLE = """
# The first array and three times the second.
kernel gpu_triple
    shop_gpu.add_triple(x, y)
where count = self.size
if x.dtype == 'float64'

on cuda:
    \"\"\"$idea

    Arguments (int64): $signature
    \"\"\"

    $imports


    def $name($parameters):
        i = thread()
        while i < count:
            store_$x_dtype(self, i, load_$x_dtype(x, i, 0) + load_$x_dtype(y, i, 1) * 3, 2)
            i += threads()
"""


def _triple(x: ng.Op, y: ng.Op) -> ng.Op:
    ng.checks.positional(x, y)
    ng.checks.alike(x, y)
    return x


ng.op("shop_gpu.add_triple", "elementwise", meaning=lambda term, x, y: x + y * 3)(_triple)


def test_a_kernel_file_may_have_a_body_for_gpus() -> None:
    ng.add_kernel(TRIPLE)
    shop = ng.find_target("cuda").extended("shop_gpu", add=["shop_gpu.add_triple"])
    b, c = (ng.placeholder((5,), "float64", name=name) for name in "bc")
    term = ng.make_op("shop_gpu.add_triple", b, c)
    x = np.arange(5.0)
    with ng.make_transformer(shop) as transformer:
        np.testing.assert_array_equal(transformer.computation(term, b, c)(x, x + 1), x + (x + 1) * 3)
    with ng.make_transformer(ng.find_target("cpu").extended("shop_cpu", add=["shop_gpu.add_triple"])) as transformer:
        with pytest.raises(ng.NGraphRewriteError, match="has no body for cpu"):
            transformer.computation(term, b, c)(x, x)


def test_what_does_not_compile_is_told_with_the_line_of_the_kernel_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the compiler tells it; the simulator compiles nothing."""

    def load(device: object, sources: dict[str, str], *how: object) -> None:
        (name,) = sources
        lines = sources[name].split("\n")
        place = f"/rendered/{name}.py"
        line = next(number for number, text in enumerate(lines, 1) if "i += threads()" in text)
        raise ng.KernelError(f"kernel {name} does not compile: no\n\nDuring: {place} ({line})", where=place)

    ng.add_kernel(TRIPLE)
    shop = ng.find_target("cuda").extended("shop_gpu_lines", add=["shop_gpu.add_triple"])
    b, c = (ng.placeholder((5,), "float64") for _ in "bc")
    monkeypatch.setattr(type(find_device()), "load", load)
    with ng.make_transformer(shop) as transformer, pytest.raises(ng.KernelError) as caught:
        transformer.computation(ng.make_op("shop_gpu.add_triple", b, c), b, c)(np.arange(5.0), np.arange(5.0))
    line = 1 + ["i += threads()" in text for text in TRIPLE.split("\n")].index(True)
    assert f"does not compile: no: `i += threads()`\n  at <kernel>:{line}\n  mend the line" in str(caught.value)


def test_it_means_what_the_op_means() -> None:
    assert check_kernel(TRIPLE, examples=4, target="cuda") > 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("* 3, 2)", "* 2, 2)"),
        ("i < count", "i < count - 1"),
        ("i = thread()", "i = 0"),  # each but the first of threads() elements is nobody's
        ("load_$x_dtype(y, i, 1)", "load_$x_dtype(y, i + 1, 1)"),
    ],
    ids=["another number", "one too few", "all begin with the first", "beyond the end"],
)
def test_a_wrong_body_is_found(old: str, new: str) -> None:
    with pytest.raises(WrongKernel, match=r"gpu_triple on cuda (does not compute|fails on) shop_gpu\.add_triple"):
        check_kernel(TRIPLE.replace(old, new, 1), examples=4, target="cuda")


def test_a_body_that_is_not_there_cannot_be_checked() -> None:
    with pytest.raises(ng.KernelError, match="has no body for 'cpu'"):
        check_kernel(TRIPLE)


def test_the_command_checks_each_body_that_can_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = tmp_path / "right.kernel", tmp_path / "wrong.kernel"
    right.write_text(TRIPLE.lstrip())
    wrong.write_text(TRIPLE.lstrip().replace("* 3, 2)", "* 2, 2)"))
    assert main(["check", str(right), str(wrong)]) == 1
    said = capsys.readouterr().out
    assert "wrong.kernel:2: kernel gpu_triple on cuda does not compute" in said and "1 of 2 files are right" in said
    monkeypatch.setattr(kernels, "find_device", Mock(side_effect=ng.DeviceError("there is no GPU")))
    assert main(["check", str(wrong)]) == 0
    assert "the body for cuda is not checked: there is no GPU" in capsys.readouterr().out


LONG = {"semi.eigh", "semi.eigvalsh", "semi.svd", "semi.svdvals"}  # one takes as long to compile as ten others
OWN = sorted({*CALLS, *PRODUCTS, "cuda.convolution"} & ng.find_target("cuda").base - {"semi.uniform", "semi.normal"})


@pytest.mark.parametrize("name", OWN)
def test_kernels_of_the_library_mean_what_their_ops_mean(name: str) -> None:
    """Drawn as instances of rules are: lengths from 0 on, every dtype that the op takes, attributes at their edges."""
    operands = ", ".join(f"x{i}" for i in range(lookup(name).arity or max(2, lookup(name).least)))
    (rule,) = parse_rules(f"select semi\nrule own:\n    {name}({operands})  =>  self", "own.rules", "own")
    compared = 0
    for example in islice(examples_of(rule, 12, kinds=(PLAIN,)), 1 if name in LONG else 2):
        term, values = example.instance.term, example.choices[0]
        leaves = {x: ng.placeholder(values[x].shape, x.dtype) for x in term.args}
        attributes = dict(zip(term.definition.attributes, term.attrs, strict=True))
        handle = ng.make_op(name, *(leaves[x] for x in term.args), **attributes)
        with ng.make_transformer("cuda") as transformer:
            found = np.asarray(transformer.computation(handle, *leaves.values())(*(values[x] for x in leaves)))
        meant = evaluate(term, values)[term]
        compared += 1
        assert (same_bits(meant, found) | as_rounded(term, values, meant, found)).all(), term
    assert compared
