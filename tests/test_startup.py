# SPDX-License-Identifier: Apache-2.0
"""Starting: what a process imports, and what it takes from the cache instead of reading and compiling it again."""

from __future__ import annotations

import ast
import compileall
import importlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import plugins
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.rewriting import pattern, remembered, rule, rulefile, waivers
from ngraph_rewrite.rewriting.encoding import Unencodable, decoded, digest, encoded, read_rules, write_rules
from ngraph_rewrite.rewriting.expression import Expression, Span
from ngraph_rewrite.rewriting.expression_checks import check_expression
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rule_errors import RIGHT, place_of
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef, definitions, lookup
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.tensor import TensorType

PACKAGE = Path(ng.__file__).parent

# -- what is imported ---------------------------------------------------------------------------------

OTHERS = "numba llvmlite scipy sympy matchpy hypothesis z3 rich matplotlib platformdirs importlib.metadata".split()
READING = "frame rulefile shorthands emit tree checks instances domains solving order subsumption".split()


def imported(program: str, folder: Path, path: Path = PACKAGE.parent, **environment: str) -> tuple[list[str], set[str]]:
    """What a process prints, and which modules it has imported then."""
    program += "\nimport sys\nprint(*sys.modules)"
    variables = {"NGRAPH_REWRITE_CACHE": str(folder), "PYTHONPATH": str(path), **environment}
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **variables}, cwd=folder.parent,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lines, modules = done.stdout.splitlines()
    return lines, set(modules.split())


def test_the_package_imports_little(tmp_path: Path) -> None:
    """Of others NumPy, and nothing that reads rules, writes code or runs it."""
    names, modules = imported("import ngraph_rewrite\nprint(*dir(ngraph_rewrite))", tmp_path / "cache")
    assert {*ng.__all__, "testing"} <= set(names[0].split())
    parts = [*(f"rewriting.{m}" for m in READING), "codegen", "plan.plan", "targets.cpu", "testing"]
    assert not modules & {*OTHERS, *(f"ngraph_rewrite.{part}" for part in parts)}
    assert not (tmp_path / "cache").exists()


def test_every_public_name_is_there() -> None:
    assert not [name for name in ng.__all__ if not hasattr(ng, name)]
    assert set(ng.__late__) - {"testing"} <= set(ng.__all__)
    assert ng.checked_rules is lazy_module("ngraph_rewrite.rewriting.checks").checked_rules
    with pytest.raises(AttributeError, match="ng has no tseting\n.*\n.*did you mean ng.testing"):
        _ = ng.tseting


def test_a_lazy_module_is_imported_when_it_is_used() -> None:
    later, missing = lazy_module("wave"), lazy_module("ngraph_rewrite_is_not_here")
    known = "wave" in sys.modules
    assert later.Error.__name__ == "Error" and "wave" in sys.modules
    assert not known or sys.modules["wave"].Error is later.Error
    with pytest.raises(ModuleNotFoundError, match="ngraph_rewrite_is_not_here"):
        _ = missing.anything
    with pytest.raises(AttributeError, match="nothing"):
        _ = later.nothing


@pytest.mark.parametrize("packed", [False, True])
def test_a_package_is_found_wherever_packages_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """In a folder of the path or in an archive; and nothing is asked for where no file speaks of this package."""
    python = sysconfig.get_path("stdlib")  # which reads metadata with modules that nobody may have imported yet
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), python])
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if isinstance(finder, type)])
    (tmp_path / "site" / "their-1.0.dist-info").mkdir(parents=True)
    entries = tmp_path / "site" / "their-1.0.dist-info" / "entry_points.txt"
    (entries.parent / "METADATA").write_text("Metadata-Version: 2.1\nName: their\nVersion: 1.0\n")
    entries.write_text("[console_scripts]\nngraph_rewrite.x = their:main\n")
    plugins._every_entry_point.cache_clear()
    with monkeypatch.context() as inside:
        inside.setattr(plugins, "metadata", None)
        assert plugins.plugin_names("targets") == ()
    entries.write_text("[ngraph_rewrite.targets]\ntheirs = their:T\n")
    if packed:
        with zipfile.ZipFile(tmp_path / "site.zip", "w") as archive:
            for file in entries.parent.iterdir():
                archive.write(file, file.relative_to(tmp_path / "site"))
        monkeypatch.setattr(sys, "path", [str(tmp_path / "site.zip"), python])
    plugins._every_entry_point.cache_clear()
    assert plugins.plugin_names("targets") == ("theirs",)
    plugins._every_entry_point.cache_clear()


