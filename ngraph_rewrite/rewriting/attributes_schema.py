# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of schemas: what kind of fact a term carries, and what it says."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.rewriting.registry import attribute_function


@attribute_function
def has_schema(schema: Any, name: str) -> bool:
    """Whether a schema is this word, or an instance of a class of this name (or of one derived from it).

    >>> has_schema("softmax", "softmax"), has_schema(1.5, "float"), has_schema("softmax", "sigmoid")
    (True, True, False)
    """
    return schema == name if isinstance(schema, str) else any(c.__name__ == name for c in type(schema).__mro__)


@attribute_function
def fact(schema: Any, field: str) -> Any:
    """What a schema says: the value of its field.

    >>> fact(1.5, "real")
    1.5
    """
    try:
        if field.startswith("_"):  # what Python keeps there is no fact of the schema
            raise AttributeError
        return getattr(schema, field)
    except AttributeError:
        raise AttributeValueError(f"the schema {schema!r} has no field {field}", do="guard with has_schema") from None
