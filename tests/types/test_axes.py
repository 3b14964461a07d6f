# SPDX-License-Identifier: Apache-2.0
"""Axes are an ordered set: the laws of their algebra, and what each mistake is told."""

from __future__ import annotations

import copy
import gc
import math
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.errors import (
    ArgumentError,
    AxesError,
    DuplicateAxisNames,
    ImmutableError,
    IncompatibleAxesError,
    OutOfRangeError,
    UnmatchedAxesError,
)
from ngraph_rewrite.types.axes import Axes, Axis, anonymous, make_axes, make_axis
from ngraph_rewrite.types.lengths import Length

drawn = settings(max_examples=60, deadline=None)
# One length for each name: axes that meet never disagree.
POOL = [Axis(n, k) for n, k in {"C": 3, "H": 2, "W": 0, "N": None, "REC": 4, "é": 1}.items()]
SETS = st.lists(st.sampled_from(POOL), unique=True, max_size=6).map(Axes)
H, W, N = Axis("H", 2), Axis("W", 3), Axis("N", 4)


@drawn
@given(SETS, SETS)
def test_the_left_operand_gives_the_order(a: Axes, b: Axes) -> None:
    assert list(a - b) == [x for x in a if x not in b]
    assert list(a & b) == [x for x in a if x in b]
    assert list(a | b) == [*a, *(x for x in b if x not in a)]


@drawn
@given(SETS, SETS)
def test_sums_are_of_disjoint_sets(a: Axes, b: Axes) -> None:
    if a & b:
        with pytest.raises(DuplicateAxisNames, match="would stand twice"):
            a + b
    else:
        assert a + b == a | b
        assert list(a + b) == [*a, *b]


@drawn
@given(SETS, SETS, SETS)
def test_the_laws_of_sets(a: Axes, b: Axes, c: Axes) -> None:
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)
    assert (a - b) + (a & b) == (a - b) | a - (a - b)
    assert a | a == a & a == a - Axes() == a
    assert a - a == Axes()
    assert (a - b).is_sub_set(a) and (a | b).is_super_set(b)
    assert (a | b).is_equal_set(b | a)
    assert a.is_sub_set(b) == (not a - b)


@drawn
@given(SETS)
def test_a_set_is_a_sequence_of_its_axes(a: Axes) -> None:
    assert len(a) == len(list(a)) == len(a.names) == len(a.lengths)
    for i, axis in enumerate(a):
        assert a[i] is axis and a.index(axis) == a.index(str(axis.name)) == i
        assert a.get_by_names(str(axis.name)) is axis
    assert a[:2] + a[2:] == a
    assert a.size == math.prod(a.lengths)
    assert Axes(list(a)) == a and hash(Axes(list(a))) == hash(a)


@drawn
@given(SETS)
def test_roles_divide_a_set(a: Axes) -> None:
    assert a.batch_axes().is_equal_set(a - a.sample_axes())
    assert a.batch_axis() == a.find("N")
    assert a.recurrent_axis() == a.find("REC")
    assert a.channel_axis() == a.find("C")
    assert a.feature_axes().names == tuple(n for n in a.names if n not in ("N", "REC"))
    assert a.spatial_axes().names == tuple(n for n in a.names if n not in ("N", "REC", "C"))


def test_order_counts_in_equality_and_not_in_set_equality() -> None:
    assert Axes([H, W]) != Axes([W, H])
    assert Axes([H, W]).is_equal_set([W, H])
    assert Axes([H]) != [H]


def test_lengths_and_roles_count_in_the_equality_of_axes() -> None:
    assert Axis("H", 2) == H and hash(Axis("H", 2)) == hash(H)
    assert Axis("H", 3) != H
    assert Axis("H", 2, roles="sample") != H
    assert len({Axis("H", 2), H}) == 1


def test_the_reserved_names_carry_roles_unless_told_otherwise() -> None:
    assert Axis("N").is_sample and Axis("REC").is_recurrent and Axis("C", 1).is_channel
    assert not Axis("N", 3, roles=()).is_sample
    assert Axis("batch", 3, roles="sample").is_sample
    assert make_axis(3, name="N", roles=["sample", "mine"]).roles == {"sample", "mine"}


