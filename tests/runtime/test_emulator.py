# SPDX-License-Identifier: Apache-2.0
"""Kernels in PTX run without a GPU: instructions compute what NVIDIA's manual says; what a GPU hides is an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.ptx.counting import Counts
from ngraph_rewrite.runtime.ptx.meeting import ordered
from ngraph_rewrite.runtime.ptx.program import Program
from ngraph_rewrite.runtime.ptx.rounding import multiply_add
from ngraph_rewrite.runtime.ptx.text import read_module
from ngraph_rewrite.runtime.ptx.warps import lanes_asked

Array = np.ndarray[Any, Any]
few = settings(max_examples=12)
DECLARED = """
    .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<24>; .reg .f32 %f<24>; .reg .b64 %rd<24>; .reg .f64 %fd<8>;
    .shared .align 16 .b8 tile[512];
"""
PLACE = """
    ld.param.u64 %rd0, [k_param_0];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.s32 %r3, %r1, %r2, %r0;
    mul.wide.u32 %rd1, %r3, 4;
    add.s64 %rd1, %rd0, %rd1;
    shl.b32 %r4, %r0, 2;
    mov.u32 %r5, tile;
    add.s32 %r5, %r5, %r4;
"""  # rd1: what is of this thread in an array of 32 bits; r4, r5: the same in a tile, from its beginning


def kernel(body: str, parameters: int = 1, around: str = "") -> str:
    """A kernel of so many parameters."""
    given = ", ".join(f".param .u64 k_param_{n}" for n in range(parameters))
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    return f"{head}{around}.visible .entry k({given})\n{{{DECLARED}{body}\nret;\n}}"


def launch(
    text: str,
    *arguments: Any,
    blocks: int = 1,
    threads: int = 1,
    counts: Counts | None = None,
    budget: int | None = None,
) -> None:
    """Run a kernel on arrays, of which it is given the addresses, and integers."""
    arrays = [x for x in arguments if isinstance(x, np.ndarray)]
    ranges = sorted((x.ctypes.data, x.ctypes.data + x.nbytes) for x in arrays)
    numbers = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments]
    Program(text, "k").launch((blocks, 1, 1), threads, numbers, ranges, counts, budget)


# -- what instructions compute -----------------------------------------------------------------------------------------

MARKS = {"s": "i", "u": "u", "f": "f", "b": "u"}


def array_of(kind: str) -> np.dtype[Any]:
    """The dtype of a type of PTX."""
    return np.dtype(f"{MARKS[kind[0]]}{int(kind[1:]) // 8}")


def computed(opcode: str, result: str, kinds: Sequence[str], *operands: Array) -> Array:
    """What an instruction makes of operands of these types, of each thread one."""
    loads, names = [], []
    for n, kind in enumerate(kinds):
        size, name = int(kind[1:]) // 8, {"16": "%h", "32": "%r", "64": "%rd"}[kind[1:]] + str(10 + n)
        name = name.replace("%h1", "%h")
        loads.append(f"mul.wide.u32 %rd2, %r3, {size}; ld.param.u64 %rd3, [k_param_{n}]; add.s64 %rd2, %rd2, %rd3;")
        loads.append(f"ld.global.b{8 * size} {name}, [%rd2];")
        names.append(name)
    size = int(result[1:]) // 8
    target = {2: "%h7", 4: "%r20", 8: "%rd20"}[size]
    store = f"mul.wide.u32 %rd2, %r3, {size}; ld.param.u64 %rd3, [k_param_{len(kinds)}]; add.s64 %rd2, %rd2, %rd3;"
    text = [PLACE, *loads, f"{opcode} {target}, {', '.join(names)};", store, f"st.global.b{8 * size} [%rd2], {target};"]
    found = np.zeros(len(operands[0]), array_of(result))
    given = [np.ascontiguousarray(x) for x in operands]
    launch(kernel("\n".join(text), len(kinds) + 1), *given, found, threads=len(found))
    return found


def wrapped(number: int, kind: str) -> int:
    """The lower bits of an integer, as a type has them."""
    width = int(kind[1:])
    low = number % (1 << width)
    return low - (1 << width) if kind[0] == "s" and low >= 1 << (width - 1) else low


def whole(kind: str) -> st.SearchStrategy[int]:
    limits = np.iinfo(array_of(kind))
    edges = [limits.min, limits.max, 0, 1, limits.max // 2 + 1]
    return st.sampled_from(edges) | st.integers(int(limits.min), int(limits.max))


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGER: dict[str, Callable[..., int]] = {
    "add": lambda a, b, width: a + b,
    "sub": lambda a, b, width: a - b,
    "mul.lo": lambda a, b, width: a * b,
    "mul.hi": lambda a, b, width: a * b >> width,
    "min": lambda a, b, width: min(a, b),
    "max": lambda a, b, width: max(a, b),
    "div": lambda a, b, width: truncated(a, b),
    "rem": lambda a, b, width: a - truncated(a, b) * b,
}


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("name", [*INTEGER])
@few
@given(data=st.data())
def test_integers_are_those_of_python(name: str, kind: str, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(whole(kind), whole(kind)), min_size=1, max_size=8))
    pairs = [(a, b or 1) for a, b in pairs]
    a, b = (np.array(x, array_of(kind)) for x in zip(*pairs, strict=True))
    found = computed(f"{name}.{kind}", kind, [kind, kind], a, b)
    assert found.tolist() == [wrapped(INTEGER[name](x, y, int(kind[1:])), kind) for x, y in pairs]


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "s32", "s64", "u32", "u64"])
@given(data=st.data())
def test_shifts_by_more_than_a_width_leave_nothing_but_the_sign(kind: str, data: st.DataObject) -> None:
    width = int(kind[1:])
    pairs = data.draw(st.lists(st.tuples(whole(kind), st.integers(0, 2 * width)), min_size=1, max_size=8))
    a, by = (np.array(x, t) for x, t in zip(zip(*pairs, strict=True), (array_of(kind), "u4"), strict=True))
    right = "shr." + kind.replace("b", "u")
    assert computed(right, kind, [kind, "b32"], a, by).tolist() == [x >> n for x, n in pairs]
    left = computed(f"shl.b{width}", kind, [kind, "b32"], a, by)
    assert left.tolist() == [wrapped(x << n, kind) for x, n in pairs]


@given(data=st.data())
def test_numbers_of_128_bits_are_multiplied_by_carries(data: st.DataObject) -> None:
    """As compilers write it for what is left of a large angle."""
    given = [data.draw(whole("s64")) for _ in range(3)]
    a, b, c = (x % 2**64 for x in given)
    body = """
        ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1]; ld.param.u64 %rd3, [k_param_2];
        {
        .reg .u32 r0, r1, r2, r3, alo, ahi, blo, bhi, clo, chi;
        mov.b64 {alo,ahi}, %rd1; mov.b64 {blo,bhi}, %rd2; mov.b64 {clo,chi}, %rd3;
        mad.lo.cc.u32 r0, alo, blo, clo; madc.hi.cc.u32 r1, alo, blo, chi; madc.hi.u32 r2, alo, bhi, 0;
        mad.lo.cc.u32 r1, alo, bhi, r1; madc.hi.cc.u32 r2, ahi, blo, r2; madc.hi.u32 r3, ahi, bhi, 0;
        mad.lo.cc.u32 r1, ahi, blo, r1; madc.lo.cc.u32 r2, ahi, bhi, r2; addc.u32 r3, r3, 0;
        mov.b64 %rd4, {r0,r1}; mov.b64 %rd5, {r2,r3};
        }
        ld.param.u64 %rd6, [k_param_3]; st.global.v2.u64 [%rd6], {%rd4, %rd5};"""
    found = np.zeros(4, "u8")
    found = found[found.ctypes.data % 16 // 8 :][:2]
    launch(kernel(body, 4), *given, found)
    assert int(found[0]) + (int(found[1]) << 64) == a * b + c


FLOATS = {"f32": st.floats(width=32), "f64": st.floats()}


def exact(x: float, y: float, z: float) -> Fraction | None:
    numbers = [float(n) for n in (x, y, z)]
    return (
        None if not np.isfinite(numbers).all() else Fraction(numbers[0]) * Fraction(numbers[1]) + Fraction(numbers[2])
    )


@pytest.mark.parametrize("rounding", ["rn", "rm", "rp", "rz"])
@settings(deadline=None)  # the first one is compiled
@given(x=FLOATS["f32"], y=FLOATS["f32"], z=FLOATS["f32"])
@example(x=1.0, y=1.0, z=-(2.0**-60))
@example(x=1.0 + 2.0**-23, y=1.0 + 2.0**-23, z=-1.0)
@example(x=2.0**-80, y=2.0**-80, z=1.0)
def test_a_product_and_a_sum_are_rounded_once(rounding: str, x: float, y: float, z: float) -> None:
    given = [np.array([n], "f4") for n in (x, y, z)]
    with np.errstate(all="ignore"):
        found = multiply_add(*given, rounding)[0]
    true = exact(x, y, z)
    if true is None or not np.isfinite(found):
        return
    with np.errstate(over="ignore"):
        beside = [float(np.nextafter(found, np.float32(end))) for end in (-np.inf, np.inf)]
    below, above = (Fraction(x) if np.isfinite(x) else None for x in beside)
    own = Fraction(float(found))
    if rounding == "rn":
        assert all(other is None or abs(true - own) <= abs(true - other) for other in (below, above))
    elif rounding == "rm" or (rounding == "rz" and true > 0):
        assert own <= true and (above is None or above > true)
    else:
        assert own >= true and (below is None or below < true)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@given(data=st.data())
def test_floats_are_those_of_numpy(name: str, kind: str, data: st.DataObject) -> None:
    a, b = (np.array(data.draw(st.lists(FLOATS[kind], min_size=4, max_size=4)), array_of(kind)) for _ in range(2))
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(computed(f"{name}.rn.{kind}", kind, [kind, kind], a, b), function(a, b))


def test_the_lesser_of_zeros_is_the_negative_one_and_nan_is_passed_by() -> None:
    a, b = np.array([0.0, -0.0, np.nan, 1.0], "f4"), np.array([-0.0, 0.0, 2.0, np.nan], "f4")
    least, most = (computed(f"{name}.f32", "f32", ["f32", "f32"], a, b) for name in ("min", "max"))
    assert np.signbit(least).tolist() == [True, True, False, False] and least[2:].tolist() == [2.0, 1.0]
    assert np.signbit(most).tolist() == [False, False, False, False] and most[2:].tolist() == [2.0, 1.0]
    assert np.isnan(computed("min.NaN.f32", "f32", ["f32", "f32"], a, b)[2:]).all()


@pytest.mark.parametrize(
    ("opcode", "to", "of", "given", "expected"),
    [
        ("cvt.rzi.s32.f32", "s32", "f32", [2.7, -2.7, np.nan, 1e30, -1e30], [2, -2, 0, 2**31 - 1, -(2**31)]),
        ("cvt.rni.s32.f64", "s32", "f64", [2.5, 3.5, -0.5, 0.0, 1.0], [2, 4, 0, 0, 1]),
        ("cvt.rmi.f32.f32", "f32", "f32", [2.7, -2.2, 0.0, 1.0, 5.5], [2.0, -3.0, 0.0, 1.0, 5.0]),
        ("cvt.sat.f32.f32", "f32", "f32", [2.7, -2.2, np.nan, 0.25, 1.0], [1.0, 0.0, 0.0, 0.25, 1.0]),
        ("cvt.rzi.s64.f32", "s64", "f32", [np.nan, 2.5, -2.5, 0.0, 1.0], [-(2**63), 2, -2, 0, 1]),
        ("cvt.rzi.s32.f64", "s32", "f64", [np.nan, 2.5, -2.5, 0.0, 1.0], [-(2**31), 2, -2, 0, 1]),
        ("ex2.approx.f16", "f16", "f16", [1.0, 0.0, -1.0, 2.0, 3.0], [2.0, 1.0, 0.5, 4.0, 8.0]),
        ("cvt.s64.s32", "s64", "s32", [-1, 5, -(2**31), 0, 7], [-1, 5, -(2**31), 0, 7]),
        ("cvt.u64.u32", "u64", "u32", [2**32 - 1, 5, 0, 1, 7], [2**32 - 1, 5, 0, 1, 7]),
        ("cvt.u16.u32", "u16", "u32", [2**16 + 3, 5, 0, 1, 7], [3, 5, 0, 1, 7]),
        ("clz.b64", "u32", "b64", [0, 1, 2**63, 2**32, 3], [64, 63, 0, 31, 62]),
    ],
)
def test_conversions(opcode: str, to: str, of: str, given: list[float], expected: list[float]) -> None:
    assert computed(opcode, to, [of], np.array(given, array_of(of))).tolist() == expected


def test_the_reciprocal_of_a_double_is_an_approximation() -> None:
    """Its lower half is zero, as that of a GPU: what makes it better has to be in the code."""
    found = computed("rcp.approx.ftz.f64", "f64", ["f64"], np.array([3.0, 7.0]))
    np.testing.assert_allclose(found, [1 / 3, 1 / 7], rtol=2**-20)
    assert not (found.view("u8") & np.uint64(0xFFFFFFFF)).any() and found[0] != 1 / 3


def test_bits_are_put_into_others() -> None:
    text = kernel(f"""{PLACE} mov.u32 %r10, 0xAB; mov.u32 %r11, -1;
        bfi.b32 %r12, %r10, %r11, 8, 8; st.global.u32 [%rd1], %r12;""")
    found = np.zeros(1, "u4")
    launch(text, found)
    assert found.tolist() == [0xFFFFABFF]


# -- where threads go --------------------------------------------------------------------------------------------------

DIVERGED = f"""{PLACE}
    and.b32 %r10, %r0, 1;
    setp.eq.s32 %p1, %r10, 1;
    mov.u32 %r11, 0;
    @%p1 bra $odd;
