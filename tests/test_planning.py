# SPDX-License-Identifier: Apache-2.0
"""Planning does nothing twice: a kernel is rendered once for each structure, however often it stands in graphs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.errors import LengthError
from ngraph_rewrite.plan import attempt, collapsing, cpu, memory, nests, plan
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.plan.foresight import Foreseen
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.launches import Work, kernels
from ngraph_rewrite.plan.memory import ALIGNMENT, Block, place
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.plan import Plan, make_plan
from ngraph_rewrite.plan.schedule import in_order
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

RENDERERS = ("render_map", "render_rows", "render_copy")


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each renderer of loop nests was called since nothing was remembered."""
    calls: Counter[str] = Counter()

    def counted(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            calls[name] += 1
            return inner(*args)

        return call

    for name in RENDERERS:
        monkeypatch.setattr(cpu, name, counted(name, getattr(cpu, name)))
    collapsing.collapsed.cache_clear()
    collapsing.collapsed_rows.cache_clear()
    collapsing._rendered.cache_clear()
    yield calls
    collapsing.collapsed.cache_clear()
    collapsing.collapsed_rows.cache_clear()
    collapsing._rendered.cache_clear()


def recurrence(steps: int, units: int = 4) -> list[Op]:
    """A recurrent net, unrolled, and the derivatives of what it gives by its weights; nothing is lowered yet."""
    hidden, before, batch = ng.Axis("H", units), ng.Axis("B", units), ng.Axis("N", 3)
    weights, bias = ng.variable([hidden, before]), ng.variable([hidden])
    state = ng.variable([hidden, batch])
    total = ng.constant(0.0)
    for _ in range(steps):
        state = ng.tanh(ng.dot(weights, ng.cast_axes(state, [before, batch])) + bias)
        total = total + ng.sum(ng.square(state), out_axes=[])
    return [total, *ng.deriv(total, [weights, bias])]


def planned(handles: Sequence[Op], name: str = "cpu") -> Plan:
    with ng.make_transformer(name) as transformer:
        return make_plan(transformer.computation(list(handles), "all").lowering.roots, [])


# -- kernels ----------------------------------------------------------------------------------------


def test_an_unrolled_net_renders_as_many_kernels_however_long_it_is(rendered: Counter[str]) -> None:
    counts = []
    for steps in (6, 24):
        collapsing.collapsed.cache_clear()
        collapsing.collapsed_rows.cache_clear()
        collapsing._rendered.cache_clear()
        rendered.clear()
        counts.append((len(list(kernels(planned(recurrence(steps)).work))), rendered.total()))
    (few, first), (many, second) = counts
    assert many > 3 * few
    assert first == second < few


def test_each_structure_is_rendered_once(rendered: Counter[str]) -> None:
    work = planned(recurrence(6)).work
    loops = {one.source.name for one in kernels(work) if not one.source.name.startswith("gemm")}
    assert rendered.total() == len(loops)


def test_another_graph_of_the_same_structure_renders_nothing(rendered: Counter[str]) -> None:
    planned(recurrence(6))
    rendered.clear()
    planned(recurrence(6))
    assert rendered.total() == 0


def test_other_lengths_render_nothing(rendered: Counter[str]) -> None:
    """Kernels have no lengths in them."""
    planned(recurrence(6, units=4))
    rendered.clear()
    planned(recurrence(6, units=9))
    assert rendered.total() == 0


@pytest.mark.parametrize("count", [20, 80])
def test_operands_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Each was looked for among those before it: a list of n took the square of n."""
    x = ng.placeholder(ng.anonymous([2]))
    joined = semi.concat([semi.exp(semi.multiply(x, ng.constant(np.float32(i), x.axes))) for i in range(count)], axis=0)
    compared = list[Op]()

    def same(self: Op, other: object) -> bool:
        compared.append(self)
        return self is other

    with ng.make_transformer("cpu") as transformer:
        roots = transformer.computation(joined, x).lowering.roots
    monkeypatch.setattr(Op, "__eq__", same)
    make_plan(roots, [])
    assert len(compared) < 2 * count


numbers = st.sampled_from([0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf"), 0.1])


@settings(max_examples=15, deadline=None)
@given(st.lists(numbers, min_size=2, max_size=4))
@example([0.0, -0.0])
@example([-0.0, 0.0])
def test_kernels_that_differ_in_the_sign_of_a_zero_are_two(given_numbers: list[float]) -> None:
    """What is remembered is told apart bit by bit: 0.0 equals -0.0, and a copied sign shows which it was."""
    x = ng.placeholder(ng.anonymous([3]))
    returns = [semi.copysign(x, ng.constant(np.float32(n), x.axes)) for n in given_numbers]
    argument = np.array([1.0, -2.0, 3.0], np.float32)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(returns, x)(argument)
    for result, number in zip(found, given_numbers, strict=True):
        np.testing.assert_array_equal(result, np.copysign(argument, np.float32(number)))


# -- attempts ---------------------------------------------------------------------------------------


def flattened(shared: Sequence[bool]) -> list[Op]:
    """Products in a chain whose operands no strides can name; some of what is copied for them others read as well."""
    x = ng.placeholder(ng.anonymous([2, 3, 4]), name="x")
    results, y = [], x
    for others in shared:
        turned = semi.transpose(y, (2, 1, 0))
        left = semi.reshape(turned, (4, 6))
        right = semi.reshape(semi.transpose(semi.tanh(y), (1, 2, 0)), (6, 4))
        product = semi.dot(left, right) if others else semi.dot(semi.add(left, left), right)
        results += [product, semi.exp(turned)] if others else [product]
        y = semi.reshape(semi.concat([product, semi.slice(product, (0, 0), (2, 4), (1, 1))], axis=0), (2, 3, 4))
    return results


def drawn_plan(results: Sequence[Op]) -> list[tuple[Any, ...]]:
    """A plan in a form that can be compared."""
    found = make_plan(results, [])
    return [(w.source.text, w.arguments, w.term, w.stored) for w in found.work if isinstance(w, Work)]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=4))
@example([True, False])
def test_jobs_that_stand_are_those_that_would_be_made_anew(shared: list[bool]) -> None:
    """An attempt that makes every job anew gives the same plan as one that keeps those of the attempt before."""
    results = flattened(shared)
    kept = drawn_plan(results)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "stale_roots", lambda order, old, new: set(order))
        assert drawn_plan(results) == kept


def test_an_attempt_makes_only_jobs_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[Op] = Counter()

    def counted(inner: Callable[..., Any]) -> Callable[..., Any]:
        def make(term: Op, groups: Groups) -> Any:
            made[term] += 1
            return inner(term, groups)

        return make

    for name in ("job_of", "row_job"):
        monkeypatch.setattr(cpu, name, counted(getattr(cpu, name)))
    x = ng.placeholder(ng.anonymous([2, 3, 4]))
    far = semi.sum(semi.exp(x), axes=(0,))
    product = flattened([True])[0]
    make_plan([far, product], [])
    assert made[far] == 1
    assert made[product] == 2


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[set[Op]]:
    """What each attempt at a plan is told to have in memory."""
    found: list[set[Op]] = []
    inner = attempt.fuse

    def counted(order: Any, results: Any, writes: Any, forced: set[Op], *more: Any) -> Groups:
        found.append(set(forced))
        return inner(order, results, writes, forced, *more)

    monkeypatch.setattr(attempt, "fuse", counted)
    return found


def test_copies_for_products_are_known_before_anything_is_tried(attempts: list[set[Op]]) -> None:
    x, y = (ng.placeholder(ng.anonymous([2, 3, 4])) for _ in range(2))
    a = semi.reshape(semi.transpose(x, (2, 1, 0)), (4, 6))
    b = semi.reshape(semi.transpose(y, (1, 0, 2)), (6, 4))
    planned([semi.dot(a, semi.transpose(semi.reshape(b, (4, 6))))])
    assert [len(forced) for forced in attempts] == [2]


def test_copies_for_maps_are_known_before_anything_is_tried(attempts: list[set[Op]]) -> None:
    x = ng.placeholder(ng.anonymous([2, 3, 4]))
    across = semi.transpose(semi.concat([x, x], axis=0), (2, 1, 0))
    planned([semi.sum(semi.exp(semi.reshape(across, (4, 12))), axes=(0,))])
    assert [[term.definition.name for term in forced] for forced in attempts] == [["semi.transpose"]]


ways = st.lists(st.sampled_from(["reversed", "swapped", "matrix", "cube"]), max_size=4)


def seen(x: Op, way: Sequence[str]) -> Op:
    """24 elements through some views."""
    for step in way:
        if step in ("matrix", "cube"):
            x = semi.reshape(x, (4, 6) if step == "matrix" else (2, 3, 4))
        else:
            x = semi.transpose(x, (*range(x.rank),)[::-1] if step == "reversed" else (1, 0, *range(2, x.rank)))
    return x


@settings(max_examples=36, deadline=None)
@given(st.lists(st.tuples(ways, st.booleans(), ways, st.booleans(), st.booleans()), min_size=1, max_size=4))
def test_foresight_changes_no_plan(products: list[tuple[list[str], bool, list[str], bool, bool]]) -> None:
    """It only saves the attempts in which a plan finds out the same."""
    y = ng.placeholder(ng.anonymous([2, 3, 4]))
    results: list[Op] = []
    for left, ta, right, tb, others in products:
        a, b = seen(y, left), seen(semi.tanh(y), right)
        a, b = semi.reshape(a, (6, 4) if ta else (4, 6)), semi.reshape(b, (4, 6) if tb else (6, 4))
        product = make_op("cpu.gemm", a, b, ta=ta, tb=tb)
        results += [product, semi.exp(a), semi.sum(semi.add(a, semi.exp(a)), axes=(0,))] if others else [product]
        y = semi.reshape(semi.concat([product, semi.slice(product, (0, 0), (2, 4), (1, 1))], axis=0), (2, 3, 4))
    found = drawn_plan(results)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "foreseen", lambda order, renderer, kinds: Foreseen(set(), {}))
        assert drawn_plan(results) == found


# -- memory -----------------------------------------------------------------------------------------


def rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def placed_one_by_one(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """What `place` says it does, word by word: by size, each at the lowest offset that fits."""
    offsets: dict[int, int] = {}
    for i in sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first, i)):
        block, at = blocks[i], 0
        alive = [j for j in offsets if blocks[j].first <= block.last and block.first <= blocks[j].last]
        for j in sorted(alive, key=offsets.__getitem__):
            if at + rounded(block.size) <= offsets[j]:
                break
            at = max(at, offsets[j] + rounded(blocks[j].size))
        offsets[i] = at
    ends = [at + rounded(blocks[i].size) for i, at in offsets.items()]
    return [offsets[i] for i in range(len(blocks))], max(ends, default=0)


spans = st.builds(
    lambda size, first, more: Block(size, first, first + more),
    st.sampled_from([0, 1, 64, 65, 128, 512, 640, 1000, 4096]),
    st.integers(0, 40),
    st.sampled_from([0, 0, 1, 2, 5, 20, 40]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(spans, max_size=120))
def test_blocks_lie_where_the_search_block_by_block_puts_them(blocks: list[Block]) -> None:
    assert place(blocks) == placed_one_by_one(blocks)


def test_long_lives_inside_each_other_are_placed_as_by_the_search_block_by_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a net and its derivatives: what is computed first is needed last. More cells than one stretch holds."""
    monkeypatch.setattr(memory, "SOME_BLOCKS", 1000)
    blocks = [Block(512 + 128 * (i % 3), i, 400 - i) for i in range(200)]
    blocks += [Block(640, 400 - i, 403 - i) for i in range(200)]
    assert place(blocks) == placed_one_by_one(blocks)


@settings(max_examples=60, deadline=None)
@given(st.lists(spans, max_size=60))
def test_many_blocks_take_turns_and_never_overlap_while_they_live(blocks: list[Block]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "SOME_BLOCKS", 0)
        offsets, end = place(blocks)
    for (i, a), (j, b) in itertools.combinations(enumerate(blocks), 2):
        if a.size and b.size and a.first <= b.last and b.first <= a.last:
            assert offsets[i] + rounded(a.size) <= offsets[j] or offsets[j] + rounded(b.size) <= offsets[i]
    assert all(at + rounded(block.size) <= end for at, block in zip(offsets, blocks, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(spans.map(lambda block: block._replace(size=640)), min_size=1, max_size=60))
def test_many_blocks_of_one_size_need_no_more_than_live_at_one_time(blocks: list[Block]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "SOME_BLOCKS", 0)
        assert place(blocks)[1] == 640 * max(sum(b.first <= time <= b.last for b in blocks) for time in range(90))


# -- order ------------------------------------------------------------------------------------------


def least_first(nodes: dict[int, int], before: dict[int, list[int]]) -> list[int] | None:
    """Always the node with the smallest number that waits for nothing any more."""
    left, order = dict(nodes), list[int]()
    while left:
        ready = [n for n in left if not any(b in left and b != n for b in before.get(n, ()))]
        if not ready:
            return None
        order.append(min(ready, key=lambda n: (nodes[n], list(nodes).index(n))))
        del left[order[-1]]
    return order


@given(
    st.dictionaries(st.integers(0, 8), st.integers(0, 6), max_size=8),
    st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 10), max_size=3), max_size=6),
)
def test_the_smallest_number_that_can_come_next_does(nodes: dict[int, int], before: dict[int, list[int]]) -> None:
    assert in_order(nodes, {n: found for n, found in before.items() if n in nodes}) == least_first(nodes, before)