def test_a_zero_length_sample_axis_is_still_one() -> None:
    assert Axes([Axis("N", 0)]).batch_axis() == Axis("N", 0)


def test_an_unknown_length_is_a_symbol_of_the_axis_name() -> None:
    assert Axis("N").length == Length.symbol("N")
    assert Axes([Axis("N"), H]).bound({"N": 5}) == Axes([Axis("N", 5), H])
    assert Axes([Axis("N"), H]).size == 2 * Length.symbol("N")


def test_what_can_be_made_into_axes() -> None:
    assert make_axes({"H": 2, "W": 3}) == Axes([H, W]) == Axes(a for a in (H, W))
    assert Axes(H) == Axes([H])
    assert Axes(None) == Axes(()) == Axes()
    assert H + W == Axes([H, W]) == H | W
    assert [H] + Axes(W) == Axes([H, W])
    assert H - H == Axes() and H & H == Axes(H)


def test_a_nested_list_becomes_one_flattened_axis() -> None:
    flat = Axes([[H, W], N])
    assert flat.lengths == (6, 4)
    assert flat[0].components == Axes([H, W])
    assert flat[0] == Axis.flattened([H, W]) == Axes([H, W]).flatten()
    assert Axis.flattened([H]) != Axis.flattened([H, Axis("K", 1)])
    assert Axes(H).flatten() == H and Axes(H).flatten(force=True) == Axis.flattened(H)
    assert not Axis.flattened([N]).is_sample


def test_binding_reaches_the_parts_of_a_flattened_axis() -> None:
    flat = Axes([[Axis("N"), H]]).bound({"N": 3})
    assert flat == Axes([[Axis("N", 3), H]])
    assert flat.lengths == (6,)


def test_anonymous_axes_are_never_the_same() -> None:
    plain = anonymous([2, 2])
    assert plain.names == ("_", "_")
    assert plain & plain == Axes() and plain - plain == plain
    assert not plain.named and Axes().named
    assert plain.find(None) is None


@pytest.mark.parametrize(
    "length", [math.nan, math.inf, 2.0, "3", True, np.True_, np.array([1, 2]), np.array(2.5), [3]], ids=repr
)
def test_a_length_is_an_integer(length: object) -> None:
    with pytest.raises(AxesError, match="axis H has length .*\n  a length is a non-negative integer"):
        Axis("H", length)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [np.int8(3), np.uint64(3), np.array(3)], ids=repr)
def test_numpy_integers_become_integers(length: object) -> None:
    assert type(Axis("H", length).length) is int  # type: ignore[arg-type]


def test_a_length_is_not_negative() -> None:
    with pytest.raises(AxesError, match="axis H has the negative length -1"):
        Axis("H", -1)


@pytest.mark.parametrize("name", ["", 3, b"H"], ids=repr)
def test_a_name_is_a_string(name: object) -> None:
    with pytest.raises(AxesError, match="a non-empty string or None"):
        Axis(name, 3)  # type: ignore[arg-type]


def test_who_gives_no_lengths_is_told() -> None:
    with pytest.raises(AxesError, match=r"(?s)3 are no lengths.*give a list of them"):
        anonymous(3)  # type: ignore[arg-type]


def test_an_anonymous_axis_has_a_length() -> None:
    with pytest.raises(AxesError, match="or None with a name"):
        Axis(None)


def test_one_name_stands_once() -> None:
    with pytest.raises(DuplicateAxisNames, match="cannot contain H twice\n  rename"):
        Axes([H, W, Axis("H", 3)])


def test_one_name_has_one_length() -> None:
    other = Axis("H", 3)
    for combine in (Axes.__sub__, Axes.__and__, Axes.__or__, Axes.__add__):
        with pytest.raises(IncompatibleAxesError, match="axis H has length 2 and 3"):
            combine(Axes([W, H]), other)


