# SPDX-License-Identifier: Apache-2.0
"""Kernels stay vectorised: innermost loops of the object code work on packed registers, in every pass."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loops_in_code import OTHER_PROCESSORS, copying_loops, packed_loops, pretending
from running import Runner, contiguous

from ngraph_rewrite.codegen.copy import render_copy
from ngraph_rewrite.codegen.library import render_dot, render_gather
from ngraph_rewrite.codegen.library_convolutions import render_convolution_sums
from ngraph_rewrite.codegen.library_indexed import render_scatter
from ngraph_rewrite.codegen.library_minimal_filtering import render_minimal_across_sums
from ngraph_rewrite.codegen.library_order import render_argsort, render_sort
from ngraph_rewrite.codegen.library_pooling import render_pooling, render_unpooling
from ngraph_rewrite.codegen.library_products import render_sums
from ngraph_rewrite.codegen.library_spreading import render_spread
from ngraph_rewrite.codegen.loops import (
    MapNest,
    Operand,
    RowNest,
    Source,
    Step,
    render_map,
    render_rows,
)
from ngraph_rewrite.runtime.compiler import assembly
from ngraph_rewrite.runtime.features import vectors

VECTOR, SHORT = contiguous("float32"), contiguous("bfloat16")
ADD = Step("add", "float32", (0, 1))


def map_of(
    steps: tuple[Step, ...], buffers: tuple[int, ...], store: Operand = VECTOR, load: Operand | None = None
) -> Source:
    loads = len(buffers) - 1
    return render_map(MapNest(1, (load or store,) * loads, steps, ((loads + len(steps) - 1, store),), buffers))


def reduce_of(kind: str, reduced: tuple[bool, bool], dtype: str = "float32") -> Source:
    store = Operand("int64" if "arg" in kind else dtype, ("0", "1") if reduced[0] else ("1", "0"))
    step = Step(kind, store.dtype, (0,))
    return render_rows(RowNest(2, (contiguous(dtype, 2),), (step,), ((1, store),), (0, 1), reduced))


ROWS, COLUMNS = (False, True), (True, False)


def rows_of(
    steps: tuple[Step, ...], value: int, reduced: tuple[bool, bool], once: bool = False, dtype: str = "float32"
) -> Source:
    """A nest over one operand that stores one value."""
    matrix = contiguous(dtype, 2)
    store = Operand(dtype, ("1", "0") if reduced == ROWS else ("0", "1")) if once else matrix
    return render_rows(RowNest(2, (matrix,), steps, ((value, store),), (0, 1), reduced))


SOFTMAX = (
    Step("max", "float32", (0,)),
    Step("subtract", "float32", (0, 1)),
    Step("exp", "float32", (2,)),
    Step("sum", "float32", (3,)),
    Step("divide", "float32", (3, 4)),
    Step("log", "float32", (4,)),
)
SHORT_SOFTMAX = tuple(replace(step, dtype="bfloat16") for step in SOFTMAX)
NORM = (
    Step("sum", "float32", (0,)),
    Step("subtract", "float32", (0, 1)),
    Step("square", "float32", (2,)),
    Step("sum", "float32", (3,)),
    Step("multiply", "float32", (2, 4)),
)
NUMBERS_MAX = (
    Step("isnan", "bool", (0,)),
    Step("constant", "float32", (), (("value", -np.inf),)),
    Step("select", "float32", (1, 2, 0)),
    Step("max", "float32", (3,)),
)
# Sizes, strides and dilations of windows.
PLAIN, OVERLAPPING = ((1, 2, 2), (1, 2, 2), (1, 1, 1)), ((1, 3, 3), (1, 2, 2), (1, 1, 1))
COORDINATES, WEIGHT = Operand("float32", ("s", "1")), Operand("float32", ("1", "0"))
TIMES = Step("multiply", "float32", (0, 1))
THREE = MapNest(2, (COORDINATES, WEIGHT), (TIMES,), ((2, COORDINATES),), (0, 1, 2), few=3)
EIGHT, TWELVE = Operand("float32", ("s", "1")), Operand("float32", ("s", "s", "1"))
# A light pass over rows of eight and two with functions: whoever writes out the first alone makes vectors of none.
MIXED = (
    Step("max", "float32", (0,)),
    Step("subtract", "float32", (0, 1)),
    *(Step("exp" if n % 2 else "square", "float32", (n,)) for n in range(2, 18)),
    Step("sum", "float32", (18,)),
    Step("subtract", "float32", (18, 19)),
    *(Step("exp" if n % 2 else "square", "float32", (n,)) for n in range(20, 40)),
)
# A kernel, and for each operation in how many innermost loops it has to be packed: one for each pass.
KERNELS = {
    "add": (map_of((ADD,), (0, 1, 2)), {"add": 1}),
    "multiply": (map_of((Step("multiply", "float32", (0, 1)),), (0, 1, 2)), {"mul": 1}),
    "divide": (map_of((Step("divide", "float32", (0, 1)),), (0, 1, 2)), {"div": 1}),
    "in-place": (map_of((ADD,), (0, 1, 0)), {"add": 1}),
    "maximum": (map_of((Step("maximum", "float32", (0, 1)),), (0, 1, 2)), {"(?:cm|max)": 1}),
    "maximum-in-place": (map_of((Step("maximum", "float32", (0, 1)),), (0, 1, 0)), {"(?:cm|max)": 1}),
    "hypot": (map_of((Step("hypot", "float32", (0, 1)),), (0, 1, 2)), {"sqrt": 1}),
    "three-side-by-side": (render_map(THREE), {"mul": 1}),
    "rows-of-eight": (
        render_rows(RowNest(2, (EIGHT,), MIXED, ((40, EIGHT),), (0, 1), ROWS, few=8)),
        {"max": 1, "(?:mul|fm|ml)": 1},
    ),
    "bfloat16-add": (map_of((Step("add", "bfloat16", (0, 1)),), (0, 1, 2), SHORT), {"add": 1}),
    "bfloat16-cast": (map_of((Step("cast", "bfloat16", (0,)),), (0, 1), SHORT, VECTOR), {"cm": 1}),
    "exp": (map_of((Step("exp", "float32", (0,)),), (0, 1)), {"mul": 1}),
    "sum-rows": (reduce_of("sum", ROWS), {"add": 1}),
    "sum-columns": (reduce_of("sum", COLUMNS), {"add": 2}),
    "prod-rows": (reduce_of("prod", ROWS), {"mul": 1}),
    "max-rows": (reduce_of("max", ROWS), {"max": 1}),
    "min-rows": (reduce_of("min", ROWS), {"min": 1}),
    "numbers-max-rows": (rows_of(NUMBERS_MAX, 4, ROWS, once=True), {"max": 1}),
    "bfloat16-sum-rows": (reduce_of("sum", ROWS, "bfloat16"), {"add": 1}),
    "bfloat16-sum-columns": (reduce_of("sum", COLUMNS, "bfloat16"), {"add": 2}),
    "bfloat16-max-rows": (reduce_of("max", ROWS, "bfloat16"), {"max": 1}),
    "bfloat16-dot": (render_dot("bfloat16"), {"(?:mul|fm)": 1}),
    "max-columns": (reduce_of("max", COLUMNS), {"(?:cm|max)": 2}),
    "argmax-rows": (reduce_of("argmax", ROWS), {"max": 1, "cm": 1}),
    "argmax-columns": (reduce_of("argmax", COLUMNS), {"cm": 1}),
    "softmax-rows": (rows_of(SOFTMAX, 5, ROWS), {"max": 1, "(?:mul|fm|ml)": 1, "div": 1}),
    "softmax-columns": (rows_of(SOFTMAX, 5, COLUMNS), {"(?:cm|max)": 1, "(?:mul|fm|ml)": 1, "div": 1}),
    "bfloat16-softmax-rows": (
        rows_of(SHORT_SOFTMAX, 5, ROWS, dtype="bfloat16"),
        {"max": 1, "(?:mul|fm|ml)": 1, "div": 1},
    ),
    "logsumexp-rows": (rows_of(SOFTMAX, 6, ROWS, once=True), {"max": 1, "(?:mul|fm|ml)": 1}),
    "product-sums": (render_sums("float32"), {"add": 1}),
    "convolution-sums": (render_convolution_sums("float32"), {"add": 1}),
    "minimal-across-sums": (render_minimal_across_sums("float32"), {"sub": 1}),
    "pooling": (render_pooling("max", "float32", *PLAIN), {"(?:cm|max)": 2}),
    "unpooling": (render_unpooling("max", "float32", *PLAIN, False), {"(?:cm|max)": 1, "div": 1, "mul": 1}),
    "unpooling-overlapping": (render_unpooling("max", "float32", *OVERLAPPING, True), {"div": 1, "mul": 1}),
    "spread": (render_spread("counted", "float32", *PLAIN, True, True), {"(?:mul|div)": 1}),
    "spread-overlapping": (render_spread("seen", "float32", *OVERLAPPING), {"mul": 1, "add": 2, "div": 1}),
    "scatter-rows": (render_scatter("add", "float32", "int64"), {"add": 1}),
    "norm-rows": (rows_of(NORM, 5, ROWS), {"add": 2, "mul": 1, "sub": 2}),
    "norm-columns": (rows_of(NORM, 5, COLUMNS), {"add": 2, "mul": 1, "sub": 2}),
}

# What is a part of a vector, where vectors are so long.
PARTS = {
    "rows-of-fifteen": (
        render_rows(RowNest(2, (EIGHT,), SOFTMAX, ((5, EIGHT),), (0, 1), ROWS, few=15)),
        {"max": 1, "(?:mul|fm|ml)": 1, "div": 1},
    ),
    "filled-map": (
        render_map(MapNest(2, (EIGHT,), (Step("exp", "float32", (0,)),), ((1, EIGHT),), (0, 1), filled=True)),
        {"(?:mul|fm|ml)": 1},
    ),
    "filled-rows": (
        render_rows(RowNest(2, (EIGHT,), SOFTMAX, ((5, EIGHT),), (0, 1), ROWS, filled=True)),
        {"(?:mul|fm|ml)": 1, "div": 1},
    ),
    "columns-of-twelve": (
        render_rows(RowNest(3, (TWELVE,), SOFTMAX, ((5, TWELVE),), (0, 1), (False, True, False), few=12)),
        {"(?:mul|fm|ml)": 1, "div": 1},
    ),
}
KERNELS |= PARTS if vectors().bytes == 64 else {}

# Of reductions, of softmax and of numbers of 16 bits one kernel for each way they are written.
ON_OTHERS = ["sum-rows", "max-columns", "softmax-rows", "bfloat16-cast", "bfloat16-sum-rows", "bfloat16-dot"]


@pytest.mark.sampled
@pytest.mark.parametrize("name", KERNELS)
def test_the_loops_are_packed(run: Runner, name: str) -> None:
    source, operations = KERNELS[name]
    text = assembly(source.text, source.name, run.cache)
    for operation, count in operations.items():
        assert len(packed_loops(text, operation)) >= count, (operation, text)


def test_the_loop_of_maxima_side_by_side_looks_for_nan_in_two_at_a_time(run: Runner) -> None:
    """Of six numbers and what was found before."""
    source, _ = KERNELS["max-columns"]
    text = assembly(source.text, source.name, run.cache)
    several = max(packed_loops(text, "max"), key=lambda loop: loop.count("max"))
    looks = len(re.findall(r"cmp\w*p[sd]\s", several))
    assert several.count("max") % 6 == 0 and 6 * looks <= 4 * several.count("max"), several


def test_the_loop_of_a_maximum_has_one_instruction_for_it(run: Runner) -> None:
    """NaN is looked for beside the maximum; looking for it in between takes five more."""
    source, _ = KERNELS["max-rows"]
    widest = packed_loops(assembly(source.text, source.name, run.cache), "max")[0]
    assert "blend" not in widest


@pytest.mark.parametrize("features", OTHER_PROCESSORS)
def test_the_loops_are_packed_for_other_processors(features: str) -> None:
    """Kernels over rows are compiled once more, as if this one could do less."""
    folder, names = str(Path(__file__).parent), ON_OTHERS
    program = f"""
