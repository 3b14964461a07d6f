# SPDX-License-Identifier: Apache-2.0
"""The ops of control: the present state of a variable, facts about a term, and calls of functions."""

from __future__ import annotations

import dataclasses
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, SequencingError
from ngraph_rewrite.ops.checks import flag, identity, several
from ngraph_rewrite.terms.binders import Bound
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


@op("core.present", "view", meaning=lambda term, x: x)
def present(x: TensorType) -> TensorType:
    """The variable `x` as the write above this term finds it: after all writes that happened before it.

    An assignment to a part of a variable keeps the rest of it so. Sequencing resolves it.
    """
    if not isinstance(x, TensorType):
        raise SequencingError(f"expected a variable, got {x!r}")
    return x


def _frozen(schema: Any) -> bool:
    """Whether it is an instance of a frozen dataclass."""
    is_instance = dataclasses.is_dataclass(schema) and not isinstance(schema, type)
    return is_instance and bool(getattr(type(schema), "__dataclass_params__").frozen)  # noqa: B009


def _schema(x: TensorType, *facts: TensorType, schema: Any) -> Attributes:
    if not (_frozen(schema) or (isinstance(schema, str) and schema)):
        raise AttributeValueError(
            f"the schema is {schema!r}", do="give a word, or an instance of a frozen dataclass: it is never changed"
        )
    try:
        hash(schema)
    except TypeError as error:
        raise AttributeValueError(
            f"the schema {schema!r} has no hash: {error}", do="use tuples for lists, and give terms as facts"
        ) from None
    return {"schema": schema}


@op("core.annotated", "view", meaning=lambda term, x, *facts: x, normalise=_schema)
def annotated(x: TensorType, *facts: TensorType, schema: Any) -> TensorType:
    """`x`, with facts that its construction knew: terms, and a schema that says what they are to it."""
    return x


# -- functions --------------------------------------------------------------------------------------


def _call(term: Op, *args: Any) -> Bound:
    parameters = term.attribute("parameters")
    values = yield dict(zip(parameters, args, strict=False))
    results = values[len(parameters) :]
    return results[0] if term.attribute("single") else tuple(results)


def _call_attributes(*xs: TensorType, parameters: Any, function: Any, single: Any) -> Attributes:
    uids = tuple(identity(p) for p in several(parameters, "parameters"))
    if not isinstance(function, str):
        raise AttributeValueError(f"function is {function!r}", do="give the name of the function")
    results = len(xs) - len(uids)
    if results < 1 or (flag(single, "single") and results != 1):
        raise ArgumentError(f"{len(xs)} terms for {len(uids)} parameters", do="give arguments, then results")
    return {"parameters": uids, "function": function, "single": flag(single, "single")}


@op("core.call", "binder", meaning=_call, normalise=_call_attributes)
def call(*xs: TensorType, parameters: tuple[Uid, ...], function: str, single: bool) -> TensorType:
    """The results of a function for arguments: first these, then the results, in which the parameters stand for them.

    It is a tuple, unless the function has a `single` result.
    """
    results = xs[len(parameters) :]
    return results[0] if single else TupleType(results)
