# SPDX-License-Identifier: Apache-2.0
"""Packages of third parties: one that is right, used from end to end; and many that are wrong, each with its message.

They are installed as pip does it, as far as Python looks at it: a package and its entry points on the path. Each runs
in a process of its own, for what it declares is there for good.
"""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest
from packages import install, run

from ngraph_rewrite.cli import main

PACKAGE = Path(__file__).resolve().parent / "extension_package"


# -- a package that is right --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stencil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package of `tests/extension_package` is installed."""
    site = tmp_path_factory.mktemp("site")
    config = configparser.ConfigParser()
    config.read(PACKAGE / "setup.cfg", encoding="utf-8")
    install(site, config["metadata"]["name"], config["options.entry_points"])
    (site / "ngraph_stencil").symlink_to(PACKAGE / "ngraph_stencil", target_is_directory=True)
    return site


def test_the_package_passes_its_own_tests(stencil: Path) -> None:
    found = run(stencil, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", str(PACKAGE / "tests"))
    assert found.returncode == 0, found.stdout + found.stderr


def test_nothing_of_a_package_is_imported_before_it_is_needed(stencil: Path) -> None:
    script = """
import sys, ngraph_rewrite as ng
print(ng.transformer_choices(), "ngraph_stencil" in sys.modules)
print(len(ng.rules()) > 0, "ngraph_stencil" in sys.modules)
"""
    found = run(stencil, "-c", script)
    assert found.stdout.splitlines() == ["('cpu', 'cuda', 'reference', 'plain', 'stencil') False", "True True"], (
        found.stderr
    )


NAMED = {
    "built": "ng.make_op('stencil_base.smooth_rows', ng.placeholder((2, 3)), side=0.5)",
    "rule": "ng.rule('smooth(x, axes=k, side=0.0) => x', family='stencil', grade='refines', name='mine')",
    "function": "ng.rule('x * y => x\\nif one_at(0, 2) == moved((1,), (2,))', grade='fast', name='mine')",
}


@pytest.mark.parametrize("how", NAMED)
def test_what_a_package_has_is_there_as_soon_as_it_is_named(stencil: Path, how: str) -> None:
    """Nothing has imported the package, or read the library's rules, before."""
    found = run(stencil, "-c", f"import ngraph_rewrite as ng\n{NAMED[how]}")
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("name", ["ngraph-stencil", "other, NGraph_Stencil"])
def test_a_package_can_be_left_out(stencil: Path, name: str) -> None:
    found = run(stencil, "-c", "import ngraph_rewrite as ng; print(ng.transformer_choices())",
                NGRAPH_REWRITE_WITHOUT=name)  # fmt: skip
    assert found.stdout == "('cpu', 'cuda', 'reference')\n", found.stderr


def test_every_check_of_its_rules_and_of_a_kernel_holds(stencil: Path) -> None:
    """They are checked as the files they are, and run together with the library that has them already."""
    files = sorted(map(str, (PACKAGE / "ngraph_stencil").glob("*.rules")))
    kernel = str(PACKAGE / "ngraph_stencil" / "multiply_add.kernel")
    done = run(stencil, "-m", "ngraph_rewrite", "check", "--quick", "--jobs", "2", *files, kernel)
    *lines, verdict = done.stdout.splitlines()
    assert verdict == f"{len(files) + 1} of {len(files) + 1} files are right", done.stdout + done.stderr
    assert any(line.startswith("7 of 7 rules are right, 7 of them proved") for line in lines), done.stdout
    assert (done.returncode, done.stderr) == (0, "")


# -- packages that are wrong --------------------------------------------------------------------------

OPS = """
import ngraph_rewrite as ng
@ng.op("{family}.twice", meaning=lambda term, x: x + x)
def twice(x):
    '''Twice `x`.'''
    return x
"""
KERNEL = """# Twice.
kernel twice
    wrong.twice(x)

on cpu:
    def $name(args, chunk, nchunks):
        $arguments
"""
RULES, TARGETS = "ngraph_rewrite.rules", "ngraph_rewrite.targets"
WRONG = {
    "no_module": ({"ngraph_rewrite.ops": "a = nothing.at.all"}, {}, "entry point 'a' (nothing.at.all)"),
    "raising": ({"ngraph_rewrite.ops": "a = wrong.ops"}, {"ops.py": "1 / 0"}, "ZeroDivisionError: division by zero"),
    "taken_op": (
        {"ngraph_rewrite.ops": "a = wrong.ops"},
        {"ops.py": OPS.format(family="semi").replace("twice", "exp")},
        "there is an op called 'semi.exp' already",
    ),
    "misspelt_op": (
        {"ngraph_rewrite.ops": "a = wrong.ops"},
        {"ops.py": OPS.format(family="wrong") + "ng.argument_domain('wrong.twise')\n"},
        "no op is called wrong.twise",
    ),
    "taken_file": ({RULES: "a = wrong"}, {"semi.rules": "simplify semi\n"}, "called as rules/semi.rules"),
    "no_files": ({RULES: "a = wrong"}, {}, "where no file ends with .rules"),
    "no_path": ({RULES: "a = wrong:PATH"}, {"__init__.py": "PATH = 3"}, "neither a package nor a path"),
    "bad_rule": (
        {RULES: "a = wrong"},
        {"wrong.rules": "simplify semi\n\nrule twice:  x + x  =>  2 * y\n"},
        "wrong-package/wrong.rules:3:29: `y` is not bound",
    ),
    "no_target": ({TARGETS: "wrong = wrong:T"}, {"__init__.py": "T = 3"}, "is no target called 'wrong'"),
    "other_name": (
        {TARGETS: "wrong = wrong:T"},
        {"__init__.py": "import ngraph_rewrite as ng\nT = ng.find_target('cpu')"},
        "which is no target called 'wrong'",
    ),
    "endless": (
        {RULES: "a = wrong"},
        {"wrong.rules": "simplify semi\n\nrule back:  x - y  =>  x + -y\n"},
        "rule wrong.back",
    ),
    "shipped_name": (
        {TARGETS: "cpu = wrong:T"},
        {"__init__.py": "1 / 0"},
        "its entry point 'cpu' of ngraph_rewrite.targets has the name of a target that ships",
    ),
    "bad_kernel": (
        {"ngraph_rewrite.kernels": "a = wrong", "ngraph_rewrite.ops": "a = wrong.ops"},
        {"twice.kernel": KERNEL.replace("(x)", "(x, x)"), "ops.py": OPS.format(family="wrong")},
        "wrong-package/twice.kernel:3:5: wrong.twice takes 1 argument, not 2",
    ),
    "library_kernel": (
        {"ngraph_rewrite.kernels": "a = wrong"},
        {"exp.kernel": KERNEL.replace("wrong.twice", "semi.exp")},
        "semi.exp has its kernels in the library",
    ),
}
SCRIPT = """
import ngraph_rewrite as ng
print("imported")
x = ng.placeholder([ng.Axis("H", 3)])
with ng.make_transformer("wrong" if "wrong" in ng.transformer_choices() else "cpu") as transformer:
    print(transformer.computation(ng.exp(x), x)([1, 2, 3]))
"""


def test_an_op_that_joins_a_family_is_drawn_from_the_first_program_on(tmp_path: Path) -> None:
    """A process that lowers before it draws drew other programs than one that draws before it lowers."""
    install(tmp_path, "joining-package", {"ngraph_rewrite.ops": "a = joining"})
    (tmp_path / "joining.py").write_text(OPS.format(family="numpy"), encoding="utf-8")
    script = """
from ngraph_rewrite.testing.strategies.terms import ops_of
from ngraph_rewrite.testing.strategies.drafts.growing import drawn_ops
print(*{"numpy.twice"}.intersection(d.name for d in __OPS__))
"""
    for ops in ("drawn_ops()", "ops_of('numpy')"):
        found = run(tmp_path, "-c", script.replace("__OPS__", ops))
        assert found.stdout == "numpy.twice\n", found.stderr


@pytest.mark.sampled
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_package_is_named_and_the_library_still_imported(case: str, tmp_path: Path) -> None:
    entry_points, files, message = WRONG[case]
    install(tmp_path, "wrong-package", entry_points)
    (tmp_path / "wrong").mkdir()
    for name, text in {"__init__.py": "", **files}.items():
        (tmp_path / "wrong" / name).write_text(text, encoding="utf-8")
    found = run(tmp_path, "-c", SCRIPT)
    assert found.stdout == "imported\n", found.stdout + found.stderr
    assert message in found.stderr and "ExtensionError: the package wrong-package cannot be used: " in found.stderr
    assert case == "taken_file" or found.stderr.endswith("or leave it out with NGRAPH_REWRITE_WITHOUT=wrong-package\n")
    left_out = run(tmp_path, "-c", SCRIPT, NGRAPH_REWRITE_WITHOUT="wrong-package") if case == "raising" else None
    assert left_out is None or (left_out.returncode == 0 and len(left_out.stdout.splitlines()) == 2)


def test_two_packages_with_one_target_are_both_named(tmp_path: Path) -> None:
    for name in ("first", "second"):
        install(tmp_path, f"{name}-package", {TARGETS: f"both = {name}:T"})
        text = "import ngraph_rewrite as ng\nT = ng.find_target('cpu').extended('both')\n"
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    found = run(tmp_path, "-c", "import ngraph_rewrite as ng\nng.make_transformer('both')")
    assert "ExtensionError" in found.stderr and "second-package" in found.stderr and "first-package" in found.stderr


# -- the command knows a kernel from a rule file ------------------------------------------------------


def test_a_kernel_that_is_no_kernel_is_shown_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.kernel"
    path.write_text(KERNEL, encoding="utf-8")
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "kernel twice computes wrong.twice, and no op is called so" in out and f"{path}:2" in out