import sys
sys.path.insert(0, {folder!r})
import tempfile
from pathlib import Path
from loops_in_code import packed_loops
from test_vectors import KERNELS
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.compiler import assembly
from ngraph_rewrite.runtime.features import vectors
cache = Cache(Path(tempfile.mkdtemp()))
for name in {names!r}:
    source, operations = KERNELS[name]
    text = assembly(source.text, source.name, cache)
    assert "%zmm" not in text
    for operation, count in operations.items():
        assert len(packed_loops(text, operation)) >= count, (name, operation)
"""
    found = subprocess.run([sys.executable, "-c", program], env=pretending(features), capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_rows_that_are_taken_by_index_are_copied_in_packed_loops(run: Runner, dtype: str) -> None:
    """One loop for each index; those out of range have one that stores zeros."""
    source = render_gather(dtype, "int64")
    assert copying_loops(assembly(source.text, source.name, run.cache))


@pytest.mark.parametrize("turned", [False, True], ids=["side by side", "apart"])
def test_colours_of_a_picture_are_moved_in_packed_loops(run: Runner, turned: bool) -> None:
    apart, together = Operand("float32", ("s", "1", "s")), Operand("float32", ("s", "s", "1"))
    source = render_copy(*((together, apart) if turned else (apart, together)), (2, 3))
    loops = copying_loops(assembly(source.text, source.name, run.cache))
    assert any(re.search(r"\bv?(?:perm|shuf|blend|insert)\w*\s|\b(?:ld3|st3|tbl)", loop) for loop in loops)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
def test_tiles_are_transposed_in_registers(run: Runner, dtype: str) -> None:
    """Rows that become columns are loaded as vectors, interleaved and stored as vectors."""
    source = render_copy(Operand(dtype, ("1", "s")), Operand(dtype, ("s", "1")))
    text = assembly(source.text, source.name, run.cache)
    assert len(re.findall(r"\bv?(?:perm|shuf|unpck|punpck|blend|pack)\w*\s|\b(?:zip|trn|uzp)[12]", text)) >= 12


SORTS = {"sort": render_sort("float32", False), "argsort": render_argsort("float32", True)}


@pytest.mark.parametrize("name", SORTS)
def test_short_lines_are_sorted_by_vectors_of_comparisons(run: Runner, name: str) -> None:
    """An element is compared with a vector of others at a time; no comparison decides where the program goes on."""
    text = assembly(SORTS[name].text, SORTS[name].name, run.cache)
    assert packed_loops(text, "(?:cmp|cm)")


def test_a_library_function_is_called_where_no_vector_form_holds(run: Runner) -> None:
    """Of large quotients."""
    vector = Operand("float32", ("1",))
    remainder = MapNest(1, (vector, vector), (Step("mod", "float32", (0, 1)),), ((2, vector),), (0, 1, 2))
    source = render_map(remainder)
    assert "fmodf" in assembly(source.text, source.name, run.cache)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_next_number_is_found_by_vectors(run: Runner, dtype: str) -> None:
    vector = Operand(dtype, ("1",))
    following = MapNest(1, (vector, vector), (Step("nextafter", dtype, (0, 1)),), ((2, vector),), (0, 1, 2))
    source = render_map(following)
    text = assembly(source.text, source.name, run.cache)
    assert packed_loops(text, "add|sub") and "nextafter" not in text


def test_elements_are_collected_for_functions_only(run: Runner) -> None:
    """LLVM would compile a packed loop for a stride of 1 alone; the read of the stride keeps it from asking."""
    strided = Operand("float32", ("s",))
    exp, negative = (
        render_map(MapNest(1, (strided,), (Step(op, "float32", (0,)),), ((1, VECTOR),), (0, 1)))
        for op in ("exp", "negative")
    )
    assert "x0_s0 = stride(args, 2)" in exp.text
    assert "x0_s0 = argument(args, 2)" in negative.text


def test_in_place_names_one_address() -> None:
    """With two names for one address, LLVM's check for overlap would send every run to the scalar loop."""
    source, _ = KERNELS["in-place"]
    assert "store_float32(x0, i0" in source.text
    assert source.signature == ("n0", "x0", "x1", "y0")
