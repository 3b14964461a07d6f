# SPDX-License-Identifier: Apache-2.0
"""What a compiler says of a rendered kernel, told with the line of the kernel file that it was rendered from.

Numba names the rendered file and its lines, and lists all candidates that it tried. What is kept of that is what is
wrong, and where: the line that is named first, or the only one that has the name that is spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.errors import KernelError

# Where Numba begins to tell what else it tried, and what it was about.
_REST = re.compile(r"\n\s*\n*(During: |File \"|There (?:are|is) \d+ candidate)")
_PASS = re.compile(r"Failed in nopython mode pipeline \(step: [^)]*\)\s*")
_SPOKEN_OF = re.compile(r"'(\w+)'|\b(\w+)\(\)")


@contextmanager
def told_in_kernel_files(sources: Iterable[Source]) -> Iterator[None]:
    """Errors of compiling some of these sources name the kernel file and line, if the source came of one."""
    try:
        yield
    except KernelError as error:
        source = next((s for s in sources if s.origin and error.where and Path(error.where).stem == s.name), None)
        if source is None:
            raise
        raise in_kernel_file(error, source) from error


def in_kernel_file(error: KernelError, source: Source) -> KernelError:
    """The error of compiling a source that came of a kernel file, as one of that file.

    Args:
        error: What was said: its place is the rendered file.
    """
    rendered = str(error.where)
    line = _line(error.what, source, rendered)
    what = _PASS.sub("", error.what)
    what = " ".join(_REST.split(what, maxsplit=1)[0].split())
    what = _mentioned(rendered).sub(lambda found: _place(source, int(found[1])), what)
    text = f": `{source.text.split(chr(10))[line - 1].strip()}`" if line else ""
    where = _place(source, line) if line else source.origin[0].rpartition(":")[0]
    return KernelError(f"{what}{text}", where=where, do=f"mend the line; rendered, the kernel is {rendered}")


def _mentioned(rendered: str) -> re.Pattern[str]:
    return re.compile(re.escape(rendered) + r" \((\d+)\)")


def _place(source: Source, line: int) -> str:
    return source.origin[min(line, len(source.origin)) - 1]


def _line(said: str, source: Source, rendered: str) -> int | None:
    """The line of the rendered source that a message is about."""
    during = _mentioned(rendered).search(said[said.find("During: ") :]) or _mentioned(rendered).search(said)
    if during is not None:
        return int(during[1])
    for found in _SPOKEN_OF.finditer(said):
        word = re.compile(rf"\b{found[1] or found[2]}\b")
        lines = [number for number, line in enumerate(source.text.split("\n"), 1) if word.search(line)]
        own = [number for number in lines if not source.text.split("\n")[number - 1].startswith(("import ", "from "))]
        if len(own) == 1:
            return own[0]
    return None
