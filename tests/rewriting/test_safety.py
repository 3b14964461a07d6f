# SPDX-License-Identifier: Apache-2.0
"""A rule file of a stranger is data: nothing in it runs, and neither it nor what it computes is large."""

from __future__ import annotations

import ast
import keyword
import string
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError, RuleFileError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting import bounds
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.checks import check_rules_static
from ngraph_rewrite.rewriting.emit import emit, emit_matches
from ngraph_rewrite.rewriting.expression_checks import PROPERTIES, check_expression
from ngraph_rewrite.rewriting.expression_source import as_source
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.registry import attribute_functions, term_functions
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules, parse_rules
from ngraph_rewrite.types.lengths import Length

HEADER = "simplify semi\n"
drawn = settings(max_examples=150, deadline=None)


def parsed(text: str, header: str = HEADER) -> RuleSet:
    return parse_rules(header + text + "\n", "my.rules", "my")


def guarded(condition: str, *clauses: str) -> str:
    return "\n  ".join(["rule a: exp(x) => x", f"if {condition}", *clauses])


def chain(count: int, first: str, then: str, keyword_: str = "where") -> list[str]:
    """Clauses each of which uses the one before."""
    return [f"{keyword_} a0 = {first}", *(f"{keyword_} a{i + 1} = {then.replace('a', f'a{i}')}" for i in range(count))]


# -- what is no part of the language ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("x.__class__", "`.__class__` is not a property rules can read"),
        ("x.dtype.type.mro()", "only attribute functions can be called"),
        ("__import__('os').system('true')", "only attribute functions can be called"),
        ("__import__('os')", "`__import__` is not an attribute function"),
        ("eval('1')", "`eval` is not an attribute function"),
        ("__builtins__", "`__builtins__` is not bound"),
        ("(lambda: 1)()", "only attribute functions can be called"),
        ("(y := 1)", "NamedExpr is not part of the expression language"),
        ("f'{x.__class__}' == ''", "JoinedStr is not part of the expression language"),
        ("[y for y in x.shape]", "ListComp is not part of the expression language"),
        ("{1: 2}", "Dict is not part of the expression language"),
        ("size(*x.shape)", "* and ** arguments are not part of the expression language"),
        ("size(**x)", "* and ** arguments are not part of the expression language"),
        ("x.rank ** 9 ** 9", "Pow is not part of the expression language"),
        ("1 << x.rank", "LShift is not part of the expression language"),
        ("~x.rank", "Invert is not part of the expression language"),
        ("await x", "Await is not part of the expression language"),
        ("(yield x)", "Yield is not part of the expression language"),
        ("b'a' == x", "the constant b'a' is not part of the expression language"),
        ("1j == x", "the constant 1j is not part of the expression language"),
        ("... == x", "the constant Ellipsis is not part of the expression language"),
        ("x.rank is 1", "`is` compares with a literal"),
        ("x.dtype == '\0'", "null bytes"),
    ],
)
def test_what_the_language_does_not_have_is_refused_at_its_place(condition: str, says: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        parsed(guarded(condition))
    assert str(caught.value).startswith("my.rules:3:")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "rule a: exp(__debug__) => __debug__",
        "rule a: concat(__debug__..., axis=k) => self",
        "rule a: sum(x, axes=__class__) => x",
        "rule a: exp(x) => x\n  where __debug__ = 1",
        "rule a: exp(x) => x\n  where x\u00b2 = 1",
        "rule a: exp(x) => x\n  where \ufb01 = 1\n  if fi == 1",
        "rule a: exp(x) => a\n  let __import__ = x",
    ],
)
def test_a_name_that_means_something_to_python_or_looks_like_another_is_refused(text: str) -> None:
    with pytest.raises(RuleFileError, match=r"^my\.rules:[23]:\d+: `.*` cannot be a name here"):
        parsed(text)


@pytest.mark.parametrize("name", [*keyword.kwlist, "make", "fill", "plus", "times", "op_core_constant", "fn_size", "r"])
def test_other_names_are_as_good_as_any(name: str, tmp_path: Path) -> None:
    if keyword.iskeyword(name):
        name += "_"
    rules = parsed(f"rule a: exp({name}) + sum(y, axes={name}_) => {name}\n  if size({name}.axes) == 1 + 2 * 3")
    assert Matcher(rules, Cache(tmp_path)).rules is rules


def test_no_name_of_a_file_breaks_out_of_a_comment(tmp_path: Path) -> None:
    rules = parse_rules(HEADER + "rule a: exp(x) => x\n", "my\nraise SystemExit\n.rules", "my\rraise SystemExit\r")
    assert len(Matcher(rules, Cache(tmp_path)).rules) == 1


# -- nothing runs ----------------------------------------------------------------------------------------