# -- rules as JSON ------------------------------------------------------------------------------------


def parts_of(rules: RuleSet) -> list[Any]:
    """All that is in rules, with the trees of their expressions; the text of the file is no part of them."""
    found: list[Any] = []
    for one in rules:
        pending: list[Any] = [getattr(one, f.name) for f in fields(one) if f.name != "source"]
        while pending:
            part = pending.pop()
            found.append(ast.dump(part.tree) if isinstance(part, Expression) else part)
            if isinstance(part, tuple):
                pending.extend(part)
            elif is_dataclass(part) and not isinstance(part, OpDef):
                pending.extend(getattr(part, f.name) for f in fields(part) if f.name != "tree")
    return found


def same(found: RuleSet, rules: RuleSet) -> bool:
    return (
        found.rules == rules.rules
        and [repr(r) for r in found] == [repr(r) for r in rules]
        and [hash(r) for r in found] == [hash(r) for r in rules]
        and repr(parts_of(found)) == repr(parts_of(rules))
    )


def test_the_library_is_what_it_was() -> None:
    rules = ng.rules()
    found = read_rules(write_rules(rules))
    assert not any("left" in vars(r) for r in found)
    assert repr(found) == repr(rules) and [r.waivers for r in found] == [r.waivers for r in rules]
    assert not any("left" in vars(r) for r in found)
    assert same(found, rules)
    assert [digest(r) for r in found] == [digest(r) for r in rules]


def test_what_is_read_from_files_is_what_is_decoded() -> None:
    """Trees of expressions, which are parsed from their texts, included."""
    rules = as_rules_anew(*sorted(PACKAGE.parent.glob("rules/*.rules"))[:6])
    assert same(read_rules(write_rules(rules)), rules)


def as_rules_anew(*paths: Path) -> RuleSet:
    return RuleSet(r for path in paths for r in rulefile.load_rules(path, path.name))


NODES = [
    found
    for module in (pattern, rule)
    for found in vars(module).values()
    if isinstance(found, type) and is_dataclass(found) and found not in (Rule, Expression, OpDef)
]
TEXTS = ["k", "x.rank + 1", "(a, b)[0] == 'last' and not f.named", "-1 if x.scalar else (1.5, None)", "k[1:]"]
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    OpDef: st.sampled_from([d for d in definitions() if d.shipped]),
    Expression: st.sampled_from([check_expression(ast.parse(text, mode="eval").body) for text in TEXTS]),
    Span: st.builds(Span, st.integers(), st.integers()),
    **{kind: st.from_type(kind) for kind in (str, int, float, bool, type(None))},
}


def of(hint: Any, depth: int = 2) -> st.SearchStrategy[Any]:
    """What a field of this type may hold, nodes no deeper than this."""
    if hint in LEAVES:
        return LEAVES[hint]
    inside = get_args(hint)
    if get_origin(hint) is tuple and inside[1:] == (...,):
        return st.lists(of(inside[0], depth - 1), max_size=2).map(tuple)
    if get_origin(hint) is tuple:
        return st.tuples(*(of(part, depth) for part in inside))
    if inside:
        return st.one_of([of(part, depth) for part in inside if depth > 0 or part in LEAVES or part is pattern.Var])
    return st.builds(hint, *(of(part, depth - 1) for part in get_type_hints(hint).values()))


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_every_node_has_a_place_in_json(node: type) -> None:
    """Those that are written tomorrow included: what is drawn follows from the types of their fields."""

    @settings(max_examples=18, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(of(node))
    def check(one: Any) -> None:
        found = decoded(json.loads(json.dumps(encoded(one))))
        assert found == one and repr(found) == repr(one) and hash(found) == hash(one)

    check()


@settings(deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda s: st.tuples(s, s)))
def test_values_keep_their_kinds(value: Any) -> None:
    """True is not 1, and 0.0 neither 0 nor -0.0."""
    line = write_rules([made(value)])
    (found,) = read_rules(line)
    assert repr(found.left) == repr(value)


def made(left: Any) -> Rule:
    return Rule(
        "n", "simplify", left, (), (), None, "exact", "a\nb\u2028c", "f", 1, (waivers.Waiver("a", "b", None, "c"),)
    )


