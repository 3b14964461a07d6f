# SPDX-License-Identifier: Apache-2.0
"""Labels of axes on terms: the two ops that put them on and take them off, and nothing else."""

from __future__ import annotations

from ngraph_rewrite.terms.op import Op

STRIP, LABEL = "core.strip", "core.label"
LABELS = (STRIP, LABEL)


def unlabelled(term: Op) -> Op:
    """A term without what takes labels off it, or puts them on."""
    while term.definition.name in LABELS:
        term = term.args[0]
    return term