@pytest.mark.parametrize("thing", ["H", 3, np.array(3), [3.0], [True], ["H"], [{"H": 2}]], ids=repr)
def test_only_axes_are_made_into_axes(thing: object) -> None:
    with pytest.raises(AxesError, match="(cannot|tried to) make axes"):
        Axes(thing)  # type: ignore[arg-type]


def test_lengths_alone_make_axes_without_names() -> None:
    assert Axes([3, None]).lengths == (3, Length.symbol("n1"))
    assert Axes([None, None]) == Axes([None, None])
    assert not Axes([3]).named


def test_a_missing_axis_is_named() -> None:
    one = Axes([H])
    for look in (lambda: one.get_by_names("H", "W", "K"), lambda: one.index("W"), lambda: one.index(W)):
        with pytest.raises(UnmatchedAxesError, match=r"Axes\(H:2\) has no axis W"):
            look()
    assert Axes([H, W]).get_by_names("W", "H") == Axes([W, H])


@pytest.mark.parametrize("roles", [3, [None], np.array("sample"), True], ids=repr)
def test_a_role_is_a_string(roles: object) -> None:
    with pytest.raises(AxesError, match="axis H has the roles"):
        Axis("H", 3, roles)  # type: ignore[arg-type]


def test_what_is_no_place_or_name_of_an_axis_is_refused() -> None:
    axes = Axes([Axis("H", 3)])
    with pytest.raises(OutOfRangeError, match=r"Axes\(H:3\) has no axis 1\n  there are 1"):
        axes[1]
    with pytest.raises(ArgumentError, match=r"'H' is no place in Axes\(H:3\)"):
        axes["H"]  # type: ignore[call-overload]
    for wrong in (None, 3, np.zeros(2)):
        with pytest.raises(UnmatchedAxesError, match="has no axis"):
            axes.index(wrong)  # type: ignore[arg-type]
        with pytest.raises(UnmatchedAxesError, match="has no axis"):
            axes.get_by_names(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("attribute", ["length", "name", "roles"])
def test_an_axis_does_not_change(attribute: str) -> None:
    with pytest.raises(ImmutableError, match=f"immutable: {attribute} of H:2 cannot be set"):
        setattr(H, attribute, 5)
    assert Axis("H", 2) == H
    assert H.with_length(5) == Axis("H", 5) and N.renamed("M") == Axis("M", 4, roles="sample")


# -- equal axes are one object --------------------------------------------------------------------


@drawn
@given(SETS)
def test_equal_axes_are_the_same_object_however_they_were_made(a: Axes) -> None:
    again = Axes([Axis(x.name, x.length, x.roles) for x in a])
    assert again is a and Axes(iter(a)) is a and a[:] is a and a | a is a
    assert copy.copy(a) is a


@drawn
@given(SETS, SETS)
def test_axes_are_equal_only_if_all_their_parts_are(a: Axes, b: Axes) -> None:
    assert (a == b) == (tuple(a) == tuple(b))
    assert Axes([Axis("H", 2, ())]) != Axes([Axis("H", 2, "channel")]) != Axes([Axis("H", 3, "channel")])


def test_threads_that_make_the_same_axes_at_once_get_the_same_object() -> None:
    def made(start: Barrier, count: int) -> list[Axes]:
        start.wait()
        return [Axes([Axis("thread", n)]) for n in range(count)]

    start = Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        found = [f.result() for f in [pool.submit(made, start, 300) for _ in range(8)]]
    assert all(one is other for own in found for one, other in zip(own, found[0], strict=True))


def test_axes_that_nobody_holds_are_forgotten() -> None:
    watched = weakref.ref(Axes([Axis("forgotten", 5)]))
    gc.collect()
    assert watched() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_may_fork_while_another_thread_makes_axes() -> None:
    program = """
import os, threading
import ngraph_rewrite as ng

over = threading.Event()

def many():
    i = 0
    while not over.is_set():
        i += 1
        ng.anonymous([i, i + 1])

thread = threading.Thread(target=many)
thread.start()
for k in range(20):
    child = os.fork()
    if child == 0:
        ng.anonymous([10**7 + k, 3])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.set()
thread.join()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=120)
