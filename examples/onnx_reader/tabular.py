# SPDX-License-Identifier: Apache-2.0
"""Operators of ``ai.onnx.ml`` for tables: what is done to columns, linear models, and support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.lists import WRONG, among, as_long, below
from onnx_reader.scores import labelled, transformed
from onnx_reader.table import TEXTS, ModelError, Value, cast, op, space, term

ML = "ai.onnx.ml."
Numbers = list[Any] | None


# -- columns ------------------------------------------------------------------------------------------------


@op(f"{ML}Scaler")
def scaler(x: Value, *, offset: Numbers = None, scale: Numbers = None) -> Value:
    shift, factor = np.asarray(offset or [0], np.float32), np.asarray(scale or [1], np.float32)
    return (cast(x, np.float32) - shift) * factor


@op(f"{ML}Normalizer")
def normalizer(x: Value, *, norm: str = "MAX") -> Value:
    """Rows over their greatest number, the sum of their sizes, or their length. Such as have 0 stay."""
    among(("MAX", "L1", "L2"), norm=norm)
    x = cast(x, np.float32)
    size = {"MAX": x, "L1": np.abs(x), "L2": x * x}[norm]
    whole = (np.max if norm == "MAX" else np.sum)(size, axis=-1, keepdims=True)
    whole = np.sqrt(whole) if norm == "L2" else whole
    return x / np.where(np.equal(whole, 0), 1, whole)


@op(f"{ML}Imputer")
def imputer(
    x: Value, *, imputed_value_floats: Numbers = None, imputed_value_int64s: Numbers = None,
    replaced_value_float: float = 0.0, replaced_value_int64: int = 0,
) -> Value:  # fmt: skip
    integers = np.dtype(x.dtype).kind in "iu"
    given, gone = (
        (imputed_value_int64s, replaced_value_int64) if integers else (imputed_value_floats, replaced_value_float)
    )
    if not given:
        raise ModelError(f"Imputer of {x.dtype} without numbers of it to fill in", do=WRONG)
    there = np.isnan(x) if gone != gone else np.equal(x, gone)
    return np.where(there, np.asarray(given, x.dtype), x)


@op(f"{ML}Binarizer")
def binarizer(x: Value, *, threshold: float = 0.0) -> Value:
    return cast(np.greater(x, threshold), x.dtype)


@op(f"{ML}ArrayFeatureExtractor")
def array_feature_extractor(x: Value, places: Value) -> Value:
    chosen = np.reshape(places, (-1,))
    if isinstance(chosen, np.ndarray) and isinstance(x.shape[-1], int):
        below(x.shape[-1], Y=chosen)
    found = space(x, chosen).take(x, chosen, axis=-1)
    return np.expand_dims(found, 0) if len(x.shape) == 1 else found


@op(f"{ML}FeatureVectorizer")
def feature_vectorizer(*xs: Value, inputdimensions: Numbers = None) -> Value:
    """Columns side by side."""
    columns = [cast(np.reshape(x, (-1, 1)) if len(x.shape) == 1 else x, np.float32) for x in xs]
    widths = [c.shape[1] for c in columns]
    if inputdimensions and any(isinstance(n, int) for n in widths) and inputdimensions != widths:
        raise ModelError(f"inputdimensions are {inputdimensions}, of inputs of {widths}", do=WRONG)
    return space(*columns).concatenate([term(c) for c in columns] if ng.numpy is space(*xs) else columns, axis=1)


@op(f"{ML}OneHotEncoder")
def one_hot_encoder(x: Value, *, cats_int64s: Numbers = None, cats_strings: Numbers = None, zeros: int = 1) -> Value:
    """What is none of the categories has no 1, whether `zeros` allows it or not."""
    if cats_int64s is None:
        raise ModelError("OneHotEncoder of texts is not supported")
    return cast(np.equal(np.expand_dims(cast(x, np.int64), -1), np.asarray(cats_int64s, np.int64)), np.float32)


@op(f"{ML}LabelEncoder", since=2)
def label_encoder(
    x: Value, *, default_float: float = -0.0, default_int64: int = -1, default_string: str = "_Unused",
    default_tensor: Value = None, keys_floats: Numbers = None, keys_int64s: Numbers = None,
    keys_strings: Numbers = None, keys_tensor: Value = None, values_floats: Numbers = None,
    values_int64s: Numbers = None, values_strings: Numbers = None, values_tensor: Value = None,
) -> Value:  # fmt: skip
    """NaN is a key like others."""
    keys = _first((keys_tensor, None), (keys_int64s, np.int64), (keys_floats, np.float32))
    values = _first((values_tensor, None), (values_int64s, np.int64), (values_floats, np.float32))
    if values is None:
        return TEXTS
    if keys is None:
        raise ModelError("LabelEncoder of texts is not supported")
    as_long(len(keys), values=values)
    otherwise = default_int64 if values_int64s is not None else default_float
    otherwise = otherwise if default_tensor is None else default_tensor.item()
    own = np.expand_dims(x, -1)
    same = np.equal(own, keys)
    same = same | (np.isnan(own) & np.isnan(keys)) if keys.dtype.kind == "f" and np.isnan(keys).any() else same
    found = ng.numpy.take(values, np.argmax(same, axis=-1), axis=0)
    return np.where(np.any(same, axis=-1), found, np.asarray(otherwise, values.dtype))


def _first(*given: tuple[Any, Any]) -> np.ndarray | None:
    return next((np.asarray(v, dtype) for v, dtype in given if v is not None and v is not TEXTS), None)


@op(f"{ML}ZipMap")
def zip_map(x: Value, *, classlabels_int64s: Numbers = None, classlabels_strings: Numbers = None) -> Value:
    """A map from classes to numbers for each sample is the table of these numbers, a column for each class."""
    return x


# -- linear models ------------------------------------------------------------------------------------------


@op(f"{ML}LinearRegressor")
def linear_regressor(
    x: Value, *, coefficients: Numbers = None, intercepts: Numbers = None, post_transform: str = "NONE",
    targets: int = 1,
) -> Value:  # fmt: skip
    return transformed(_linear(x, coefficients, intercepts, targets), post_transform)


def _linear(x: Value, coefficients: Numbers, intercepts: Numbers, targets: int) -> Value:
    weights = np.asarray(coefficients, np.float32).reshape(targets, -1)
    y = np.matmul(cast(x, np.float32), weights.T)
    as_long(targets, intercepts=intercepts or None)
    return y if not intercepts else y + np.asarray(intercepts, np.float32)


@op(f"{ML}LinearClassifier")
def linear_classifier(
    x: Value, *, coefficients: Numbers, classlabels_ints: Numbers = None, classlabels_strings: Numbers = None,
    intercepts: Numbers = None, multi_class: int = 0, post_transform: str = "NONE",
) -> tuple[Value, Value]:  # fmt: skip
    labels = classlabels_ints or classlabels_strings or []
    targets = len(intercepts) if intercepts else max(len(labels), 1)
    if 0 < len(labels) < targets:
        raise ModelError(f"{targets} classes have {len(labels)} labels", do=WRONG)
    return labelled(_linear(x, coefficients, intercepts, targets), labels, post_transform)
