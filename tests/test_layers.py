# SPDX-License-Identifier: Apache-2.0
"""Every module imports only from the layers below it, at module level, and no imports form a cycle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import ngraph_rewrite

ROOT = Path(ngraph_rewrite.__file__).parent
PACKAGE = ROOT.name

# Bottom to top; parts on one line know nothing of each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "undisturbed", "garbage", "waiting"),
    ("lazy",),
    ("data", "cache", "plugins", "helpers"),
    ("types",),
    ("terms",),
    ("ops",),
    ("rewriting",),
    ("lowering",),
    ("runtime",),
    ("codegen",),
    ("plan",),
    ("targets",),
    ("returns", "arguments", "savefile", "initialization"),
    ("state", "outputs"),
    ("ready", "standing"),
    ("preparation", "call_values", "calls"),
    ("answering", "stepping"),
    ("computation",),
    ("transformer",),
    ("saturation",),
    ("rewritten",),
    ("frontend", "explaining"),
    ("testing",),
    ("digits", "catalogue_trials"),
    ("catalogue_listing",),
    ("",),  # the package root: the public names
    ("demo", "checking", "fuzzing", "asking", "warming"),
    ("cuda_programs",),
    ("cuda_of_packages",),
    ("cuda_planning",),
    ("ptx",),
    ("emulating",),
    ("commands",),
    ("cli",),
    ("__main__",),
)

# A layer may be held to less than all that lies below it: frontends build terms and know no rules.
KNOWS_ONLY: dict[str, frozenset[str]] = {
    "frontend": frozenset({"errors", "types", "terms", "ops"}),
}

HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts}
TOP = len(LAYERS)


class Import(NamedTuple):
    """One import of a module of the package, where it stands, and for whom."""

    module: str  # dotted, below the package: "ops.semi"
    line: int
    inside_function: bool
    only_for_types: bool


def module_name(path: Path) -> str:
    """`ops/semi.py` is "ops.semi"; `ops/__init__.py` is "ops"; the package's own `__init__.py` is ""."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def part_of(module: str) -> str:
    """The part of the package, a top-level module or sub-package, that a module belongs to."""
    return module.partition(".")[0]


def imported_modules(node: ast.Import | ast.ImportFrom, importer: str) -> Iterator[str]:
    """The package's modules that an import statement names, "" for the package itself."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = absolute_base(node, importer)
        names = [
            f"{base}.{alias.name}" if below_package(f"{base}.{alias.name}") in MODULES else base for alias in node.names
        ]
    yield from (name for name in map(below_package, names) if name is not None)


def absolute_base(node: ast.ImportFrom, importer: str) -> str:
    """What `from ..a import b` imports from, written out."""
    if not node.level:
        return node.module or ""
    path = MODULES[importer].relative_to(ROOT).parent.parts
    parts = (PACKAGE, *path)[: len(path) + 2 - node.level]
    return ".".join((*parts, node.module) if node.module else parts)


def below_package(name: str) -> str | None:
    """`ngraph_rewrite.ops.semi` is "ops.semi"; None if the name is not the package's."""
    head, _, tail = name.partition(".")
    return tail if head == PACKAGE else None


def imports_below(
    node: ast.AST, importer: str, inside_function: bool = False, only_for_types: bool = False
) -> Iterator[Import]:
    """Every import of the package's modules in a syntax tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for module in imported_modules(child, importer):
                yield Import(module, child.lineno, inside_function, only_for_types)
        in_function = inside_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = only_for_types or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
        yield from imports_below(child, importer, in_function, for_types)


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"), filename=str(MODULES[module]))


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    return tuple(imports_below(tree_of(module), module))


def is_lazy_module(node: ast.AST) -> bool:
    """Whether a node is a call of `lazy_module`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_module"


def complaint(importer: str, what: Import, why: str) -> str:
    return f"{MODULES[importer].relative_to(ROOT.parent)}:{what.line}: imports {what.module or PACKAGE}, {why}"


