# SPDX-License-Identifier: Apache-2.0
"""Rewriting: lowering of typed graphs with the library's rules, by the compiled trees and by matchpy.

matchpy is the reference matcher, driven by the same driver; it is measured on small graphs only. The
answer compared is the size of the normal form.
"""

from __future__ import annotations

from collections.abc import Callable

import ngraph_rewrite as ng
from benchmarks.harness import OURS, Run, Workload, measure, options
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, library, lower, matchers_of
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.op import topological


def chain(length: int) -> ng.Op:
    """tanh and additions, one after the other."""
    x = ng.placeholder([ng.Axis("H", 10)])
    for i in range(length):
        x = ng.tanh(x) if i % 2 else x + 1.5
    return x


def layers(length: int) -> ng.Op:
    """A deep network, about eight terms to a layer."""
    h, n = ng.Axis("H", 8), ng.Axis("N")
    x = ng.placeholder([h, n])
    for i in range(max(length // 8, 1)):
        before = ng.Axis(f"H{i}", 8)
        w, b = ng.variable([h, before]), ng.variable([h])
        x = ng.relu(ng.dot(w, ng.cast_axes(x, [before, n])) + b) * 0.5
    return x


def _lowering(graph: ng.Op) -> Callable[[], Run]:
    def make() -> Run:
        matchers = matchers_of(library().of_class(SAFE_CLASSES), Cache())
        return lambda: len(topological(lower([graph], CPU, matchers).roots))

    return make


def main() -> None:
    """Measure what the command line asks for; times are of whole graphs, sizes in their names."""
    chosen = options(__doc__ or "").parse_args()
    size = chosen.size or 2000
    workloads = [Workload(f"{f.__name__}_{size}", {OURS: _lowering(f(size))}) for f in (chain, layers)]
    measure(workloads, chosen)


if __name__ == "__main__":
    main()
