# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that are not loop nests over scalar expressions: products of matrices, gather, random draws."""

from collections.abc import Sequence
from functools import cache

from ngraph_rewrite.codegen.nest import argument_lines
from ngraph_rewrite.codegen.scalar import DTYPES, cast, expression, held, literal
from ngraph_rewrite.codegen.source import Source, imports, named
from ngraph_rewrite.codegen.template import KernelTemplate, kernel_template
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.types.dtypes import as_dtype

LANES = "256"


def rendered(kernel: str, names: tuple[str, ...], target: str = "cpu", arguments: str = "", **holes: str) -> Source:
    """Return a kernel file's body for a target as a source with these arguments, its holes filled.

    Args:
        arguments: The lines that read them, where these are not as usual.
    """
    template = kernel_template(kernel)
    text = template.fill(target, **common_holes(template, names, arguments), **holes, imports="$imports")
    above, _, code = text.partition("$imports")
    return named(kernel, above + imports(code, target) + code, names)


def common_holes(template: KernelTemplate, names: Sequence[str], arguments: str = "") -> dict[str, str]:
    """What stands in the holes that all kernels with these arguments have, but for ``imports``."""
    listed = ", ".join(names)
    common = {"name": "$name", "idea": template.idea, "signature": listed}
    return common | {"arguments": arguments or argument_lines(names), "parameters": listed}


def has_dtype(dtype: str, allowed: tuple[str, ...], kernel: str) -> None:
    """Raise `KernelError` unless the kernel exists for the dtype."""
    if dtype not in allowed:
        raise KernelError(f"no {kernel} kernel for {dtype}", do=f"dtypes it has: {', '.join(allowed)}")


def index_holes(dtype: str, index_dtype: str) -> dict[str, str]:
    """Return what kernels that read an index ``at`` have in common: a negative one counts from the end."""
    has_dtype(index_dtype, tuple(name for name in DTYPES if "int" in name), "index")
    wrap = "pass" if index_dtype.startswith("u") else "at = select(at < 0, at + length, at)"
    return {"dtype": dtype, "index_dtype": index_dtype, "zero": literal(0, dtype), "wrap": wrap}


@cache
def render_dot(dtype: str) -> Source:
    """Return the kernel C[m, n] = A[m, k] B[k, n] for any dtype, with run-time strides in elements.

    C is row-major, and ``ldc`` is the stride of its rows.

    >>> render_dot("int32").signature
    ('m', 'n', 'k', 'a', 'a_sm', 'a_sk', 'b', 'b_sk', 'b_sn', 'c', 'ldc')
    """
    has_dtype(dtype, DTYPES, "dot")
    own = held(dtype)
    product = expression("multiply", own, ["x", "y"], {}, [own, own])
    total = expression("add", own, ["total", "product"], {}, [own, own])
    names = ("m", "n", "k", "a", "a_sm", "a_sk", "b", "b_sk", "b_sn", "c", "ldc")
    holes = {"dtype": dtype, "held": own, "product": product, "sum": total, "zero": literal(0, own)}
    return rendered("dot", names, lanes=LANES, **holes)


@cache
def render_gather(dtype: str, index_dtype: str, target: str = "cpu") -> Source:
    """Return the kernel y[o, j, :] = x[o, index[j], :]; x has strides ``x_so`` and ``x_sk`` and unit stride inside.

    ``length`` is the length of x's indexed axis. y and index are contiguous.

    >>> render_gather("float32", "int64").signature
    ('outer', 'count', 'inner', 'length', 'x', 'x_so', 'x_sk', 'index', 'y')
    """
    has_dtype(dtype, DTYPES, "gather")
    names = ("outer", "count", "inner", "length", "x", "x_so", "x_sk", "index", "y")
    return rendered("gather", names, target, **index_holes(dtype, index_dtype))


@cache
def render_random(kind: str, dtype: str, target: str = "cpu") -> Source:
    """Return the kernel that fills ``count`` elements at ``y`` with uniform or normal draws.

    ``call`` is the address of an int64 call counter, which it reads only; ``first`` and ``second`` are the bits of the
    float64 low and high, or loc and scale, ``most`` those of the last number below high. The draws are those of
    `ngraph_rewrite.runtime.philox`.

    >>> render_random("uniform", "float32").signature
    ('y', 'count', 'seed', 'call', 'stream', 'first', 'second', 'most')
    """
    has_dtype(dtype, ("float16", "bfloat16", "float32", "float64"), "random")
    has_dtype(kind, ("uniform", "normal"), "random")
    units = ["unit_double(a, b)", "unit_double(c, d)"]
    if dtype != "float64":
        units = [f"unit_single({word})" for word in "abcd"]
    draws = [f"u{i} = {text}" for i, text in enumerate(units)]
    ends = ("first", "second", "most") if kind == "uniform" else ("first", "second")
    if kind == "uniform":
        for i in range(len(units)):
            draws += [f"u{i} = first + u{i} * (second - first)", f"u{i} = most if u{i} > most else u{i}"]
    else:
        draws += [f"u{i}, u{i + 1} = box_muller(u{i}, u{i + 1})" for i in range(0, len(units), 2)]
        draws += [f"u{i} = first + second * u{i}" for i in range(len(units))]
    values = [cast(f"u{i}", "float64", dtype) for i in range(len(units))]
    stores = [f"if at + {i} < count:\n    store_{dtype}(y, at + {i}, {value}, 0)" for i, value in enumerate(values)]
    holes = {"per_block": str(len(units)), "draws": "\n".join(draws), "stores": "\n".join(stores)}
    holes["ends"] = "\n".join(f"{end} = bits_as_float64({end})" for end in ends)
    names = ("y", "count", "seed", "call", "stream", *ends)
    return rendered("random", names, target, **holes, whole=_whole(dtype, values), width=str(len(units) * _size(dtype)))


def _whole(dtype: str, values: list[str]) -> str:
    """The store of all values that one turn of a generator gives, side by side."""
    if len(values) == 4:
        return f"store4_{dtype}(y, at, {', '.join(values)})"
    return "\n".join(f"store_{dtype}(y, at + {i}, {value}, 0)" for i, value in enumerate(values))


def _size(dtype: str) -> int:
    return as_dtype(dtype).itemsize
