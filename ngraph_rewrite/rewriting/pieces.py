# SPDX-License-Identifier: Apache-2.0
"""Small pieces of generated Python: indentation, the names of ops, the elements of a tuple."""

from __future__ import annotations

from ngraph_rewrite.terms.catalogue import OpDef

PAD = "    "


def identifier(definition: OpDef) -> str:
    """The op in the names of functions."""
    return definition.name.replace(".", "_")


def op_name(name: str) -> str:
    """What the definition of an op is called."""
    return "op_" + name.replace(".", "_")


def items_source(items: list[str]) -> str:
    """What stands between the parentheses of a tuple."""
    return "".join(f"{item}, " for item in items).strip() if len(items) == 1 else ", ".join(items)
