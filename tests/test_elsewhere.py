# SPDX-License-Identifier: Apache-2.0
"""A name that ng or ng.simple lacks is an error that says where the function is, as ng.numpy's are."""

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.frontend import elsewhere


@pytest.mark.parametrize(("name", "says"), [
    ("cumsum", "ng.numpy.cumsum goes by position"), ("matmul", "use ng.dot"), ("dropout", "ng.uniform"),
    ("grad", "ng.deriv"), ("placholder", "did you mean ng.placeholder"), ("special", "use ng.numpy.special"),
    ("Relu", "use ng.relu$"), ("swish", "use ng.silu"), ("erfc", "ng.numpy.special.erfc goes by position"),
    ("float32", "use ng.numpy.float32"), ("pi", "use ng.numpy.pi"), ("clamp", "ng.numpy.clip goes by position"),
])  # fmt: skip
def test_names_that_ng_lacks(name: str, says: str) -> None:
    with pytest.raises(errors.MissingMethodError, match=f"^ng has no {name}\n.*test_elsewhere.py.*\n.*{says}"):
        getattr(ng, name)


@pytest.mark.parametrize(("name", "says"), [
    ("sinh", "np.sinh of a term keeps its marks"), ("silu", "ng.silu takes terms with marks, too"), ("jit", "compiles"),
    ("cumsum", "ng.numpy.cumsum goes by position, and forgets marks"), ("vriable", "did you mean ng.simple.variable"),
    ("var", "use ng.simple.variance"), ("swish", "ng.silu takes terms with marks, too"),
    ("matmul", "use ng.simple.dot"), ("newaxis", "use ng.numpy.newaxis"),
])  # fmt: skip
def test_names_that_simple_lacks(name: str, says: str) -> None:
    with pytest.raises(errors.MissingMethodError, match=f"^ng.simple has no {name}\n.*test_elsewhere.py.*\n.*{says}"):
        getattr(ng.simple, name)


def test_what_is_said_of_marks_holds() -> None:
    x = ng.simple.placeholder((3, ng.simple.N))
    assert ng.silu(x).type == x.type


@pytest.mark.parametrize("module", [ng, ng.simple])
def test_python_looks_for_names_of_its_own(module: object) -> None:
    assert not hasattr(module, "__wrapped__")
    assert not hasattr(module, "no_such_name_at_all")


def test_no_advice_is_of_a_name_that_is_there() -> None:
    assert not set(elsewhere._BY_NAME) & set(ng.__all__)