def wrong_direction(importer: str, imported: str) -> str | None:
    """Why one module may not import another, or None if it may."""
    above, below = part_of(importer), part_of(imported)
    if above == below:
        return None
    if HEIGHT.get(below, TOP) >= HEIGHT.get(above, TOP):
        return f"but {below or 'the package root'} is not below {above}"
    if above in KNOWS_ONLY and below not in KNOWS_ONLY[above]:
        return f"but {above} knows only {', '.join(sorted(KNOWS_ONLY[above]))}"
    return None


# The families of ops: a module belongs to the one that its name begins with; all others are for everybody.
FAMILIES = ("axes", "simple", "numpy", "semi", "core", "cpu", "cuda", "fused")
# Families meet in rules, and never import each other. But what a target adds, and what is fused, stands below `semi`:
# each such op does in one call what ops of that family mean, so that it may take their meanings and checks.
STANDS_BELOW = {family: frozenset({"semi"}) for family in ("cpu", "cuda", "fused")}

# These use nothing of what they import: they only say in which order families and their parts are declared.
LISTS = frozenset({"ops.axes", "ops.simple", "ops.numpy", "ops.semi"})


def family_of(module: str) -> str | None:
    """The family of ops whose module it is: "semi" for `ops.semi` and `ops.semi_sort`, None for `ops.checks`."""
    found = module.removeprefix("ops.").partition("_")[0]
    return found if module.startswith("ops.") and found in FAMILIES else None


def families_under(module: str) -> Iterator[tuple[Import, str]]:
    """The families that a module imports from, itself or by modules that are of none."""
    for found in imports_of(module):
        family = family_of(found.module)
        if family is not None:
            yield found, family
        elif part_of(found.module) == "ops":
            yield from ((found, under) for _, under in families_under(found.module))


def meets_another(family: str, other: str) -> str | None:
    """Why a module of one family may not import one of another, or None if it may."""
    if other == family or other in STANDS_BELOW.get(family, ()):
        return None
    return f"but families meet in rules: what {family} and {other} have in common belongs to neither"


# The package root collects the public names from wherever they are.
PARTS = sorted({*map(part_of, MODULES)} - {""})


def modules_of(part: str) -> list[str]:
    return [module for module in MODULES if part_of(module) == part]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_belongs_to_a_layer(part: str) -> None:
    assert part in HEIGHT, f"{part} is in no layer: give it a place in LAYERS"


@pytest.mark.parametrize("part", PARTS)
def test_a_module_imports_only_from_below(part: str) -> None:
    reasons = ((m, found, wrong_direction(m, found.module)) for m in modules_of(part) for found in imports_of(m))
    assert not [complaint(module, found, why) for module, found, why in reasons if why]


@pytest.mark.parametrize("family", FAMILIES)
def test_families_of_ops_do_not_import_each_other(family: str) -> None:
    """Nor by a module of none."""
    own = [module for module in modules_of("ops") if family_of(module) == family and module not in LISTS]
    reasons = [(m, i, meets_another(family, other)) for m in own for i, other in families_under(m)]
    assert not [complaint(module, found, why) for module, found, why in reasons if why]


@pytest.mark.parametrize("part", ["", *PARTS])
def test_no_import_hides_in_a_function(part: str) -> None:
    hidden = ((module, i) for module in modules_of(part) for i in imports_of(module) if i.inside_function)
    assert not [complaint(module, i, "inside a function") for module, i in hidden]


@pytest.mark.parametrize("part", ["", *PARTS])
def test_a_lazy_import_stands_where_checkers_see_it(part: str) -> None:
    """What `lazy_module` names is imported under TYPE_CHECKING too, and so held to the same layers."""
    for module in modules_of(part):
        calls = [node for node in ast.walk(tree_of(module)) if is_lazy_module(node)]
        named = [ast.literal_eval(call.args[0]) for call in calls if isinstance(call.args[0], ast.Constant)]
        ours = {name for name in map(below_package, named) if name is not None}
        seen = {i.module for i in imports_of(module) if i.only_for_types}
        assert len(named) == len(calls) and ours <= seen, module