@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, np.float64(1.0), b"x"], ids=lambda v: type(v).__name__)
def test_what_has_no_place_in_json_is_refused_and_still_compiles(value: Any, tmp_path: Path) -> None:
    """Such rules are not remembered, and work all the same."""
    with pytest.raises(Unencodable):
        write_rules([made(value)])
    cache = Cache(tmp_path)
    remembered.remember(cache, "slot", "known", RuleSet([made(value)]))
    assert remembered.recalled(cache, "slot", "known") is None
    assert remembered.chosen(RuleSet([made(value)]), lambda r: r, cache, "all").rules[0].left is value
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("body", [b"", b"garbage", b"[]", b"null", b'[{"Var": [1]}]', b"\xff"])
def test_a_stored_rule_that_says_nothing_is_refused_when_it_is_asked(body: bytes) -> None:
    head, _ = write_rules([made(pattern.Var("x"))]).split(b"\n")
    (one,) = read_rules(head + b"\n" + body)
    with pytest.raises(ng.RuleFileError, match=r"kept in the cache is b.*\n  remove the files of the cache folder"):
        _ = one.left


def test_a_stored_rule_has_no_attributes_of_its_own_making() -> None:
    (one,) = read_rules(write_rules([made(pattern.Var("x"))]))
    with pytest.raises(AttributeError, match="a Rule has no attribute 'lfet'"):
        _ = one.lfet  # type: ignore[attr-defined]


# -- rules of one's own -------------------------------------------------------------------------------

TEXT = "simplify semi\nrule twice_over: -(-(-x)) => -x\nrule double_exp: exp(x + x) => exp(x) * exp(x)\n"