# -- lengths ----------------------------------------------------------------------------------------


def test_a_graph_without_unknown_lengths_stands_for_itself() -> None:
    roots = recurrence(3)
    assert bind_graph(roots, {}) == {term: term for term in topological(roots)}


def test_an_unknown_length_that_nothing_binds_is_an_error() -> None:
    x = ng.placeholder([ng.Axis("N")])
    with pytest.raises(LengthError, match="N"):
        bind_graph([ng.tanh(x)], {})


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize(
    ("part", "error"),
    [
        (lambda x: x[-1], ng.OutOfRangeError),
        (lambda x: ng.numpy.argmax(ng.numpy.exp(x), axis=0), ng.AxesError),
        (lambda x: ng.numpy.max(x, axis=0), ng.AxesError),  # what it is lowered to takes any length
    ],
)
def test_a_length_that_an_op_does_not_take_is_reported_at_its_line(
    part: Callable[[Op], Op], error: type[Exception], target: str
) -> None:
    """Of no steps none is the last, nor the greatest. Only arguments tell, and lowered ops have no line themselves."""
    x = ng.placeholder((None, 2))
    y = ng.numpy.tanh(part(x) * 2)
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(y, x)
        op = r"max\(float32\[0, 2\]" if error is ng.AxesError else r"tensor_slice\(float32\[n0, 2\]"
        with pytest.raises(error, match=rf"{op}.*: .*\n  at {__file__}:\d+"):
            computation(np.ones((0, 2)))


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_so_is_a_length_of_which_a_slice_leaves_nothing(target: str) -> None:
    x = ng.placeholder((None, 2))
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(ng.numpy.max(x[1:], axis=0), x)
        assert np.array_equal(computation(np.eye(2)), [0, 1])
        with pytest.raises(ng.AxesError, match=rf"max\(float32\[0, 2\].*: .*\n  at {__file__}:\d+"):
            computation(np.ones((1, 2)))


