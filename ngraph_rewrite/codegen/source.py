# SPDX-License-Identifier: Apache-2.0
"""The text of a kernel and what it needs: its name, its arguments and the imports its words call for."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_RUNTIME = "ngraph_rewrite.runtime"
_WORDS = {
    "intrinsics": "argument call_block call_words chunk_start lesser line_start stride sum_block wide_vectors",
    "scalar_functions": "fmod sqrt fabs floor ceil rint select maximum minimum overwritten accumulate_max "
    "accumulate_min number_max number_min above below same add_reassociated multiply_reassociated rounding_error "
    "compensated",
    "loop_marks": "fill_loops keep_loops plain_loops write_out_loops",
    "row_reductions": "row_max_float32 row_min_float32 row_sum_float32 row_sum_bool "
    "asked_row_max_float32 asked_row_min_float32 asked_row_sum_float32",
    "transposed_tiles": "tile_space tile_start transpose_block_1 transpose_block_2 transpose_block_4 transpose_block_8",
    "streams": "ask_ahead stream_block stream_end stream_float32 stream_float64",
    "arithmetic": "floor_divide modulo sign integer_power",
    "inverse_hyperbolics": "asinh acosh atanh",
    "inverse_trigonometry": "asin acos atan atan2 hypot",
    "cube_roots": "cbrt",
    "elementary": "nextafter next_float16 next_bfloat16 trunc copysign signbit left_shift right_shift",
    "exponentials": "exp exp2 expm1 tanh sigmoid erf",
    "inverse_error": "erfinv",
    "log_gamma": "lgamma",
    "polygamma": "digamma trigamma",
    "logarithms": "log log2 log10 log1p",
    "trigonometry": "sin cos tan",
    "hyperbolics": "sinh cosh",
    "true_places": "places_of_eight",
    "order_keys": "order_key reverse_order_key rank rank_unequal float32_of_key float64_of_key "
    "reverse_float32_of_key reverse_float64_of_key",
    "powers": "power",
    "casts": "bits_as_float16 bits_as_bfloat16 bits_as_float32 bits_as_float64 bits_of_float16 bits_of_bfloat16 "
    "bits_of_float32 bits_of_float64",
    "gamma_draws": "gamma_draw",
    "count_draws": "binomial_draw poisson_draw",
    "angle_draws": "vonmises_draw zipf_draw",
    "draws": "box_muller philox_block unit_double unit_single",
}
_MODULE_OF = {word: module for module, words in _WORDS.items() for word in words.split()}
_PREFIXES = {
    "load_": "intrinsics", "store_": "intrinsics", "workspace_": "intrinsics", "to_": "casts",
    "row_argmax_": "row_places", "row_argmin_": "row_places", "sort_l": "line_sorting", "argsort_l": "line_sorting",
    "reverse_sort_lines_": "line_sorting", "reverse_argsort_lines_": "line_sorting", "reflect_": "panel_code",
    "change_rows_": "column_code", "turn_rows_": "turning_code", "launch_parts": "parting_code",
    "fourier_": "fourier_code", "lanes_": "matrix_lanes",
    "partition_": "partitions", "sort_pieces_": "line_pieces", "fill_pieces_": "line_pieces",
    "line_keys_": "line_buckets", "range_of_keys_": "line_buckets",
    "count_buckets_": "line_buckets", "move_to_buckets_": "line_buckets", "halve_line_": "line_buckets",
}  # fmt: skip
# What only kernels for a GPU say: where a thread is, and what threads do together.
_CUDA = re.compile(
    r"(load4?|store4?|read4?|write4?|fetch8|to|shared|shuffled|tile|products|left_of|pair_of)_\w+"
    r"|(left|right)_(lines|across)|quad_(largest|sum)|rough_exp2|warp_lanes|aligned|arrived|ask_line|fused|barrier|lanes_of|launch_bounds|anew"
    r"|any_of_(block|warp)|blocks?(_down|_deep)?|lanes?|threads?|warps?|quotient|remainder"
)
_CALL = re.compile(r"\b([a-z_][a-z0-9_]*+)\(")


@dataclass(frozen=True)
class Source:
    """A rendered kernel: ``signature`` names the int64 arguments in the order in which the kernel reads them.

    If it stands for a function of a library, ``library`` is its name, and the text says what that does. If it came of a
    kernel file of somebody's own, ``origin`` has the place of each of its lines there.
    """

    name: str
    text: str
    signature: tuple[str, ...]
    library: str = ""
    origin: tuple[str, ...] = field(default=(), compare=False, repr=False)


def imports(body: str, target: str = "cpu") -> str:
    """Return the import statements for the words a kernel body calls, sorted, one module a line."""
    used: dict[str, set[str]] = {}
    for word in set(_CALL.findall(body)):
        module = _MODULE_OF.get(word) or next((m for p, m in _PREFIXES.items() if word.startswith(p)), None)
        if module:
            used.setdefault(module, set()).add(word)
    lines = ["import numpy as np", ""] if "np." in body else []
    if target == "cuda":
        words = sorted({word for word in _CALL.findall(body) if _CUDA.fullmatch(word) or word in _MODULE_OF})
        return "\n".join([*lines, f"from {_RUNTIME}.cuda.words import {', '.join(words)}"] if words else lines)
    for module in sorted(used):
        lines += [f"from {_RUNTIME}.{module} import {', '.join(sorted(used[module]))}"]
    return "\n".join(lines)


def is_word(name: str, target: str) -> bool:
    """Whether a kernel for a target may call a function of that name, which `imports` then imports.

    >>> is_word("load_float32", "cpu"), is_word("barrier", "cpu"), is_word("print", "cpu")
    (True, False, False)
    """
    prefixed = target == "cpu" and any(name.startswith(prefix) for prefix in _PREFIXES)
    return name in _MODULE_OF or prefixed or (target == "cuda" and _CUDA.fullmatch(name) is not None)


def named(stem: str, text: str, signature: tuple[str, ...]) -> Source:
    """Return the source under a name that its content decides; ``text`` says ``$name`` where the name goes."""
    name = f"{stem}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return Source(name, text.replace("$name", name), signature)


def nested(lines: Iterable[str]) -> list[str]:
    """Lines inside of what stands above them.

    >>> nested(["x = 1"])
    ['    x = 1']
    """
    return [indented(line, 4) for line in lines]


def indented(text: str, spaces: int) -> str:
    """Return the lines moved to the right; empty lines stay empty."""
    return "\n".join(" " * spaces + line if line else "" for line in text.split("\n"))
