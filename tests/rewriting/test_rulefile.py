# SPDX-License-Identifier: Apache-2.0
"""Every kind of mistake in a rule file, and the exact message: file, line, column, the line, a caret, what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ngraph_rewrite import ops  # noqa: F401  (the families declare their ops when imported)
from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting import attributes, parsing, reading_names, rulefile  # noqa: F401  (and attribute functions)
from ngraph_rewrite.rewriting.pattern import App, Build, Num, SeqVar, Var, subpatterns, subtemplates
from ngraph_rewrite.rewriting.rulefile import load_rules, parse_rules

SEMI = "simplify semi\n"
HEADER = (
    "write one of simplify, lower, recognize, select, explore, derive and a family, such as `lower axes -> semi`, "
    "or `signature NAME`"
)
ONE_LINE = "a header has one line, and this goes on with it"
FIRST_COLUMN = "begin rules, and what else is no part of one, in the first column"
HEAD = "write `rule NAME [for f in a b] [@class]:`"
TERM = "a term is a bound variable, a number, or an op applied to terms"
PATTERN = "a pattern is a variable, a number, or an op applied to patterns"
BIND = "bind it on the left, or with where"
USE = "use its variables, self or a let"
TAN = "did you mean tan or tanh or atan?"
PERM = "its attributes: perm"
CLAUSES = "a clause begins with let, where or if"
PROPERTIES = (
    "one of axes, base, dtype, float_pairs, length, lengths, name, named, names, quads, rank, recurrent, roles, "
    "sample, scalar, shape, size, type"
)

# The text of the file; line and column of the mistake; what the message says; what it advises.
DECLARE = "declare its ops before, or install what does"
MISTAKES: dict[str, tuple[str, int, int, str, str | None]] = {
    # -- the frame
    "empty file": ("", 1, 1, "the file is empty", "begin with a header such as `simplify semi`"),
    "comments only": ("# nothing\n", 1, 1, "the file is empty", "begin with a header such as `simplify semi`"),
    "unknown kind": ("simplfy semi\n", 1, 1, "a rule file begins with a header", "did you mean simplify?"),
    "no family": ("simplify\n", 1, 1, "a rule file begins with a header", HEADER),
    "no second family": ("lower axes ->\n", 1, 1, "a rule file begins with a header", HEADER),
    "unknown family": ("simplify semy\n", 1, 1, "there is no op family semy", "did you mean semi?"),
    "unknown family below a comment": (
        "# algebra\n\nsimplify semy\n", 3, 1, "there is no op family semy", "did you mean semi?",
    ),
    "signature of a family": ("\nsignature semi\n", 2, 1, "a signature cannot be called 'semi'", "choose a new name"),
    "unknown second family": ("lower axes -> semy\n", 1, 1, "there is no op family semy", "did you mean semi?"),
    "indented rule": (SEMI + "\n rule a: -x => x\n", 3, 2, ONE_LINE, FIRST_COLUMN),
    "indented rule of a signature": ("signature s\n    rule a: f(x) => x\n", 2, 5, ONE_LINE, FIRST_COLUMN),
    "neither rule nor define": (
        SEMI + "x + 0 => x\n", 2, 1, "expected `rule`, `define` or `waive`", "indent what continues a rule",
    ),
    "rule without a name": (SEMI + "rule: -x => x\n", 2, 5, "cannot read the rule's head", HEAD),
    "rule without a colon": (SEMI + "rule a @exact -x => x\n", 2, 15, "cannot read the rule's head", HEAD),
    "no arrow": (SEMI + "rule a: -x = x\n", 2, 12, "the rule has no `=>`", "did you mean `=>`?"),
    "arrow of one character": (SEMI + "rule a: -x \u21d2 x\n", 2, 12, "the rule has no `=>`", "did you mean `=>`?"),
    "no arrow at all": (SEMI + "rule a: x >= x\n", 2, 8, "the rule has no `=>`", "write `LEFT => RIGHT`"),
    "rule misspelt": (SEMI + "rul a: -x => x\n", 2, 1, "expected `rule`, `define` or `waive`", "did you mean rule?"),
    "class misspelt": (
        SEMI + "rule a @exakt: -x => x\n", 2, 8, "@exakt is not a class of rules", "did you mean exact?",
    ),
    "name of two words": (SEMI + "rule a-b: -x => x\n", 2, 7, "cannot read the rule's head", HEAD),
    "function misspelt": (
        SEMI + "rule a: -x => x\n    if is_flaot(x.dtype)\n", 3, 8, "`is_flaot` is not an attribute function",
        "did you mean is_float?",
    ),
    "bits instead of logic": (
        SEMI + "rule a: -x => x\n    if x.rank == 1 & x.rank\n", 3, 18, "BitAnd is not part of the expression language",
        "write `and`",
    ),
    "another arrow": (SEMI + "rule a: -x -> x\n", 2, 12, "the rule has no `=>`", "did you mean `=>`?"),
    "arrow inside brackets": (SEMI + "rule a: (-x => x\n", 2, 9, "'(' was never closed", None),
    "open bracket on the right": (
        SEMI + "rule a: -x => exp(-(x)\n    if x.rank == 1\n", 2, 18, "'(' was never closed", None,
    ),
    "open bracket in a clause": (SEMI + "rule a: -x => x\n    if (x.rank == 1\n", 3, 8, "'(' was never closed", None),
    "equation in the first column": (
        SEMI + "rule a:\n-x => x\n", 3, 1, "expected `rule`, `define` or `waive`", "indent the equation",
    ),
    "no left side": (SEMI + "rule a: => x\n", 2, 9, "an expression is missing here", None),
    "no right side": (
        SEMI + "rule a: -x =>\n\nrule b: exp(log(x)) => x\n", 2, 14, "an expression is missing here", None,
    ),
    "empty clause": (SEMI + "rule a: -x => x\n    where n =\n", 3, 14, "an expression is missing here", None),
    "number with a word behind it": (
        SEMI + "rule a: -x => x\n    if x.rank == 1and x.rank == 2\n", 3, 18, "invalid decimal literal", None,
    ),
    "syntax error": (SEMI + "rule a: x + => x\n", 2, 11, "invalid syntax", None),
    "guard behind the right side": (
        SEMI + "rule a: -x => x if x.rank == 1\n", 2, 15, "expected 'else' after 'if' expression",
        "a guard has a line of its own, below: `if ...`",
    ),
    "unmatched bracket": (SEMI + "rule a: -x => x)\n", 2, 16, "`)` closes nothing", None),
    "unknown class": (
        SEMI + "rule a @quick: -x => x\n", 2, 8, "@quick is not a class of rules",
        "one of @exact, @real, @refines, @fast",
    ),
    "name twice": (
        SEMI + "rule a: -(-x) => x\nrule a: -x => x\n", 3, 1, "the rule bad.a is defined twice", "choose another name",
    ),
    "alternative twice": (
        SEMI + "rule a for f in exp exp: f(x) => x\n", 2, 1, "the rule bad.a.exp is defined twice",
        "choose another name",
    ),
    # -- shorthands
    "shorthand without parameters": (
        SEMI + "define twice = x\n", 2, 1, "cannot read the shorthand", "write `define NAME(a, b) = term`",
    ),
    "shorthand twice": (
        SEMI + "define f(x) = x\ndefine f(y) = y\n", 3, 1, "the shorthand f is defined twice", None,
    ),
    "shorthand without end": (
        SEMI + "define f(x) = f(x)\nrule a: -x => f(x)\n", 2, 15, "the shorthand f expands without end",
        "write out some of it",
    ),
    "shorthand with too few": (SEMI + "define f(x, y) = x\nrule a: -x => f(x)\n", 3, 15, "f takes x, y", None),
    "shorthand with another name": (SEMI + "define f(x) = x\nrule a: -x => f(z=x)\n", 3, 15, "f takes x", None),
    "shorthand with a parameter twice": (
        SEMI + "define f(x, y, x) = x\n", 2, 16, "`x` is a parameter already", "choose another name",
    ),
    "shorthand with a parameter that is no name": (
        SEMI + "define f(x y) = x\n", 2, 10, "`x y` cannot be a name here", "choose a plain one",
    ),
    "shorthand with a keyword for a parameter": (
        SEMI + "define f(if) = 1\n", 2, 10, "`if` cannot be a name here", "choose a plain one",
    ),
    "shorthand without a parameter between commas": (
        SEMI + "define f(x,\n  , y) = x\n", 2, 12, "a parameter is missing here", None,
    ),
    "shorthand with a reserved parameter": (
        SEMI + "define f(self) = self\n", 2, 10, "`self` has a meaning of its own", "choose another name",
    ),
    "shorthand that hides an op": (
        SEMI + "define exp(x) = exp2(x)\n", 2, 1,
        "`exp` is an op already, semi.exp: what rules mean by it would change", "choose another name",
    ),
    "shorthand that hides a form": (
        SEMI + "define maybe(x) = x\n", 2, 1, "`maybe` has a meaning of its own", "choose another name",
    ),
    "shorthand that reads no parameter": (
        SEMI + "define f(x) = x + reshape(y, shape=x.shape)\n", 2, 27, "`y` is not bound",
        "a shorthand reads its parameters, and what every rule knows, such as self",
    ),
    "shorthand of an unknown function": (
        SEMI + "define f(x) = reshape(x, shape=unionn(x.shape, 1))\n", 2, 32,
        "no op, function or shorthand is called unionn", "did you mean union or uniform or undo?",
    ),
    "shorthand of an unknown op": (
        SEMI + "define f(x) = tahn(x)\n", 2, 15, "no op, function or shorthand is called tahn", TAN,
    ),
    "shorthand of an unknown qualified op": (
        SEMI + "define f(x) = axes.no(x)\n", 2, 15, "no op is called axes.no", None,
    ),
    "shorthand of an unknown attribute": (
        SEMI + "define f(x) = transpose(x, axis=0)\n", 2, 33, "semi.transpose has no attribute axis", PERM,
    ),
    "property of a sequence": (
        SEMI + "rule a: add(x, rest...) => x\n    if rest.rank == 1\n", 3, 8,
        "`rest` stands for several terms, which have no `.rank` together",
        "ask a term beside them, or an attribute function of yours",
    ),
    "property of a sequence in a where": (
        SEMI + "rule a: add(x, rest...) => x\n    where n = rest.shape[0]\n", 3, 15,
        "`rest` stands for several terms, which have no `.shape` together",
        "ask a term beside them, or an attribute function of yours",
    ),
    "unknown dtype": (
        SEMI + "rule a: -x => x\n    if x.dtype in ('float32', 'flaot64')\n", 3, 31, "no dtype is called 'flaot64'",
        "did you mean 'float64'?",
    ),
    "shorthand of an unknown property": (
        SEMI + "define f(x) = reshape(x, shape=x.sape)\n", 2, 32, "`.sape` is not a property rules can read",
        "did you mean shape?",
    ),
    "shorthand of what is no part of the language": (
        SEMI + "define f(x) = reshape(x, shape=[1])\n", 2, 32, "List is not part of the expression language",
        "write a tuple, such as (0, 1)",
    ),
    "shorthand of one with too few": (
        SEMI + "define f(x) = g(x)\ndefine g(x, y) = x + y\n", 2, 15, "g takes x, y", None,
    ),
    "shorthands of each other": (
        SEMI + "define f(x) = -g(x)\ndefine g(x) = h(x)\ndefine h(x) = f(x)\n", 4, 15,
        "the shorthand f expands without end", "write out some of it",
    ),
    # -- names given twice
    "attribute twice on the left": (
        SEMI + "rule a: sum(x, axes=k, axes=j) => x\n", 2, 29, "`axes` is given twice", "leave one of them out",
    ),
    "attribute twice on the right": (
        SEMI + "rule a: -x => sum(x, axes=0,\n    axes=1)\n", 3, 10, "`axes` is given twice", "leave one of them out",
    ),
    "attribute twice in a shorthand": (
        SEMI + "define f(x) = sum(x, axes=0, axes=1)\n", 2, 35, "`axes` is given twice", "leave one of them out",
    ),
    "argument twice in a guard": (
        SEMI + "rule a: sum(x, axes=k) => x\n    if size(axes=k, axes=k) == 1\n", 3, 26, "`axes` is given twice",
        "leave one of them out",
    ),
    "value of a wrapper twice": (
        SEMI + "rule a: -maybe(transpose(x, perm=p), p=1, p=2) => x\n", 2, 45, "`p` is given twice",
        "leave one of them out",
    ),
    "attributes by two stars": (
        SEMI + "rule a: sum(x, **k) => x\n", 2, 18, "** cannot stand here", "its attributes: axes",
    ),
    "keyword for a name": (
        SEMI + "rule a: -x => x\n    where if = 1\n", 3, 16, "`if` cannot be a name here", "choose a plain one",
    ),
    # -- ops
    "unknown op on the left": (
        SEMI + "rule a: tahn(x) => x\n", 2, 9, "no op is called semi.tahn or core.tahn", TAN,
    ),
    "unknown op on the right": (
        SEMI + "rule a: -x => tahn(x)\n", 2, 15, "no op is called semi.tahn or core.tahn", TAN,
    ),
    "unknown alternative": (
        SEMI + "rule a for f in exp tahn: f(x) => x\n", 2, 27, "no op is called semi.tahn or core.tahn", TAN,
    ),
    "op of another family": (
        SEMI + "rule a: standardize(x, axes=k) => x\n", 2, 9, "no op is called semi.standardize or core.standardize",
        "the families with an op standardize: simple, axes",
    ),
    "unknown shorthand": (
        SEMI + "define twice(x) = x + x\nrule a: -x => twise(x)\n", 3, 15,
        "no op is called semi.twise or core.twise", "did you mean twice or bitwise_or or bitwise_xor?",
    ),
    "unknown op like no other": (
        SEMI + "rule a: zzzz(x) => x\n", 2, 9, "no op is called semi.zzzz or core.zzzz", None,
    ),
    "attribute of an op without": (
        SEMI + "rule a: exp(x, axis=k) => x\n", 2, 21, "semi.exp has no attribute axis", "it has no attributes",
    ),
    "unknown qualified op": (SEMI + "rule a: axes.no(x) => x\n", 2, 9, "no op is called axes.no", None),
    "call of a call": (SEMI + "rule a: f(x)(y) => x\n", 2, 9, "only an op can be called here", None),
    "too many arguments": (SEMI + "rule a: exp(x, y) => x\n", 2, 9, "semi.exp takes 1 argument, not 2", None),
    "too few of any number": (
        SEMI + "rule a: -x => concat(axis=0)\n", 2, 15, "semi.concat takes at least 1 argument, not 0", None,
    ),
    "unknown attribute on the left": (
        SEMI + "rule a: transpose(x, axis=k) => x\n", 2, 27, "semi.transpose has no attribute axis", PERM,
    ),
    "unknown attribute on the right": (
        SEMI + "rule a: -x => transpose(x, axis=0)\n", 2, 33, "semi.transpose has no attribute axis", PERM,
    ),
    "missing attribute": (
        SEMI + "rule a: -x => transpose(x)\n", 2, 15, "semi.transpose needs the attribute perm", "write perm=...",
    ),
    # -- the left side
    "left side a variable": (
        SEMI + "rule a: x => x\n", 2, 9, "the left side must be an op applied to patterns", "write an op around it",
    ),
    "left side a number": (
        SEMI + "rule a: 3 => 3\n", 2, 9, "the left side must be an op applied to patterns", "write an op around it",
    ),
    "not a pattern": (SEMI + "rule a: 'a' + y => y\n", 2, 9, "not a pattern", PATTERN),
    "chained comparison": (SEMI + "rule a: x < y < z => x\n", 2, 9, "not a pattern", PATTERN),
    "reserved variable": (
        SEMI + "rule a: self + x => x\n", 2, 9,
        "`self` is the matched term, and cannot be a variable", "choose another name",
    ),
    "reserved attribute": (
        SEMI + "rule a: transpose(x, perm=target) => x\n", 2, 27,
        "`target` is what the rules run for, and cannot be bound", "choose another name",
    ),
    "adjoint bound": (
        "derive axes\nrule a: flatten(x, axes=d) => x\n", 2, 9, "`d` is the incoming adjoint and cannot be bound",
        "use another name",
    ),
    "one name for two things": (
        SEMI + "rule a: transpose(x, perm=x) => x\n", 2, 9, "`x` names a term and an attribute", "use two names",
    ),
    "attribute of bound names": (
        SEMI + "rule a: transpose(x, perm=(p, 0)) => x\n", 2, 28, "`p` is not bound",
        "write perm= with a name of its own here, and compare that in the guard",
    ),
    "sequence of one": (
        SEMI + "rule a: exp(x...) => x\n", 2, 9, "semi.exp takes 1 argument: a sequence cannot stand here",
        "it may among the operands of an associative op",
    ),
    "a term and several": (
        SEMI + "rule a: add(x..., exp(x)) => exp(x)\n",
        2,
        13,
        "`x` stands for one term and for several",
        "use two names",
    ),
    "sequence of patterns": (
        SEMI + "rule a: concat((-x)..., axis=k) => x\n", 2, 16, "a sequence on the left is a variable: `x...`", None,
    ),
    "misspelt dtype in a pattern": (
        SEMI + "rule a: cast(x, dtype='floof') => x\n", 2, 23, "no dtype is called 'floof'",
        "one of bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64",
    ),
    "dtype without quotes": (
        SEMI + "rule a: cast(x, dtype=float32) => x\n", 2, 23,
        "`float32` is a dtype, and here it would be a variable that stands for any dtype",
        "write dtype='float32', or choose another name",
    ),
    "misspelt op of a base": (
        SEMI + "rule a: -x => x\n    if x.rank == 0 and 'cpu.gem' not in target.base\n", 3, 24,
        "no op is called 'cpu.gem'", "did you mean 'cpu.gemm'?",
    ),
    "misspelt family of a base": (
        SEMI + "rule a: -x => x\n    where k = 1 if 'cpuu.gemm' in target.base else 0\n", 3, 20,
        "no op is called 'cpuu.gemm'", "did you mean 'cpu.gemm'?",
    ),
    # -- the right side
    "unbound variable": (SEMI + "rule a: -x => y\n", 2, 15, "`y` is not bound by the left side", USE),
    "adjoint outside derive": (SEMI + "rule a: -x => d\n", 2, 15, "`d` is not bound by the left side", USE),
    "attribute as a term": (
        SEMI + "rule a: cumsum(x, axis=k, reverse=r) => x + k\n", 2, 45,
        "`k` is an attribute, or computed of some, and no term",
        "if it is a number, fill a constant with it: `constant(value=literal(k, x.dtype), axes=axes_of())`",
    ),
    "not a term": (SEMI + "rule a: -x => x.shape\n", 2, 15, "not a term", TERM),
    "sequence as a term": (
        SEMI + "rule a: concat(x..., axis=k) => x\n", 2, 33, "`x` stands for several terms",
        "write `x...` among arguments",
    ),
    "sequence as a right side": (
        SEMI + "rule a: concat(x..., axis=k) => x...\n", 2, 33, "a rule has one term on its right",
        "a sequence stands among arguments",
    ),
    "sequence in a let": (
        SEMI + "rule a: concat(x..., axis=k) => e\n    let e = x...\n", 3, 13, "a let names one term",
        "a sequence stands among arguments",
    ),
    "sequence that a let names": (
        SEMI + "rule a: exp(x) => e\n    let e... = x\n", 3, 16, "a let names one term",
        "a sequence stands among arguments",
    ),
    "sequence of one term": (
        SEMI + "rule a: x + y + z... => add(x..., z...)\n", 2, 29, "`...` stands behind what names no sequence",
        "leave it out, or name one inside",
    ),
    "sequence as one of several right sides": (
        SEMI + "rule a: concat(x..., axis=k), concat(x..., axis=j) => x..., concat(x..., axis=j)\n", 2, 55,
        "several terms for one left side", "a sequence stands among arguments",
    ),
    "one adjoint for several terms": (
        "derive semi\nrule a: concat(x..., axis=k) => d\n", 2, 33,
        "one adjoint for a variable that stands for several terms", "write `...` behind it",
    ),
    "several adjoints for one term": (
        "derive semi\nrule a: x % y => d..., -d\n", 2, 18,
        "several adjoints for a variable that stands for one term", "leave out `...`",
    ),
    "too few adjoints": (
        "derive axes\nrule a: x + y => d\n", 2, 18, "1 adjoints for the variables x, y", "write one for each",
    ),
    # -- clauses
    "clause that is none": (
        SEMI + "rule a: -(-x) => x\n    whre n = 1\n", 3, 5, "`whre` begins no clause", CLAUSES,
    ),
    "guard that is none": (SEMI + "rule a: -x => exp(x)\n    when (g)\n", 3, 5, "`when` begins no clause", CLAUSES),
    "second clause that is none": (
        SEMI + "rule a: -x => x\n    if x.rank == 1\n    iff x.rank == 2\n", 4, 5, "`iff` begins no clause", CLAUSES,
    ),
    "clause without a name": (
        SEMI + "rule a: -x => x\n    where = 1\n", 3, 5, "cannot read the clause", "write `where NAME = ...`",
    ),
    "two guards": (
        SEMI + "rule a: -x => x\n    if x.rank == 1\n    if x.rank == 2\n", 4, 8, "a rule has one guard",
        "join the two with `and`",
    ),
    "unbound in a guard": (SEMI + "rule a: -x => x\n    if y.rank == 1\n", 3, 8, "`y` is not bound", BIND),
    "term in a guard": (
        SEMI + "rule a: -x => x\n    let e = exp(x)\n    if e.rank == 1\n", 4, 8, "`e` is not bound", BIND,
    ),
    "bound already": (
        SEMI + "rule a: -x => x\n    let x = exp(x)\n", 3, 13, "`x` is bound already", "choose another name",
    ),
    "reserved clause": (
        SEMI + "rule a: -x => x\n    where self = 1\n", 3, 18, "`self` is bound already", "choose another name",
    ),
    "let before its part": (
        SEMI + "rule a: -x => a\n    let a = b\n    let b = x\n", 3, 13, "`b` is not bound by the left side", USE,
    ),
    # -- the expression language
    "unregistered function": (
        SEMI + "rule a: -x => transpose(x, perm=open('f'))\n", 2, 33, "`open` is not an attribute function",
        "use a registered one, or register yours with ng.attribute_function",
    ),
    "too few arguments of a function": (
        SEMI + "rule a: transpose(x, perm=p) => x\n    if is_identity()\n", 3, 8,
        "`is_identity` cannot be called so: missing a required argument: 'perm'", "it takes perm",
    ),
    "unknown argument of a function": (
        SEMI + "rule a: transpose(x, perm=p) => x\n    if is_identity(p, axes=p)\n", 3, 8,
        "`is_identity` cannot be called so: got an unexpected keyword argument 'axes'", "it takes perm",
    ),
    "too many arguments of a function in a shorthand": (
        SEMI + "define same(p) = is_identity(p, p)\n", 2, 18,
        "`is_identity` cannot be called so: too many positional arguments", "it takes perm",
    ),
    "method": (
        SEMI + "rule a: -x => transpose(x, perm=x.shape.index(1))\n", 2, 33, "only attribute functions can be called",
        "register one with ng.attribute_function",
    ),
    "private property": (
        SEMI + "rule a: -x => transpose(x, perm=x.__class__)\n", 2, 33, "`.__class__` is not a property rules can read",
        PROPERTIES,
    ),
    "list": (
        SEMI + "rule a: -x => transpose(x, perm=[1, 0])\n", 2, 33, "List is not part of the expression language",
        "write a tuple, such as (0, 1)",
    ),
    "lambda": (
        SEMI + "rule a: -x => transpose(x, perm=lambda: 1)\n", 2, 33, "Lambda is not part of the expression language",
        None,
    ),
    "complex constant": (
        SEMI + "rule a: -x => transpose(x, perm=1j)\n", 2, 33, "the constant 1j is not part of the expression language",
        None,
    ),
    "starred argument": (
        SEMI + "rule a: -x => transpose(x, perm=lengths(*x))\n", 2, 33,
        "* and ** arguments are not part of the expression language", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_shown_where_it_is(mistake: str) -> None:
    text, line, column, says, do = MISTAKES[mistake]
    with pytest.raises(RuleFileError) as caught:
        parse_rules(text, "bad.rules", "bad")
    shown = (text.splitlines() or [""])[line - 1]
    expected = f"bad.rules:{line}:{column}: {says}\n    {shown}\n    {' ' * (column - 1)}^"
    assert str(caught.value) == expected + (f"\n  {do}" if do else "")


def test_what_python_warns_of_in_a_text_is_refused() -> None:
    with pytest.raises(RuleFileError, match=r"bad\.rules:3:.*invalid escape sequence"):
        parse_rules(SEMI + "rule a: -x => x\n    if x.dtype == 'flo\\dat32'\n", "bad.rules", "bad")


# -- waivers --------------------------------------------------------------------------------------------

WAIVED = """
rule a: -(-x) => x
rule b for f in exp log: f(-(-x)) => f(x)
waive confluence of a and other.rule: either is right,   # and why
    as both are short