_PARTS = st.sampled_from(
    """x y k self target d x.shape x.dtype x.axes x.rank .name .base __class__ __import__ os.system exec eval print open
    size repeated span ( ) [ ] { } , : . ... + - * / // % ** @ ~ & | ^ << >> < <= == != := => = in not is and or if else
    lambda for yield await 1 0 -1 1.5 1e999 0x7f 2**70 '' 'a' "b" '''c''' f'{x}' b'z' r'\\n' '\\x00' '\\N{BULLET}' \\ #
    \t \n \r \x0c \x1b \u2028 \u00b2 \ufb01 None True False NotImplemented exp add concat axes= axis=k x... let where
    rule define waive""".split(" ")
)
_SOUP = st.lists(_PARTS, max_size=12).map(" ".join)
_TEXT = st.text(st.sampled_from(string.printable + "\0\x85\u2028\u00b2\ufb01\ud800é"), max_size=60)


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "//", "%", "<", "==", "!=", "in", "not in", "is", "and", "or"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, operators, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("size({})".format, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("{}.{}".format, inner, st.sampled_from([*sorted(PROPERTIES), "__class__"])),
    )


_LEAVES = st.one_of(st.sampled_from(["x", "self", "target", "k", "None"]), _TEXT.map(repr), st.integers().map(repr))
_CONDITIONS = st.recursive(_LEAVES, _nested, max_leaves=8)


# What generated code is made of, beside functions of rules: nothing else is called, and nothing else is read.
_CALLS = {"op", "make", "fill", "zip", "float", "len", "plus", "times", "modulo"}
_READS = {"args", "attrs", "definition", "is_number", "get", "bit_length", "collapse", "plain", *PROPERTIES}
_NODES = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Expr, ast.Constant, ast.Return, ast.Assign, ast.If),
    *(ast.Name, ast.Load, ast.Store, ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple),
    *(ast.List, ast.Dict, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Starred, ast.ListComp),
    *(ast.comprehension, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Yield, ast.YieldFrom, ast.Pass),
    *(ast.AugAssign, ast.While),  # how a crowd of rules is searched, and those that are found are tried
)


def assert_harmless(rules: RuleSet) -> None:
    """Demand of generated code that it can call registered functions only, and read properties only."""
    nodes = list[ast.AST]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for text in emit(rules), emit_matches(rules):
            tree = ast.parse(text)
            compile(tree, "generated", "exec")
            nodes += ast.walk(tree)
    known = {f"fn_{name}" for name in (*attribute_functions(), *term_functions())}
    known |= _own(nodes)
    for node in nodes:
        assert isinstance(node, _NODES), ast.dump(node)
        if isinstance(node, ast.Attribute):
            assert node.attr in _READS
        if isinstance(node, ast.Call):
            name = _said(node.func)
            plain = name in _CALLS | known or name.startswith("apply_")
            called = node.func.attr if isinstance(node.func, ast.Attribute) else name
            assert plain or called in ("is_number", "bit_length"), name
        if isinstance(node, ast.Name):
            assert not node.id.startswith("__")


def _said(node: ast.expr) -> str:
    """Its text, which most often is a name."""
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def _own(nodes: list[ast.AST]) -> set[str]:
    """The functions of generated code itself, and the names under which it looks them up."""
    found = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            table = node.value.value if isinstance(node.value, ast.Attribute | ast.Subscript) else None
            looked_up = isinstance(node.value, ast.Call) and "_seek_" in _said(node.value.func)
            if isinstance(table, ast.Dict) or looked_up or _said(node.targets[0]) == "f":
                found.add(node.targets[0].id)
    return found


def harmless_or_refused(text: str, header: str = HEADER) -> None:
    try:
        rules = parsed(text, header)
    except RuleFileError as refused:
        assert str(refused).startswith("my.rules:")
        assert all(c.isprintable() or c in "\n\t" for c in str(refused))
    else:
        assert_harmless(rules)


def test_what_the_library_makes_of_its_own_rules_is_harmless() -> None:
    assert_harmless(library())


@drawn
@given(st.one_of(_SOUP, _TEXT))
@example("x.dtype == '\\'\\n\"\"\"\\nimport os\\n#'")
@example("x.dtype == '''\n''' and x.rank")
def test_a_condition_is_harmless_or_refused(condition: str) -> None:
    harmless_or_refused(guarded(condition))


@drawn
@given(_CONDITIONS, _CONDITIONS)
def test_a_well_formed_condition_is_harmless_or_refused(condition: str, computed: str) -> None:
    harmless_or_refused(f"rule a: sum(exp(x), axes=k) => reshape(x, shape=k)\n  if {condition}\n  where y = {computed}")