$even:
    add.s32 %r11, %r11, 2;
    setp.lt.u32 %p2, %r11, %r0;
    @%p2 bra $even;
    bra.uni $both;
$odd:
    mov.u32 %r11, 100;
$both:
    @!%p1 add.s32 %r11, %r11, 1000;
    st.global.u32 [%rd1], %r11;
"""


def test_threads_go_different_ways_and_meet_again() -> None:
    found = np.zeros(12, "u4")
    launch(kernel(DIVERGED), found, blocks=2, threads=6)
    own = [1000 + max(2, i) if i % 2 == 0 else 100 for i in range(6)]
    assert found.tolist() == own + own


MEETS = {
    "after a way that is behind in the text": """
        setp.eq.s32 %p1, %r0, 3; @%p1 bra $rare;
    $both: shfl.sync.bfly.b32 %r11, %r0, 1, 31, -1; st.global.u32 [%rd1], %r11; ret;
    $rare: bra.uni $both;
    """,
    "in a loop that some go through by a shorter way": """
        and.b32 %r10, %r0, 1; setp.eq.s32 %p1, %r10, 1; mov.u32 %r12, 0;
    $head: shfl.sync.bfly.b32 %r11, %r0, 1, 31, -1; st.global.u32 [%rd1], %r11;
        add.s32 %r12, %r12, 1; setp.gt.s32 %p2, %r12, 3; @%p2 bra $out; @%p1 bra $head; mov.u32 %r13, 0; bra.uni $head;
    $out:
    """,
    "after loops of different lengths": """
        mov.u32 %r10, 0; bra.uni $head;
    $out: shfl.sync.bfly.b32 %r11, %r0, 1, 31, -1; st.global.u32 [%rd1], %r11; ret;
    $head: add.s32 %r10, %r10, 1; setp.lt.s32 %p1, %r10, %r0; @%p1 bra $head; bra.uni $out;
    """,
}


@pytest.mark.parametrize("body", MEETS.values(), ids=MEETS)
def test_a_warp_meets_again(body: str) -> None:
    found = np.zeros(32, "u4")
    launch(kernel(PLACE + body), found, threads=32)
    assert found.tolist() == [i ^ 1 for i in range(32)]


def test_a_barrier_may_be_come_to_by_different_ways() -> None:
    """The head of a loop is one, for those who come there again and for those who come anew: four barriers each."""
    body = """
        and.b32 %r10, %r0, 1; setp.eq.s32 %p1, %r10, 1; mov.u32 %r12, 0; mov.u32 %r11, 0;
    $outer: add.s32 %r11, %r11, 1;
    $inner: bar.sync 0; add.s32 %r12, %r12, 1; setp.ge.s32 %p2, %r12, 4; @%p2 bra $end;
        @!%p1 bra $inner; bra.uni $outer;
    $end: st.global.u32 [%rd1], %r11;
    """
    found = np.zeros(4, "u4")
    launch(kernel(PLACE + body), found, threads=4)
    assert found.tolist() == [1, 4, 1, 4]


@given(st.lists(st.lists(st.integers(0, 12), max_size=2), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_where_all_threads_come_once_they_come_together(ways: list[list[int]], random: Random) -> None:
    """Any program, any decisions: a block that no thread can avoid, nor come to again, is done by all at once."""
    count = len(ways)
    ways = [*[[to % (count + 1) for to in some] or [count] for some in ways], []]
    order = ordered(ways)
    at, met, steps = [0] * 5, dict[int, list[int]](), 0
    while min(at) < len(order.blocks) and steps < 500:
        place, steps = min(at), steps + 1
        here, block = [n for n, x in enumerate(at) if x == place], order.blocks[place]
        met.setdefault(block, []).append(len(here))
        for n in here:
            at[n] = order.places[block, random.choice(ways[block])] if ways[block] else len(order.blocks)
    if min(at) == len(order.blocks):
        for block, counts in met.items():
            again = any(leads(to, block, ways, without=None) for to in ways[block])
            if not again and not leads(0, count, ways, without=block):
                assert counts == [5]


def leads(begin: int, end: int, ways: list[list[int]], without: int | None) -> bool:
    """Whether there is a way from one block to another that does not come to a third."""
    seen, under_way = {without}, [begin]
    while under_way:
        block = under_way.pop()
        if block not in seen:
            seen.add(block)
            under_way += ways[block]
    return end in seen and end != without


def test_functions_are_called_with_memory_of_their_own() -> None:
    function = """.func (.param .align 8 .b8 result[8]) twice(.param .b32 twice_param_0)
{ .local .align 4 .b8 depot[8]; .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u32 %r1, [twice_param_0]; mov.u64 %rd1, depot; st.local.u32 [%rd1+4], %r1; ld.local.u32 %r2, [%rd1+4];
    add.s32 %r3, %r1, %r2; st.param.b32 [result+0], %r1; st.param.b32 [result+4], %r3; ret;
}
"""
    call = """{ .param .b32 param0; .param .align 8 .b8 back[8]; st.param.b32 [param0+0], %r0;
        call.uni (back), twice, (param0); ld.param.b32 %r10, [back+4]; }
        st.global.u32 [%rd1], %r10;"""
    found = np.zeros(5, "u4")
    launch(kernel(PLACE + call, around=function), found, threads=5)
    assert found.tolist() == [0, 2, 4, 6, 8]


def test_a_call_may_be_of_some_threads() -> None:
    function = """.func (.param .b16 result) nine(.param .b16 a, .param .b16 b)
{ .reg .b16 %h<4>; ld.param.u16 %h1, [a]; ld.param.u16 %h2, [b];
    add.s16 %h3, %h1, %h2; st.param.b16 [result], %h3; ret; }