def test_a_bound_graph_keeps_equal_terms_one() -> None:
    n, known_length = ng.Axis("N"), ng.Axis("N", 5)
    x = ng.variable([known_length])
    first, second = (semi.broadcast(semi.sum(ng.strip(x), axes=(0,)), (a.length,), ()) for a in (n, known_length))
    bound = bind_graph([first, second], {"N": 5})
    assert bound[first] is bound[second]


def test_views_are_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many read it: what a chain of views sees is remembered for each of them."""
    seen: Counter[Op] = Counter()
    inner = nests.view

    def counted(term: Op, layout: Any) -> Any:
        seen[term] += 1
        return inner(term, layout)

    monkeypatch.setattr(nests, "view", counted)
    x = ng.placeholder(ng.anonymous([2, 3, 4]))
    turned = semi.transpose(semi.transpose(x, (2, 0, 1)), (1, 0, 2))
    make_plan([semi.sum(turned, axes=(k,)) for k in range(3)], [])
    assert set(seen.values()) == {1}


# -- addresses --------------------------------------------------------------------------------------


def test_addresses_move_on() -> None:
    assert Ref("arena", 0, 64).moved(8) == Ref("arena", 0, 72)
    assert Ref("arena", 0, 64).moved(0) == Ref("arena", 0, 64)