@drawn
@given(st.one_of(_SOUP, _TEXT), st.one_of(_SOUP, _TEXT))
def test_an_equation_is_harmless_or_refused(left: str, right: str) -> None:
    harmless_or_refused(f"rule a: {left} => {right}")


@drawn
@given(st.one_of(_SOUP, _TEXT), st.one_of(_SOUP, _TEXT))
def test_a_file_is_harmless_or_refused(first: str, then: str) -> None:
    harmless_or_refused(then, f"{first}\n")
    harmless_or_refused(f"rule a: exp(x) => x\n{first}\n{then}")


@drawn
@given(st.text(max_size=80))
def test_any_text_is_rules_or_refused(text: str) -> None:
    harmless_or_refused("", text)
    harmless_or_refused(text)


# -- sizes of what is written ----------------------------------------------------------------------------


def lines_of(text: str, width: int = 900) -> str:
    """The text on lines that are not too long, all but the first indented; it must have blanks."""
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append("   ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rule a: exp(x) => " + "x" * 2000, "the line has more than 1000 characters"),
        ("\n".join(f"rule a{i}: exp(x) => x" for i in range(5000)), "more than 2000 statements"),
        ("#" * 900 + ("\n" + "#" * 900) * 1200, "the file has more than 1048576 characters"),
        ("rule a: exp(x) => x" + "\n " * 20_000 + "y", "this has more than 20000 characters"),
        (lines_of("rule a for f in " + "exp " * 2500 + ": f(x) => x"), "the file has more than 1000 rules"),
        ("rule a: exp(x) => x\n" + "waive values of a: so\n" * 1500, "the file has more than 1000 waivers"),
        (f"rule a: {'exp(' * 120}x{')' * 120} => x", "nested deeper than 40 levels"),
        (f"rule a: exp({'(' * 250}x{')' * 250}) => x", "too many nested parentheses"),
        (f"rule a: exp({'-' * 900}x) => x", "nested deeper than 40 levels"),
        (f"rule a: exp(x) => {' - '.join('x' * 200)}", "nested deeper than 40 levels"),
        (guarded(f"{'not ' * 200}x.rank"), "nested deeper than 40 levels"),
        (guarded(f"x{'[0]' * 200}"), "nested deeper than 40 levels"),
        (guarded(lines_of(f"x.shape == ({'1, ' * 4000})")), "more than 3000 parts"),
        (guarded("x.rank == " + "9" * 100), "the number is larger than 64 bits"),
        (guarded("x.rank == 0x" + "f" * 800), "the number is larger than 64 bits"),
        (guarded(lines_of(f"x.dtype == '{'a' * 500}' '{'a' * 501}'", 600)), "the string has more than 1000 characters"),
        ("rule a: x * 1" + "0" * 100 + " => x", "the number is larger than 64 bits"),
        ("rule a: exp(x) => x * 1" + "0" * 100, "the number is larger than 64 bits"),
        (f"rule a: concat({', '.join(f'x{i}' for i in range(120))}, axis=k) => x0", "the left side is too large"),
        (f"rule a: {' + '.join(f'x{i}' for i in range(12))} => x0", "the left side is too large"),
        ("\n  ".join(["rule a: exp(x) => x", *chain(70, "1", "a + 1")]), "the rule has more than 64 clauses"),
        ("rule x" + " " * 900 + "y: exp(x) => x", "cannot read the rule's head"),
        ("rule x" + "\n " * 9000 + "y: exp(x) => x", "cannot read the rule's head"),
        ("rule a: exp(x)\n " + "a" * 900 + "\n => x", "begins no clause"),
        ("define f(x) = x + x\nrule a: exp(x) => " + "f(" * 34 + "x" + ")" * 34, "more than 3000 parts"),
        ("define f(x) = f(x)\nrule a: exp(x) => f(x)", "the shorthand f expands without end"),
        ("define f(x) = exp(f(x))\nrule a: exp(x) => f(x)", "the shorthand f expands without end"),
    ],
)
def test_what_is_too_large_is_refused_at_once(text: str, says: str) -> None:
    begun = time.process_time()
    with pytest.raises(RuleFileError, match=r"^my\.rules") as caught:
        parsed(text)
    assert says in str(caught.value)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("body", ["f{0}(f{0}(x))", "f{0}(x) - f{0}(x)", "f{0}(x)"])
def test_shorthands_in_shorthands_do_not_blow_up(body: str) -> None:
    defines = "\n".join(f"define f{i + 1}(x) = {body.format(i)}" for i in range(25))
    begun = time.process_time()
    with pytest.raises(RuleFileError, match=r"expands without end|more than 3000 parts|nested deeper"):
        parsed(f"define f0(x) = x\n{defines}\nrule a: exp(x) => f25(x)")
    assert time.process_time() - begun < 5


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "huge.rules"
    path.write_bytes(HEADER.encode() + b"# a comment\n" * (1 << 19))
    with pytest.raises(RuleFileError, match="huge.rules: the file has more than 1048576 characters"):
        load_rules(path)


