# SPDX-License-Identifier: Apache-2.0
"""The innermost loops of a kernel, as they stand in its assembly."""

import os
import platform
import re
from collections.abc import Iterator

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
# What Numba is told to compile for, in place of this processor.
OTHER_PROCESSORS = ["+avx,+avx2,+fma", "+sse2"] if MACHINE == "x86_64" else ["+neon"]


def pretending(features: str) -> dict[str, str]:
    """The environment of a process that compiles for another processor."""
    cpu = "x86-64" if MACHINE == "x86_64" else "generic"
    return os.environ | {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}


_PACKED = {"x86_64": r"\bv?{}\w*p[sd]\s", "aarch64": r"\bf{}\w*\s+(?:v\d+\.(?:4s|2s|2d)|[zp]\d+\.[sd])"}
_COPIED = {"x86_64": r"\bv?mov[ua]p[sd]\s.*%[xyz]mm|\bv?movdq[ua]", "aarch64": r"\bldp?r?\s+[qz]\d+|\bld1[bhwd]\s+\{ z"}
_LABEL, _JUMP = re.compile(r"^(\.L\w+):"), re.compile(r"^\s+(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\b.*?(\.L\w+)\s*$")


def innermost_loops(assembly: str) -> Iterator[str]:
    """Stretches of code from a label to the jump back to it in which nothing jumps back."""
    lines = assembly.split("\n")
    place = {found[1]: i for i, line in enumerate(lines) if (found := _LABEL.match(line))}
    jumps = [(place.get(found[1], len(lines)), i) for i, line in enumerate(lines) if (found := _JUMP.match(line))]
    back = [(target, i) for target, i in jumps if target <= i]
    for begin, end in back:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in back):
            yield "\n".join(lines[begin : end + 1])


def packed_loops(assembly: str, operation: str) -> list[str]:
    """The innermost loops that do an operation (a pattern) on packed registers."""
    return [loop for loop in innermost_loops(assembly) if re.search(_PACKED[MACHINE].format(operation), loop)]


def copying_loops(assembly: str) -> list[str]:
    """The innermost loops that load or store packed registers whole."""
    return [loop for loop in innermost_loops(assembly) if re.search(_COPIED[MACHINE], loop)]