waive guard of b.exp: it asks for speed alone
"""


def test_a_waiver_stands_with_the_rules_it_speaks_of() -> None:
    a, exp, log = parse_rules(SEMI + WAIVED, "my.rules", "my")
    (waiver,) = a.waivers
    assert (waiver.check, waiver.rule, waiver.other) == ("confluence", "my.a", "other.rule")
    assert waiver.reason == "either is right, as both are short"
    assert [w.check for w in exp.waivers] == ["guard"] and not log.waivers


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("waive a: no check", "cannot read the waiver"),
        ("waive guard of a:", "the waiver gives no reason"),
        ("waive types of a: never", "types cannot be waived"),
        ("waive termination of a: never", "termination cannot be waived"),
        ("waive typos of a: never", "no check is called typos"),
        ("waive guard of nobody: never", "the file has no rule called bad.nobody"),
        ("waive guard of other.a: never", "the file has no rule called bad.other.a"),
        ("waive confluence of a and nobody: never", "the file has no rule called bad.nobody"),
    ],
)
def test_a_wrong_waiver_is_shown_where_it_is(text: str, says: str) -> None:
    with pytest.raises(RuleFileError, match=rf"^bad\.rules:3:1: {says}"):
        parse_rules(f"{SEMI}rule a: -(-x) => x\n{text}\n", "bad.rules", "bad")


def test_a_null_byte_is_refused_in_its_line() -> None:
    with pytest.raises(RuleFileError, match=r"bad\.rules:2:\d+: .*null byte"):
        parse_rules(SEMI + "rule a: exp(\0x) => x\n", "bad.rules", "bad")


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.rules"
    path.write_bytes(b"simplify semi  # \xe9\n")
    with pytest.raises(RuleFileError, match=r"latin.rules is not text in UTF-8"):
        load_rules(path)


# -- what is read right -----------------------------------------------------------------------------


def test_a_rule_says_where_it_stands_and_what_it_is() -> None:
    rules = parse_rules(SEMI + "\n# algebra\nrule twice @real: -(-x)  =>  x  # an involution\n", "my.rules", "my")
    (rule,) = rules
    assert (rule.name, rule.grade, rule.place, rule.text) == ("my.twice", "real", "my.rules:4", "-(-x) => x")


def test_a_qualified_name_is_of_any_family_on_either_side() -> None:
    text = "lower axes -> semi\nrule a: semi.exp(axes.sin(tanh(x))) => axes.cos(semi.log(tanh(x)))\n"
    (rule,) = parse_rules(text, "my.rules", "my")
    made = [part.definition.name for part in subtemplates(rule.right[0]) if isinstance(part, Build)]
    assert [part.definition.name for part in subpatterns(rule.left) if isinstance(part, App)] == [
        "semi.exp", "axes.sin", "axes.tanh",
    ]  # fmt: skip
    assert made == ["axes.cos", "semi.log", "semi.tanh"]


@pytest.mark.parametrize(
    ("header", "kind", "grade"),
    [
        ("simplify semi", "simplify", "exact"),
        ("select semi", "select", "exact"),
        ("lower semi", "lower", "real"),
        ("recognize semi", "recognize", "real"),
        ("derive semi", "derive", "real"),
    ],
)
def test_each_kind_of_file_has_a_class_of_its_own(header: str, kind: str, grade: str) -> None:
    (rule,) = parse_rules(f"{header}\nrule a: -(-x) => x\n", "my.rules", "my")
    assert (rule.kind, rule.grade) == (kind, grade)


def test_alternatives_make_a_rule_each() -> None:
    rules = parse_rules(SEMI + "rule even for f in cos absolute: f(-x) => f(x)\n", "my.rules", "my")
    assert [r.name for r in rules] == ["my.even.cos", "my.even.absolute"]
    assert [r.left.definition.name for r in rules] == ["semi.cos", "semi.absolute"]
    assert rules.rules[0].text == "f(-x) => f(x)   [f = cos]"


def test_patterns_are_variables_numbers_sequences_and_ops() -> None:
    (rule,) = parse_rules(SEMI + "rule a: concat(x..., y * 2, axis=k) => y\n", "my.rules", "my")
    sequence, product = rule.left.args
    assert isinstance(sequence, SeqVar) and isinstance(product, App)
    assert isinstance(product.args[0], Var) and product.args[1] == Num(2)
    assert rule.left.binds == (("axis", "k"),)


def test_a_constant_attribute_is_compared() -> None:
    (rule,) = parse_rules(SEMI + "rule a: transpose(x, perm=(1, 0)) => x\n", "my.rules", "my")
    assert [(a, e.text) for a, e in rule.left.compares] == [("perm", "(1, 0)")]


def test_a_negative_number_is_a_number() -> None:
    (rule,) = parse_rules(SEMI + "rule a: x + -0.0 => x\n", "my.rules", "my")
    assert str(rule.left) == "add(x, -0.0)"


def test_shorthands_expand_in_terms_and_in_attributes() -> None:
    text = SEMI + (
        "define twice(x) = x + x\n"
        "define swapped(x, p) = transpose(twice(x), perm=p)\n"
        "rule a: transpose(-x, perm=q) => swapped(x, p=q)\n"
    )
    (rule,) = parse_rules(text, "my.rules", "my")
    built = rule.right[0]
    assert isinstance(built, Build) and built.definition.name == "semi.transpose"
    assert [str(e) for _, e in built.attributes] == ["q"]
    assert isinstance(built.args[0], Build) and built.args[0].definition.name == "semi.add"


def test_a_line_may_be_continued_inside_brackets_and_after_an_indent() -> None:
    text = SEMI + "rule a:\n    transpose(x,\n              perm=p)\n        =>  x\n    if p == (0,\n          1)\n"
    (rule,) = parse_rules(text, "my.rules", "my")
    assert rule.guard is not None and rule.guard.text == "p == (0, 1)"


def test_right_names_belong_to_the_second_family() -> None:
    (rule,) = parse_rules(
        "lower axes -> semi\nrule a: tanh(x) => label(tanh(strip(x)), axes=self.axes)\n", "my.rules", "my"
    )
    built = rule.right[0]
    assert isinstance(built, Build) and isinstance(built.args[0], Build)
    assert (built.definition.name, built.args[0].definition.name) == ("core.label", "semi.tanh")


def test_text_in_quotes_is_not_a_comment() -> None:
    (rule,) = parse_rules(SEMI + "rule a: -x => x\n    if target.name == '#' or x.dtype == 'int8'\n", "my.rules", "my")
    assert rule.guard is not None and rule.guard.text == "target.name == '#' or x.dtype == 'int8'"


def test_a_shorthand_stands_on_either_side() -> None:
    """It is expanded before patterns are read, so it may have variables, attributes and alternatives in it."""
    short = """simplify semi
define twice(x) = x + x
define turned(x, p) = transpose(x, perm=p)
rule a: turned(twice(y), p) => twice(turned(y, p))
"""
    long = """simplify semi
rule a: transpose(y + y, perm=p) => transpose(y, perm=p) + transpose(y, perm=p)
"""
    (one,), (other,) = (parse_rules(text, "f.rules", "f") for text in (short, long))
    assert (str(one.left), one.right) == (str(other.left), other.right)


def test_what_alternatives_have_in_common_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each alternative was parsed, and shorthands in it replaced, anew."""
    read: list[str] = []

    def noted(piece: Any) -> Any:
        read.append(str(piece))
        return parsing.parse_piece(piece)

    monkeypatch.setattr(rulefile, "parse_piece", noted)
    monkeypatch.setattr(reading_names, "parse_piece", noted)
    text = """simplify semi
define twice(x) = x + x
rule r for f in exp log tanh sin cos:
    f(y)  =>  twice(n)
    let n = f(y)
    if y.rank == 1
"""
    assert len(parse_rules(text, "r.rules", "r")) == 5
    assert sorted(read) == ["f(y)", "f(y)", "twice(n)", "x + x", "y.rank == 1"]