def test_rules_at_the_bounds_compile_together(tmp_path: Path) -> None:
    """Each is nested as deep as may be, and asks as much as may be; there are many of one op."""
    deep = [f"rule a{i}: {'exp(' * (28 - i)}log(x){')' * (28 - i)} => x" for i in range(20)]
    wide = [f"rule b{i}: concat({', '.join(['x'] * (50 - i))}, axis={i}) => x" for i in range(45)]
    same = [f"rule c{i}: exp(x) => x\n  if x.rank == {i}" for i in range(200)]
    rules = parsed("\n".join([*deep, *wide, *same]))
    assert_harmless(rules)
    assert len(Matcher(rules, Cache(tmp_path)).rules) == 265


# -- sizes of what is computed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (guarded("(0,) * 1000000000 == ()"), "an attribute of 1000000000 items is too large"),
        (guarded("1000000000 * (0,) == ()"), "an attribute of 1000000000 items is too large"),
        (guarded("repeated(0, 1000000000) == ()"), "an attribute of 1000000000 items is too large"),
        (guarded("span(0, 1000000000) == ()"), "an attribute of 1000000000 items is too large"),
        (guarded("a40 == ()", *chain(40, "(1,)", "a + a")), "an attribute of 16384 items is too large"),
        (guarded("a40 == ''", *chain(40, "'ab'", "a * 2")), "an attribute of 16384 items is too large"),
        (guarded("a40 == 1", *chain(40, "3", "a * a")), "an attribute is too large an integer"),
        (guarded("a40 == 1", *chain(40, "x.size + 1", "a * a")), "too large a polynomial"),
        (guarded("product_of(repeated(999999999999999999, 9999)) == 7"), "an attribute is too large an integer"),
        (guarded("product_of(repeated(x.size + 1, 9999)) == 7"), "too large a polynomial"),
        (guarded("layers(repeated(9999, 9999), 0) == ()"), "an attribute of 99980001 items is too large"),
        (guarded("fact(x.dtype, '__class__') == 1"), "has no field __class__"),
        (guarded("'%1000000000d' % 1 == ''"), "% of a string is no attribute"),
        (guarded("1 // 0"), "ZeroDivisionError"),
        (guarded("x.shape[::0] == ()"), "slice step cannot be zero"),
    ],
)
def test_what_computes_too_much_is_refused_at_once(text: str, says: str) -> None:
    begun = time.process_time()
    with pytest.raises(RuleFileError) as caught:
        check_rules_static(parsed(text))
    assert "my.rules:3:6: rule my.a fails on semi.exp(x)" in str(caught.value)
    assert says in str(caught.value)
    assert time.process_time() - begun < 5


def test_a_shared_term_is_not_written_out() -> None:
    """2**60 additions, of which each is built once."""
    begun = time.process_time()
    check_rules_static(parsed("\n  ".join(["rule a: tanh(x) => a60", *chain(60, "x", "a - a", "let")])))
    assert time.process_time() - begun < 5


VALUES = st.one_of(
    st.integers(-100, 100),
    st.booleans(),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.text(max_size=3),
    st.sampled_from([Length.symbol("N"), Length.symbol("N") * 2 + 1]),
)


def outcome(compute: Any) -> Any:
    try:
        return compute()
    except (TypeError, ZeroDivisionError, NGraphRewriteError) as error:
        return type(error)


@drawn
@given(VALUES, VALUES, st.sampled_from("+*%-"))
def test_bounded_arithmetic_is_that_of_python(a: Any, b: Any, operator: str) -> None:
    """Interpreted, and in generated code; only strings are not formatted."""
    expression = check_expression(ast.parse(f"a {operator} b", mode="eval").body)
    names = {"a": a, "b": b}
    functions = {f.__name__: f for f in (bounds.plus, bounds.times, bounds.modulo)}
    interpreted = outcome(lambda: value_of(expression, names))
    generated = as_source(expression, {})
    assert outcome(lambda: eval(generated, {**functions, **names})) == interpreted  # noqa: S307
    if not (isinstance(a, str) and operator == "%"):
        assert outcome(lambda: eval(expression.text, names)) == interpreted  # noqa: S307


def test_a_process_bounds_its_memory_and_its_time() -> None:
    program = """
from ngraph_rewrite.testing.limits import bounded
bounded(seconds=1, megabytes=256)
bounded(seconds=1000, megabytes=100000)  # is never raised
try:
    bytearray(1 << 30)
except MemoryError:
    print("refused", flush=True)
while True:
    pass
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout == "refused\n"
    assert run.returncode < 0