"""
    call = """setp.eq.u32 %p1, %r0, 2; mov.u32 %r10, 0;
        { .param .b16 x; .param .b16 y; .param .b16 back; mov.b16 %h1, 4; mov.b16 %h2, 5; st.param.b16 [x], %h1;
        st.param.b16 [y], %h2; @%p1 call (back), nine, (x, y); @%p1 ld.param.b16 %h3, [back]; }
        @%p1 cvt.u32.u16 %r10, %h3; st.global.u32 [%rd1], %r10;"""
    found = np.zeros(4, "u4")
    launch(kernel(PLACE + call, around=function), found, threads=4)
    assert found.tolist() == [0, 0, 9, 0]


def test_what_threads_did_not_write_to_a_register_is_no_zero() -> None:
    body = f"{PLACE} setp.eq.u32 %p1, %r0, 0; @%p1 mov.u32 %r9, 5; st.global.u32 [%rd1], %r9;"
    found = np.zeros(2, "u4")
    launch(kernel(body), found, threads=2)
    assert found.tolist() == [5, 2**32 - 1]


def test_lines_of_a_source_are_passed_by() -> None:
    found = np.zeros(1, "u4")
    launch(kernel(f"{PLACE} mov.u32 %r9, 1;\n.loc 1 5 0\nmov.u32 %r9, 2; st.global.u32 [%rd1], %r9;"), found)
    assert found.tolist() == [2]


def test_addresses_of_shared_memory_have_32_bits() -> None:
    body = f"{PLACE} mov.u32 %r6, -4; st.shared.u32 [%r6+4], 7; ld.shared.u32 %r7, [0]; st.global.u32 [%rd1], %r7;"
    found = np.zeros(1, "u4")
    launch(kernel(body), found)
    assert found.tolist() == [7]


def test_variables_of_a_module_have_their_values() -> None:
    body = """ld.param.u64 %rd0, [k_param_0]; mov.u64 %rd2, table;
        ld.global.nc.u16 %r1, [%rd2+2]; st.global.u32 [%rd0], %r1;"""
    found = np.zeros(1, "u4")
    launch(kernel(body, around=".global .align 8 .b8 table[8] = {1, 2, 3, 4};\n"), found)
    assert found.tolist() == [0x0403]


# -- what threads do together ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["bfly", "up", "down", "idx"])
@given(by=st.integers(0, 99), width=st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_lanes_ask_each_other_as_the_manual_says(mode: str, by: int, width: int) -> None:
    """Its own text, lane by lane."""
    clamp = (0 if mode == "up" else width - 1 if mode != "idx" else 31) | (32 - width) << 8
    lanes, low = np.arange(32), by & 31
    asked, there = lanes_asked(lanes, mode, np.full(32, by), np.full(32, clamp))
    for lane in range(32):
        part = (clamp >> 8) & 31
        most, least = (lane & part) | (clamp & 31 & ~part), lane & part
        j = {"up": lane - low, "down": lane + low, "bfly": lane ^ low, "idx": least | (low & ~part)}[mode]
        p = j >= most if mode == "up" else j <= most
        assert (asked[lane], there[lane]) == (j if p else lane, p)


def test_a_warp_exchanges_registers() -> None:
    text = kernel(f"{PLACE} shfl.sync.bfly.b32 %r10|%p1, %r0, 3, 31, -1; st.global.u32 [%rd1], %r10;")
    found = np.zeros(64, "u4")
    launch(text, found, threads=64)
    assert found.tolist() == [i ^ 3 for i in range(64)]


@pytest.mark.parametrize("kind", ["any", "all"])
@pytest.mark.parametrize("sign", ["", "!"])
@given(st.sets(st.integers(0, 79)) | st.just({*range(32), *range(64, 80)}))
def test_a_warp_votes(kind: str, sign: str, those: set[int]) -> None:
    """Two blocks of 40 threads: of a warp, and of a part of one."""
    found = np.array([i in those for i in range(80)], "u4")
    wanted = [(found[b : b + n] != 0) ^ bool(sign) for b, n in ((0, 32), (32, 8), (40, 32), (72, 8))]
    body = f"""ld.global.u32 %r10, [%rd1]; setp.ne.s32 %p1, %r10, 0;
        mov.u32 %r12, -1; setp.gt.u32 %p3, %r0, 31; @%p3 mov.u32 %r12, 255;
        vote.sync.{kind}.pred %p2, {sign}%p1, %r12; selp.u32 %r11, 1, 0, %p2; st.global.u32 [%rd1], %r11;"""
    launch(kernel(PLACE + body), found, blocks=2, threads=40)
    assert found.tolist() == [x for one in wanted for x in [int(getattr(np, kind)(one))] * len(one)]


def test_those_vote_together_who_name_each_other() -> None:
    found = np.array([i < 16 for i in range(32)], "u4")
    body = """ld.global.u32 %r10, [%rd1]; setp.ne.s32 %p1, %r10, 0; setp.gt.u32 %p3, %r0, 15;
        mov.u32 %r12, 65535; @%p3 shl.b32 %r12, %r12, 16;
        vote.sync.any.pred %p2, %p1, %r12; selp.u32 %r11, 1, 0, %p2; st.global.u32 [%rd1], %r11;"""
    launch(kernel(PLACE + body), found, threads=32)
    assert found.tolist() == [int(i < 16) for i in range(32)]


def test_who_is_asked_has_to_be_there() -> None:
    body = f"""{PLACE} setp.eq.s32 %p1, %r0, 5; @%p1 bra $end;
        shfl.sync.bfly.b32 %r10, %r0, 1, 31, -1; st.global.u32 [%rd1], %r10; $end:"""
    with pytest.raises(KernelError, match="thread 5 of it is not there"):
        launch(kernel(body), np.zeros(32, "u4"), threads=32)


def test_a_block_agrees_at_a_barrier() -> None:
    body = f"""{PLACE} setp.eq.s32 %p1, %r3, 7;
        bar.red.or.pred %p2, 0, %p1; bar.red.and.pred %p3, 0, !%p1;
        selp.u32 %r10, 1, 0, %p2; selp.u32 %r11, 2, 0, %p3; or.b32 %r10, %r10, %r11; st.global.u32 [%rd1], %r10;"""
    found = np.zeros(12, "u4")
    launch(kernel(body), found, blocks=3, threads=4)
    assert found.tolist() == [2] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("turned", ["", ".trans"])
def test_tensor_cores_multiply_matrices_of_shared_memory(kind: str, turned: str) -> None:
    """The left one by its rows, the right one by its columns, or as rows that are turned when they are read."""
    dtype = np.dtype(np.float16 if kind == "f16" else ml_dtypes.bfloat16)
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((16, 16)).astype(dtype), rng.standard_normal((16, 8)).astype(dtype)
    lines = right if turned else right.T  # of eight or of sixteen numbers
    given = np.concatenate([left.ravel(), np.ascontiguousarray(lines).ravel()]).view("u4")
    other = "and.b32 %r12, %r0, 15; shl.b32 %r12, %r12, 4;"
    if not turned:
        other = """and.b32 %r12, %r0, 7; shl.b32 %r12, %r12, 5;
            and.b32 %r13, %r0, 8; shl.b32 %r13, %r13, 1; add.s32 %r12, %r12, %r13;"""
    body = f"""{PLACE.replace("tile", "room")}
        ld.param.u64 %rd5, [k_param_1]; mov.u32 %r14, 0;
    $next: shl.b32 %r15, %r14, 7; add.s32 %r16, %r5, %r15; cvt.u64.u32 %rd6, %r15; add.s64 %rd6, %rd6, %rd1;
        ld.global.u32 %r17, [%rd6]; st.shared.u32 [%r16], %r17; add.s32 %r14, %r14, 1;
        setp.lt.u32 %p1, %r14, 6; @%p1 bra $next;
        bar.sync 0; mov.u32 %r5, room;
        and.b32 %r10, %r0, 15; shl.b32 %r10, %r10, 5;
        and.b32 %r11, %r0, 16; add.s32 %r10, %r10, %r11; add.s32 %r10, %r5, %r10;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r6, %r7, %r8, %r9}}, [%r10];
        {other} add.s32 %r12, %r5, %r12;
        ldmatrix.sync.aligned.m8n8.x2{turned}.shared.b16 {{%r18, %r19}}, [%r12+512];
        mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f00000000;
        mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 {{%f4, %f5, %f6, %f7}},
            {{%r6, %r7, %r8, %r9}}, {{%r18, %r19}}, {{%f1, %f1, %f2, %f2}};
        shl.b32 %r20, %r0, 4; cvt.u64.u32 %rd7, %r20; add.s64 %rd7, %rd7, %rd5;
        st.global.f32 [%rd7], %f4; st.global.f32 [%rd7+4], %f5; st.global.f32 [%rd7+8], %f6;
        st.global.f32 [%rd7+12], %f7;"""
    found = np.zeros((32, 4), "f4")
    text = kernel(body, 2).replace("tile[512]", "room[768]")
    launch(text, given, found, threads=32)
    exact = left.astype(float) @ right.astype(float)
    exact[:8] += 1
    for lane in range(32):
        for n in range(4):
            row, column = lane // 4 + 8 * (n // 2), 2 * (lane % 4) + n % 2
            assert abs(found[lane, n] - exact[row, column]) < 1e-5


# -- what a GPU hides --------------------------------------------------------------------------------------------------


def shared(store: str, between: str, load: str) -> str:
    """Each thread writes its place in what the block shares, and reads another."""
    return kernel(f"{PLACE} {store} {between} mov.u32 %r9, tile; {load} st.global.u32 [%rd1], %r10;")


STORE = "st.shared.u32 [%r5], %r0;"
NEIGHBOUR = "xor.b32 %r6, %r4, 4; add.s32 %r6, %r6, %r9; ld.shared.u32 %r10, [%r6];"


def test_what_a_barrier_orders_is_allowed() -> None:
    found = np.zeros(8, "u4")
    launch(shared(STORE, "bar.sync 0;", NEIGHBOUR), found, threads=8)
    assert found.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


def test_a_thread_may_read_what_it_wrote() -> None:
    found = np.zeros(4, "u4")
    launch(shared(STORE, "", "ld.shared.u32 %r10, [%r5];"), found, threads=4)
    assert found.tolist() == [0, 1, 2, 3]


def test_reading_what_another_thread_has_just_written_is_a_race() -> None:
    with pytest.raises(
        KernelError, match=r"kernel k: thread 0 reads shared memory at 0x4, which thread 1 wrote.*ld\.sha"
    ):
        launch(shared(STORE, "", NEIGHBOUR), np.zeros(8, "u4"), threads=8)


def test_writing_what_another_thread_has_just_read_is_a_race() -> None:
    again = f"{NEIGHBOUR} st.shared.u32 [%r5], %r10;"
    with pytest.raises(KernelError, match="writes shared memory .* which thread . read with no barrier"):
        launch(shared(STORE, "bar.sync 0;", again), np.zeros(8, "u4"), threads=8)


def test_different_numbers_in_one_place_are_a_race_and_equal_ones_are_none() -> None:
    one = "mov.u32 %r9, tile; st.shared.u32 [%r9], {};"
    load = "bar.sync 0; ld.shared.u32 %r10, [%r9];"
    found = np.zeros(4, "u4")
    launch(kernel(f"{PLACE} {one.format(7)} {load} st.global.u32 [%rd1], %r10;"), found, threads=4)
    assert found.tolist() == [7] * 4
    with pytest.raises(KernelError, match="wrote with no barrier between"):
        launch(kernel(f"{PLACE} {one.format('%r0')} {load} st.global.u32 [%rd1], %r10;"), found, threads=4)


def test_equal_numbers_are_a_race_with_what_another_thread_does_then() -> None:
    """Whoever of them was last: one that writes another number, or reads, does not know it."""
    both = "mov.u32 %r9, tile; st.shared.u32 [%r9], 7; setp.eq.s32 %p1, %r0, {};"
    for lane in (0, 1):
        with pytest.raises(KernelError, match="which several threads wrote"):
            launch(kernel(f"{PLACE} {both.format(lane)} @%p1 st.shared.u32 [%r9], 8;"), np.zeros(2, "u4"), threads=2)
    everywhere = "st.global.u32 [%rd0], 0; setp.eq.s32 %p1, %r1, 1; @%p1 st.global.u32 [%rd0], 5;"
    with pytest.raises(KernelError, match="which several threads wrote"):
        launch(kernel(f"{PLACE} {everywhere}"), np.zeros(2, "u4"), blocks=2)


def test_a_number_that_was_read_may_not_be_written_even_if_it_is_there() -> None:
    """As it may have come there after it was read."""
    body = "ld.global.u32 %r10, [%rd0]; bar.sync 0; setp.eq.s32 %p1, %r0, 1; @%p1 st.global.u32 [%rd0], 0;"
    launch(kernel(f"{PLACE} {body}"), np.zeros(2, "u4"), threads=2)
    with pytest.raises(KernelError, match="which several threads read"):
        launch(kernel(f"{PLACE} {body}"), np.zeros(2, "u4"), threads=2, blocks=2)


def test_blocks_are_not_ordered_by_barriers() -> None:
    """One writes to where another has read, however many barriers each has passed."""
    body = f"""{PLACE} ld.global.u32 %r10, [%rd0]; bar.sync 0; setp.eq.s32 %p1, %r1, 1; @!%p1 bra $end;
        st.global.u32 [%rd0], 5; $end:"""
    with pytest.raises(KernelError, match="thread 1 writes global memory .* which several threads read"):
        launch(kernel(body), np.zeros(2, "u4"), blocks=2)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "st.global.u32 [%rd1+4], %r0;",
            r"thread 3 accesses 4 bytes at 0x[0-9a-f]+ of global memory, which are outside",
        ),
        ("st.global.u32 [%rd0+-4], %r0;", "outside of what the kernel was given"),
        ("st.global.u16 [%rd0+1], %h0;", "2 bytes at address .* of global memory are not aligned"),
        ("ld.global.v4.u32 {%r6,%r7,%r8,%r9}, [%rd0+4];", "16 bytes at address .* are not aligned"),
        ("ld.shared.u32 %r10, [%r5];", "thread 0 reads shared memory at 0x0, which none wrote"),
        ("st.shared.u32 [%r5+512], %r0;", "outside of the 512 of shared memory"),
        ("add.s32 %r10, %r11, 1;", "register %r11 is read, and nothing was written to it"),
        (
            "setp.eq.s32 %p1, %r0, 0; @%p1 bra $end; bar.sync 0; $end:",
            "waits at a barrier, and others of it have ended",
        ),
        ("setp.eq.s32 %p1, %r0, 0; @%p1 bra $b; bar.sync 0; bra $end; $b: bar.sync 0; $end:", "wait at another one"),
    ],
)
def test_what_a_gpu_hides_is_an_error(body: str, told: str) -> None:
    memory = np.zeros(8, "u4")
    memory = memory[memory.ctypes.data % 16 // 4 :][:4]
    with pytest.raises(KernelError, match=f"(?s)kernel k: .*{told}.*at line .* of its PTX"):
        launch(kernel(f"{PLACE} mov.b16 %h0, 1; {body}"), memory, threads=4)


COPIED = f"""{PLACE} shl.b32 %r10, %r0, 4; mov.u32 %r11, tile; add.s32 %r11, %r11, %r10;
    cvt.u64.u32 %rd4, %r10; add.s64 %rd4, %rd4, %rd0;
    cp.async.cg.shared.global [%r11], [%rd4], 16;
    %s
    ld.shared.u32 %r12, [%r11+4]; st.global.u32 [%rd4+4], 9; ld.param.u64 %rd5, [k_param_1];
    mul.wide.u32 %rd6, %r0, 4; add.s64 %rd5, %rd5, %rd6; st.global.u32 [%rd5], %r12;"""


def test_what_is_fetched_is_there_when_it_was_waited_for() -> None:
    for wait, expected in (("cp.async.wait_all;", [1, 5]), ("", [2**32 - 1] * 2)):
        memory = np.arange(12, dtype="u4")
        memory = memory[memory.ctypes.data % 16 // 4 :][:8]
        memory[:] = np.arange(8)
        found = np.zeros(2, "u4")
        launch(kernel(COPIED.replace("%s", wait), 2), memory, found, threads=2)
        assert found.tolist() == expected


def test_what_is_on_its_way_is_not_to_be_written() -> None:
    """Neither where it comes from nor where it goes, barrier or not."""
    for store in ("st.global.u32 [%rd4], 9;", "st.shared.u32 [%r11], 9;"):
        memory = np.arange(12, dtype="u4")
        memory = memory[memory.ctypes.data % 16 // 4 :][:8]
        with pytest.raises(KernelError, match="was written before a thread waited for it"):
            text = COPIED.replace("%s", f"{store} bar.sync 0; cp.async.wait_all;")
            launch(kernel(text, 2), memory, np.zeros(2, "u4"), threads=2)


def test_what_is_fetched_from_elsewhere_is_told_when_that_begins() -> None:
    memory = np.zeros(8, "u4")
    memory = memory[memory.ctypes.data % 16 // 4 :][:4]
    text = COPIED.replace("[%rd4], 16", "[%rd4+4096], 16").replace("%s", "")
    with pytest.raises(KernelError, match=r"outside of what the kernel was given \(cp\.async"):
        launch(kernel(text, 2), memory, np.zeros(2, "u4"), threads=1)


def test_what_is_asked_for_has_to_be_there() -> None:
    """Nothing is read, and nobody meets whoever writes there."""
    memory = np.zeros(4, "u4")
    body = f"{PLACE} add.s64 %rd2, %rd0, %s; prefetch.global.L2 [%rd2]; st.global.u32 [%rd0], 1;"
    launch(kernel(body.replace("%s", "12")), memory, threads=1)
    assert memory[0] == 1
    with pytest.raises(KernelError, match="outside of what the kernel was given"):
        launch(kernel(body.replace("%s", "4096")), memory, threads=1)


def test_a_launch_begins_when_the_one_before_has_ended() -> None:
    memory = np.zeros(1, "u4")
    launch(kernel("griddepcontrol.wait; griddepcontrol.launch_dependents; ld.param.u64 %rd0, [k_param_0]; "
                  "st.global.u32 [%rd0], 7;"), memory)  # fmt: skip
    assert memory[0] == 7
    with pytest.raises(KernelError, match=r"griddepcontrol\.later"):
        launch(kernel("griddepcontrol.later;"), memory)


def test_a_launch_that_no_gpu_makes_is_refused() -> None:
    memory, most = np.zeros(4, "u4"), kernel("").replace(")\n{", ")\n.maxntid 16, 2, 1\n{")
    launch(kernel(""), memory, threads=1024)
    launch(most, memory, threads=32)
    for text, threads, told in (
        (kernel(""), 1025, "1025 threads .* 1024"),
        (most, 33, "33 threads .* 32 are the most"),
    ):
        with pytest.raises(KernelError, match=f"kernel k: a block of {told}"):
            launch(text, memory, threads=threads)
    for grid in ((1, 65536, 1), (1, 1, 65536), (0, 1, 1)):
        with pytest.raises(KernelError, match="a grid of .* blocks along . is launched"):
            Program(kernel(""), "k").launch(grid, 1, [0], [])


def test_a_block_has_48_kilobytes_to_share() -> None:
    """Of which the kernels here have 512 bytes without being asked."""
    own = ".shared .align 16 .b8 more[{}];\n"
    Program(kernel("", around=own.format(48 * 1024 - 512)), "k")
    with pytest.raises(KernelError, match="kernel k: 49,168 bytes are shared by a block, and 49,152 are the most"):
        Program(kernel("", around=own.format(48 * 1024 - 511)), "k")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [k_param_0]; griddepcontrol.wait; ld.global.u32 %r1, [%rd0];", None),
        (
            "ld.param.u64 %rd0, [k_param_0]; ld.global.u32 %r1, [%rd0]; griddepcontrol.wait;",
            r"is used before.*ld\.glob",
        ),
        ("ld.param.u64 %rd0, [k_param_0]; st.global.u32 [%rd0], 1;", "is used before"),
        ("setp.eq.u32 %p1, 1, 1; @%p1 griddepcontrol.wait;", "does not wait for"),
        ("$b: bra $c; $c: griddepcontrol.wait;", "does not wait for"),
    ],
)
def test_a_kernel_that_may_begin_early_waits_before_it_uses_memory(body: str, told: str | None) -> None:
    Program(kernel(body), "k")
    if told is None:
        Program(kernel(body), "k", waits=True)
        return
    with pytest.raises(KernelError, match=f"(?s)kernel k: .*{told}"):
        Program(kernel(body), "k", waits=True)


def test_what_a_kernel_wrote_is_not_read_as_what_is_constant() -> None:
    """The cache for it does not see what is written meanwhile, by this thread or another."""
    load = "ld.global.nc.u32 %r6, [%rd1];"
    launch(kernel(f"{PLACE} {load} st.global.u32 [%rd1], %r6;"), np.zeros(4, "u4"), threads=4)
    with pytest.raises(KernelError, match=r"thread 0 reads global memory .* as what is constant, and the kernel wrote"):
        launch(kernel(f"{PLACE} st.global.u32 [%rd1], 1; bar.sync 0; {load}"), np.zeros(4, "u4"), threads=4)


# -- what is counted ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("apart", "part"), [(4, 1.0), (8, 0.5), (32, 0.125), (128, 0.125)])
def test_sectors_are_of_use_where_neighbours_read_neighbours(apart: int, part: float) -> None:
    memory, counts = np.zeros(32 * apart // 4 + 8, "u4"), Counts()
    memory = memory[-memory.ctypes.data % 32 // 4 :]
    body = f"{PLACE} mul.wide.u32 %rd2, %r0, {apart}; add.s64 %rd2, %rd0, %rd2; ld.global.u32 %r10, [%rd2];"
    launch(kernel(body), memory, threads=32, counts=counts)
    assert counts.shown()["sectors"] == part


@pytest.mark.parametrize(("apart", "part"), [(4, 1.0), (8, 0.5), (0, 1.0), (12, 1.0), (16, 0.25)])
def test_banks_give_a_word_each_at_a_time(apart: int, part: float) -> None:
    counts = Counts()
    body = f"{PLACE} mul.lo.u32 %r6, %r0, {apart}; mov.u32 %r7, tile; add.s32 %r6, %r6, %r7; st.shared.u32 [%r6], 1;"
    launch(kernel(body), np.zeros(1, "u4"), threads=32, counts=counts)
    assert counts.shown()["banks"] == part


def test_instructions_are_counted_for_each_warp_that_issues_them() -> None:
    counts = Counts()
    body = f"{PLACE} setp.lt.u32 %p1, %r0, 8; @!%p1 bra $end; add.s32 %r6, %r0, 1; $end:"
    launch(kernel(body), np.zeros(1, "u4"), threads=64, counts=counts)
    assert (counts.warps, counts.instructions, counts.lanes) == (2, 2 * 13 + 1, 64 * 13 + 8)


def test_of_a_long_launch_some_blocks_are_run_from_the_first_to_the_last() -> None:
    text, found, counts = kernel(f"{PLACE} st.global.u32 [%rd1], 1;"), np.zeros(100, "u4"), Counts()
    launch(text, found, blocks=100, counts=counts, budget=3 * 12)
    assert np.flatnonzero(found).tolist() == [0, 1, 50, 99] and counts.warps == 4
    launch(text, found, blocks=100, counts=counts, budget=100 * 12)
    assert found.all()


# -- what is read ------------------------------------------------------------------------------------------------------


def test_a_name_of_an_inner_scope_is_another() -> None:
    text = kernel(f"{PLACE} mov.u32 %r9, 5; {{ .reg .b32 %r9; mov.u32 %r9, 6; }} st.global.u32 [%rd1], %r9;")
    found = np.zeros(1, "u4")
    launch(text, found)
    assert found.tolist() == [5]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (".version 8.0\n", "PTX has 0 kernels"),
        (kernel("add.s32 %r1, %r2;"), "2 operands, and 3 are needed"),
        (kernel("mov.u32 %r1, %clock;"), "%clock is no operand that is known"),
        (kernel(".section .debug;"), "was not understood: .section"),
        (kernel("mov.u32 %r99, 1;"), "%r99 is no register"),
        (kernel("frobnicate.s32 %r1, %r2;"), r"kernel k: the instruction frobnicate\.s32 is not known here"),
        *[
            (kernel(f"{text};"), "is not known here")
            for text in (
                "add.rn.f16x2 %r1, %r2, %r3",
                "min.relu.s32 %r1, %r2, %r3",
                "mul.s32 %r1, %r2, %r3",
                "mad.hi.cc.s32 %r1, %r2, %r3, %r4",
                "shfl.sync.idx.b64 %rd1, %rd2, 0, 31, -1",
                "ld.global.v2.u32 {%r1, %r2, %r3, %r4}, [%rd1]",
                "cp.async.ca.shared.global [%r1], [%rd1], 12",
                "mov.b128 %rd1, %rd2",
                "mul.wide.u64 %rd1, %rd2, %rd3",
                "call.uni elsewhere",
                "add.sat.s32 %r1, %r2, %r3",
                "add.ftz.f32 %f1, %f2, %f3",
                "mul.rm.f32 %f1, %f2, %f3",
                "bar.arrive 0, 64",
                "fma.rm.f64 %fd1, %fd2, %fd3, %fd4",
                "cvt.rn.satfinite.f16.f32 %h1, %f1",
                "ld.volatile.global.u32 %r1, [%rd1]",
                "ld.u32 %r1, [%rd1]",
                "bar.sync 0, 64",
                "cp.async.wait_group 1",
                "setp.eq.and.s32 %p1, %r1, %r2, %p2",
                "atom.global.add.u32 %r1, [%rd1], 1",
                "shfl.bfly.b32 %r1, %r2, 1, 31",
                "cvt.sat.s32.f32 %r1, %f1",
            )
        ],  # fmt: skip
        (kernel("add.s32 %r1, %r2, %r99;"), "%r99 is no operand that is known"),
        (kernel("")[:-1], "PTX ends inside a function"),
    ],
)
def test_what_is_not_known_is_refused(text: str, told: str) -> None:
    with pytest.raises(KernelError, match=told):
        Program(text, "k")


def test_a_module_has_its_parts() -> None:
    module = read_module(kernel("$a: bra $a;", around=".shared .align 4 .b8 more[12];\n"))
    assert module.kernel == "k" and [v.name for v in module.variables] == ["more"]
    function = module.functions["k"]
    assert function.labels == {"$a": 0} and [str(one) for one in function.blocks[0]] == ["bra $a"]