@pytest.fixture
def alone(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, in a process in which no other test has declared anything."""
    shipped = [d for d in definitions() if d.shipped]
    monkeypatch.setattr(remembered, "definitions", lambda: shipped)
    for kind in ("attribute_functions", "term_functions"):
        ours = {n: f for n, f in getattr(remembered, kind)().items() if f.__module__.startswith("ngraph_rewrite.")}
        monkeypatch.setattr(remembered, kind, lambda ours=ours: ours)
    return cache_folder


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on nothing is read, checked or compiled."""

    def fail(*parts: Any) -> Any:
        raise AssertionError("this was done before")

    def stop() -> None:
        for name in ("rewriting.rulefile", "rewriting.frame", "rewriting.checks", "rewriting.emit"):
            module = lazy_module(f"ngraph_rewrite.{name}")
            for function in ("read_frame", "parse_rules", "check_rules_static", "check_order", "emit"):
                if hasattr(module, function):
                    monkeypatch.setattr(sys.modules[f"ngraph_rewrite.{name}"], function, fail)

    return stop


def run_with(rules: str, folder: Path) -> float:
    x = ng.placeholder([])
    with ng.make_transformer("cpu", rules=rules, cache=Cache(folder), classes=("exact", "real")) as transformer:
        return float(transformer.computation(ng.negative(ng.negative(ng.negative(ng.exp(x + x)))), x)(0.5))


def test_rules_of_ones_own_are_read_and_compiled_once(alone: Path, unread: Callable[[], None]) -> None:
    expected = run_with(TEXT.replace("\nrule double", "\nrule doubled"), alone)
    before = run_with(TEXT, alone)
    unread()
    assert run_with(TEXT, alone) == before == expected
    with pytest.raises(AssertionError, match="done before"):
        run_with(TEXT.replace("double", "twofold"), alone)


def test_a_mistake_is_found_every_time(alone: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuleFileError, match="`y` is not bound"):
            as_rules("simplify semi\nrule wrong: exp(x) => exp(y)\n")
    assert not list(alone.glob("checked_*"))


def test_a_rule_that_was_read_before_is_shown_as_it_is_written(alone: Path) -> None:
    for _ in range(2):
        rule, *_ = ng.rule("-(-x) => x", name="seen_before")
        assert place_of(rule, RIGHT) == ("<seen_before>:3:35", ("rule seen_before @exact: -(-x) => x", f"{' ' * 34}^"))
    assert len(list(alone.glob("checked_*"))) == 1


def test_a_rule_that_ships_is_shown_as_it_is_written() -> None:
    """Its file is found wherever the process runs; the lines are read when they are asked for."""
    places = {place_of(rule).at.partition(":")[0] for rule in ng.rules() if rule.file.startswith("rules/")}
    assert places == {f"rules/{path.name}" for path in PACKAGE.parent.glob("rules/*.rules")}
    assert all(place_of(rule).at.count(":") == 2 for rule in ng.rules())


def test_what_stands_in_no_file_is_read_every_time(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An op that a notebook declares may mean something else in the next one."""
    assert as_rules(TEXT).rules == as_rules(TEXT).rules
    assert len(list(alone.glob("checked_*"))) == 1
    monkeypatch.setattr(remembered, "attribute_functions", lambda: {"f": type("", (), {"__module__": "notebook"})()})
    assert remembered.others_digest() is None
    assert len(as_rules(TEXT.replace("double", "twofold"))) == 2
    assert len(list(alone.glob("checked_*"))) == 1


def test_code_of_others_is_part_of_the_key(alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs.py").write_text("def f(): return 1\n")
    os.utime(tmp_path / "theirs.py", (1, 1))
    monkeypatch.syspath_prepend(tmp_path)
    theirs = importlib.import_module("theirs")
    monkeypatch.delitem(sys.modules, "theirs")
    monkeypatch.setitem(sys.modules, "theirs", theirs)
    without = remembered.others_digest()
    monkeypatch.setattr(remembered, "attribute_functions", lambda: {"f": theirs.f})
    first = remembered.others_digest()
    assert first == remembered.others_digest() is not None
    (tmp_path / "theirs.py").write_text("def f(): return 2\n")
    assert remembered.others_digest() is None  # written after the process began: what runs is older
    os.utime(tmp_path / "theirs.py", (1, 1))
    assert len({without, first, remembered.others_digest()}) == 3


def test_a_matcher_is_found_by_what_its_rules_say(alone: Path, tmp_path: Path, unread: Callable[[], None]) -> None:
    rules, cache = as_rules(TEXT), Cache(tmp_path)
    other = as_rules(TEXT.replace("-(-(-x))", "-(-(-(-(-x))))"))
    first = Matcher(rules, cache)
    files = [first.source(op) for op in ("semi.negative", "semi.exp")]
    unread()
    again = Matcher(RuleSet(read_rules(write_rules(rules))), cache)
    assert [again.source(op) for op in ("semi.negative", "semi.exp")] == files and again.reasons == first.reasons
    assert Matcher(other, cache).source("semi.exp") == files[1]
    with pytest.raises(AssertionError, match="done before"):
        Matcher(other, cache).source("semi.negative")
    with pytest.raises(AssertionError, match="done before"):
        Matcher(RuleSet(reversed(rules.rules)), cache).source("semi.exp")


def test_of_the_rules_only_those_of_ops_that_are_met_become_code(tmp_path: Path) -> None:
    rules, bank = as_rules(TEXT), TrialBank()
    matcher = Matcher(rules, Cache(tmp_path))
    exp, negative, log = (lookup(f"semi.{short}") for short in ("exp", "negative", "log"))
    assert {*matcher.steps} == {exp, negative} and exp in matcher.steps and log not in matcher.steps
    x = bank.leaf("x", TensorType("float32", anonymous([2])))
    assert matcher.steps.get(log) is None and not [*matcher.matches(bank.make(log, (x,), ()))]
    assert not [*tmp_path.iterdir()]
    made = matcher.step(bank.make(exp, (bank.make(lookup("semi.add"), (x, x), ()),), ()), bank.make, None)
    assert made is not None and made[0].name.endswith("double_exp")
    assert len([*tmp_path.glob("rules_*.py")]) == 1 and matcher.steps[exp] is matcher.steps[exp]


def test_a_matcher_of_stored_rules_decodes_none(tmp_path: Path) -> None:
    """A stored set tells the ops at the roots of its rules, and what these say is not decoded for that."""
    stored = read_rules(write_rules(as_rules(TEXT)))
    assert {*Matcher(stored, Cache(tmp_path)).steps} == {lookup("semi.exp"), lookup("semi.negative")}
    assert not any("left" in vars(r) for r in stored)


def test_a_choice_is_made_once(tmp_path: Path) -> None:
    rules, cache, asked = as_rules(TEXT), Cache(tmp_path), list[str]()

    def choose(every: RuleSet) -> RuleSet:
        asked.append("asked")
        return RuleSet(r for r in every if "double" in r.name)

    found = [remembered.chosen(rules, choose, cache, "double", base) for base in ("a", "a", "b")]
    assert [f.rules for f in found] == [(rules.rules[1],)] * 3
    assert found[1].rules[0] is rules.rules[1] and len(asked) == 2


# -- processes ----------------------------------------------------------------------------------------

RULES = """simplify semi
rule strip_label: strip(label(x, axes=k)) => x
rule twice: negative(negative(x)) => x
waive values of twice: it is right for what is asked here
"""
LOWER = """lower axes -> semi
rule negative: negative(x) => label(negative(strip(x)), axes=x.axes)
"""
PROGRAM = """
import ngraph_rewrite as ng
x = ng.placeholder([ng.Axis("H", 3)], name="x")
with ng.make_transformer("cpu") as transformer:
    computation = transformer.computation(-(-(-x)), x)
    decoded = ["left" in vars(r) for r in ng.rules()]
    print(len(decoded), any(decoded))
    print(computation.explain(computation.returns).replace(chr(10), ";"))
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with a few rules, compiled to bytecode."""
    folder = tmp_path_factory.mktemp("original")
    ignored = shutil.ignore_patterns("__pycache__", "testing")
    shutil.copytree(PACKAGE, folder / "ngraph_rewrite", ignore=ignored)
    (folder / "rules").mkdir()
    (folder / "rules" / "signs.rules").write_text(RULES)
    (folder / "rules" / "axes.rules").write_text(LOWER)
    assert compileall.compile_dir(folder / "ngraph_rewrite", quiet=1)
    return folder


@pytest.fixture
def copy(tmp_path: Path, original: Path) -> Path:
    """A copy of one's own, older than any process that runs it."""
    return Path(shutil.copytree(original, tmp_path / "copy"))


def run_copy(copy: Path) -> tuple[list[str], bool, bool]:
    """What a process prints, whether it read rules, and whether it wrote code."""
    lines, modules = imported(PROGRAM, copy.parent / "cache", copy)
    return lines, "ngraph_rewrite.rewriting.rulefile" in modules, "ngraph_rewrite.rewriting.emit" in modules


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_second_process_reads_nothing_until_something_changes(copy: Path) -> None:
    cold = run_copy(copy)
    assert cold[1:] == (True, True)
    assert cold[0][0].split()[-2:] == ["3", "True"]
    warm = run_copy(copy)
    assert warm[1:] == (False, False)
    assert warm[0][0].split() == [*cold[0][0].split()[:-1], "False"]
    assert warm[0][1] == cold[0][1] and "signs.twice" in warm[0][1]

    edit(copy / "rules" / "signs.rules", "rule twice", "rule double")
    edit(copy / "rules" / "signs.rules", "of twice", "of double")
    lines, read, wrote = run_copy(copy)
    assert read and wrote and "signs.double" in lines[1] and "signs.twice" not in lines[1]
    assert run_copy(copy)[1:] == (False, False)

    for file in ("rewriting/emit.py", "terms/op.py", "ops/functions.py", "types/axes.py", "lowering/passes.py"):
        edit(copy / "ngraph_rewrite" / file, "# SPDX", "# and\n# SPDX")
    assert run_copy(copy)[1:] == (True, True)
    assert run_copy(copy)[1:] == (False, False)


def test_nothing_damaged_or_foreign_is_believed(copy: Path) -> None:
    expected = run_copy(copy)[0][1]
    folder = copy.parent / "cache"
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    kinds = {path.suffix for path in whole}
    assert kinds == {".rules", ".json", ".py", ".code"}

    for damage in (lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"[]" + data):
        for path, data in whole.items():
            path.write_bytes(damage(data))
        assert run_copy(copy)[0][1] == expected

    (library,) = folder.glob("library_*.rules")
    known, rest = library.read_bytes().split(b"\n", 1)
    for foreign in (known[:-1] + b"x\n" + rest, b"x\n[]", b"nothing"):
        Cache(folder).write(library.stem, "rules", foreign)
        lines, read, _ = run_copy(copy)
        assert lines[1] == expected and read


def test_processes_that_begin_together_do_not_disturb_each_other(copy: Path) -> None:
    variables = {**os.environ, "NGRAPH_REWRITE_CACHE": str(copy.parent / "cache"), "PYTHONPATH": str(copy)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=variables, cwd=copy.parent, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    printed = {process.communicate()[0].partition("\n")[2] for process in started}  # who is late need not read
    assert len(printed) == 1 and [process.returncode for process in started] == [0] * 3
    assert run_copy(copy)[1:] == (False, False)
    assert not list((copy.parent / "cache").glob(".writing-*"))
