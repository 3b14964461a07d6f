# SPDX-License-Identifier: Apache-2.0
"""What a kernel asks about its loops is what LLVM does."""

from __future__ import annotations

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.source import imports, named
from ngraph_rewrite.runtime.compiler import assembly

_SUM = """
def $name(args, chunk, nchunks):
    {asked}
    x, total = argument(args, 0), np.float64(0)
    for i in range(argument(args, 1)):
        total = total + load_float64(x, i, 0)
    store_float64(x, 0, total, 0)
"""


def _lines(asked: str) -> int:
    """How many lines of assembly a sum has whose length is not known."""
    text = _SUM.format(asked=asked)
    source = named("sum", f"{imports(text)}\n{text}", ())
    return assembly(source.text, source.name, Cache()).count("\n")


def test_plain_loops_are_not_written_out() -> None:
    assert _lines("plain_loops()") < _lines("pass")