def test_imports_form_no_cycle() -> None:
    graph = {
        module: {i.module for i in imports_of(module) if not i.only_for_types} & set(MODULES) for module in MODULES
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other: " + " -> ".join(reversed(error.args[1])))


def test_the_package_root_holds_imports_only() -> None:
    """A docstring, imports, `__all__` and `__version__`, and what imports `testing` when it is asked for."""
    body = ast.parse(MODULES[""].read_text(encoding="utf-8")).body
    others = [node for node in body if not is_import_docstring_or_dunder(node) and not is_late_import(node)]
    assert not [f"{PACKAGE}/__init__.py:{node.lineno}: {ast.unparse(node)}" for node in others]


def is_import_docstring_or_dunder(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(name, ast.Name) and name.id.startswith("__") for name in node.targets)
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def is_late_import(node: ast.stmt) -> bool:
    """An import for type checkers alone, and the module's `__getattr__` and `__dir__` for all others."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) == "TYPE_CHECKING"
        and all(isinstance(n, ast.ImportFrom) for n in node.body)
        and [getattr(n, "name", None) for n in node.orelse] == ["__getattr__", "__dir__"]
    )


# The checks above, checked: each of these sources breaks one rule.


@pytest.mark.parametrize(
    ("importer", "source", "expected"),
    [
        ("types", "from ngraph_rewrite.errors import AxesError", "errors"),
        ("types", "import ngraph_rewrite.errors", "errors"),
        ("types", "from ngraph_rewrite import errors", "errors"),
        ("types", "from ..errors import AxesError", "errors"),
        ("types", "from . import axes", "types.axes"),
        ("types.axes", "from .lengths import Length", "types.lengths"),
        ("types.axes", "from .. import errors", "errors"),
        ("types.axes", "from ngraph_rewrite import __version__", ""),
    ],
)
def test_imports_are_read_however_they_are_written(importer: str, source: str, expected: str) -> None:
    assert [found.module for found in imports_below(ast.parse(source), importer)] == [expected]


def test_imports_of_others_are_not_ours_to_judge() -> None:
    assert not list(imports_below(ast.parse("import numpy as np\nfrom ngraph_rewrite_more import x"), "types"))


def test_where_an_import_stands_is_seen() -> None:
    source = "if TYPE_CHECKING:\n    import {0}\ndef f():\n    if True:\n        import {0}"
    for_types, in_function = imports_below(ast.parse(source.format("ngraph_rewrite.errors")), "types")
    assert for_types.only_for_types and not for_types.inside_function
    assert in_function.inside_function and not in_function.only_for_types


@pytest.mark.parametrize(
    ("importer", "imported", "expected"),
    [
        ("terms.op", "types.axes", None),
        ("terms.op", "terms.bank", None),
        ("terms.op", "ops.semi", "ops is not below terms"),
        ("transformer", "frontend.api", "frontend is not below transformer"),
        ("explaining", "frontend.api", "frontend is not below explaining"),
        ("frontend.api", "ops.axes", None),
        ("frontend.api", "rewriting.rule", "frontend knows only errors, ops, terms, types"),
        ("demo", "", None),
        ("testing.rules", "", "the package root is not below testing"),
    ],
)
def test_directions(importer: str, imported: str, expected: str | None) -> None:
    found = wrong_direction(importer, imported)
    assert found is None if expected is None else expected in str(found)


@pytest.mark.parametrize(
    ("module", "expected"),
    [("ops.semi_sort", "semi"), ("ops.axes", "axes"), ("ops.checks", None), ("rewriting.simple_x", None)],
)
def test_a_module_belongs_to_the_family_that_its_name_begins_with(module: str, expected: str | None) -> None:
    assert family_of(module) == expected


@pytest.mark.parametrize("module", sorted(LISTS))
def test_a_list_of_what_is_declared_holds_imports_only(module: str) -> None:
    assert all(is_import_docstring_or_dunder(node) for node in tree_of(module).body)


def test_families_are_seen_behind_a_module_of_none() -> None:
    assert "simple" in {family for _, family in families_under("ops.open_places")}


@pytest.mark.parametrize(
    ("family", "other", "refused"),
    [("simple", "axes", True), ("numpy", "semi", True), ("semi", "cpu", True), ("cpu", "cuda", True),
     ("cpu", "semi", False), ("axes", "axes", False)],
)  # fmt: skip
def test_which_families_may_meet(family: str, other: str, refused: bool) -> None:
    assert (meets_another(family, other) is not None) == refused
