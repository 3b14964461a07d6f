# SPDX-License-Identifier: Apache-2.0
"""What is immutable is its own copy; types and axes go through pickle, terms and what runs say why they do not."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.types.sorts import SortType
from ngraph_rewrite.types.tuples import TupleType

H, W, N = ng.Axis("H", 3), ng.Axis("W", 4, roles="own"), ng.Axis("N")
TYPES: list[Any] = [
    H,
    N,
    ng.Axis(None, 2),
    ng.Axis.flattened([H, W]),
    ng.Axes([N, H, W]),
    N.length,
    ng.TensorType("bfloat16", [N, H]),
    TupleType([ng.TensorType("int64"), ng.TensorType("bool", [W])]),
    SortType("peano", "Zero", frozenset(["Nat"])),
]


@pytest.mark.parametrize("one", TYPES, ids=repr)
def test_types_go_through_pickle_and_copies(one: Any) -> None:
    pickled = pickle.loads(pickle.dumps(one))  # noqa: S301  (of this test)
    for found in (pickled, copy.copy(one), copy.deepcopy(one)):
        assert found == one and hash(found) == hash(one) and repr(found) == repr(one)


def test_what_was_pickled_is_equal_in_another_process() -> None:
    """Hashes of names are others there, and are not pickled."""
    code = (
        "import pickle, sys, ngraph_rewrite as ng\n"
        "H, W = ng.Axis('H', 3), ng.Axis('W', 4, roles='own')\n"
        "axes, type_ = pickle.loads(sys.stdin.buffer.read())\n"
        "assert {H: 1}[axes[0]] and axes == ng.Axes([H, W])\n"
        "assert {ng.TensorType('int8', [ng.Axis('N'), H]): 1}[type_]\n"
    )
    given = pickle.dumps((ng.Axes([H, W]), ng.TensorType("int8", [N, H])))
    environment = {**os.environ, "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}
    subprocess.run([sys.executable, "-c", code], input=given, env=environment, check=True)


def test_a_term_is_its_own_copy_and_is_not_pickled() -> None:
    x = ng.variable([H], name="x")
    model = {"weights": [x, x + 1], "axis": H}
    assert copy.copy(x) is x and copy.deepcopy(model)["weights"] == model["weights"]
    with pytest.raises(ng.ArgumentError, match="x is a term, and terms cannot be pickled") as found:
        pickle.dumps(model)
    assert "test_copies.py" in str(found.value)


@pytest.mark.parametrize("what", ["transformer", "computation"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_what_belongs_to_a_process_is_neither_copied_nor_pickled(target: str, copied: Any, what: str) -> None:
    """A copy shared storage, and closed it for both."""
    x = ng.placeholder([H])
    with ng.make_transformer(target) as transformer:
        one = {"transformer": transformer, "computation": transformer.computation(x + 1, x)}
        with pytest.raises(ng.ArgumentError, match=f"a {what} cannot be copied or pickled") as found:
            copied(one[what])
        assert "test_copies.py" in str(found.value)
        assert one["computation"]([1, 2, 3]).tolist() == [2, 3, 4]


# -- nothing of them can be set or deleted: they are shared ----------------------------------------------

IDENTITY = ["args", "attrs", "definition", "info", "type"]


@pytest.mark.parametrize("one", TYPES, ids=repr)
def test_nothing_of_a_type_can_be_set_or_deleted(one: Any) -> None:
    said, number = repr(one), hash(one)
    slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ()) if name != "__weakref__"]
    assert slots
    for name in (*slots, "another"):
        with pytest.raises(ng.ImmutableError, match=f"immutable: {name} of {re.escape(said)} cannot be set"):
            setattr(one, name, None)
        with pytest.raises(ng.ImmutableError, match=f"immutable: {name} of {re.escape(said)} cannot be deleted"):
            delattr(one, name)
    assert repr(one) == said and hash(one) == number


def test_the_type_of_one_term_does_not_become_that_of_another() -> None:
    h, w = (ng.placeholder([ng.Axis("H", 3)]) for _ in range(2))
    with pytest.raises(AttributeError, match="make another one: with_dtype"):
        (h + 1).type.dtype = "float64"
    assert (w + 1).type == ng.TensorType("float32", {"H": 3})


@pytest.mark.parametrize("name", [*IDENTITY, "name", "shape", "T", "sum", "another"])
def test_nothing_of_a_term_can_be_set_or_deleted(name: str) -> None:
    x = ng.placeholder([ng.Axis("H", 3)], name="x")
    for term in (x, x + 1, ng.strip(x) + 1, x.named("y"), ng.value_of(ng.variable([H])), *ng.make_tuple(x, x)):
        before = [getattr(term, slot) for slot in IDENTITY]
        with pytest.raises(ng.ImmutableError, match=f"{name} of .* cannot be set\n  at .*test_copies.py") as found:
            setattr(term, name, None)
        assert str(found.value).startswith("a term is immutable") and "named(...)" in str(found.value)
        with pytest.raises(ng.ImmutableError, match=f"{name} of .* cannot be deleted"):
            delattr(term, name)
        assert [getattr(term, slot) for slot in IDENTITY] == before
