# SPDX-License-Identifier: Apache-2.0
"""Names that are looked for in ``ng.numpy`` and are not there: what to write instead.

Some are NumPy's, some of earlier versions of it, some of other libraries that follow it.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from ngraph_rewrite.errors import MissingMethodError
from ngraph_rewrite.terms.info import user_line

_COMPLEX = "no term is complex: ng.numpy.fft.Complex is a pair of them, and NumPy computes the rest, of values"
_NO_DTYPE = "there is no such dtype: terms are of bools, and of integers and floats of up to 64 bits"
_SEED = "the seed is that of a transformer: ng.make_transformer(name, seed=...)"
_DISTANCE = "nothing is counted before values are known: give known places, as x[start:stop]"
_OF_ARRAYS = "NumPy's is of arrays, and terms have no values: give it what transformer.computation(term)() gives"
_READ = "read it with NumPy: functions take arrays, and ng.numpy.asarray makes terms of them"

_SLOPE = "ng.deriv(y, x) is the slope of a scalar; of what is none, ng.deriv(y, x, error=adjoint)"
_JACOBIAN = "a row for each element of y: ng.numpy.vmap(lambda e: ng.deriv(y, x, error=e))(ng.numpy.eye(y.size))"
# What libraries do with functions that is done with terms here: what to write instead.
TRANSFORMS: Mapping[str, str] = {
    **dict.fromkeys(("grad", "value_and_grad", "gradients", "vjp", "backward"), _SLOPE),
    **dict.fromkeys(("jvp", "linearize"),
                    "u = ng.numpy.zeros_like(y); ng.deriv(ng.deriv(y, x, error=u), u, error=direction)"),
    **dict.fromkeys(("jacobian", "jacrev", "jacfwd"), _JACOBIAN),
    "hessian": "slopes of slopes: ng.numpy.vmap(lambda e: ng.deriv(ng.deriv(y, x), x, error=e))(ng.numpy.eye(x.size))",
    **dict.fromkeys(("custom_vjp", "custom_jvp", "custom_gradient"), "use ng.with_deriv"),
    "fori_loop": "use ng.numpy.scan(step, state, length=steps), or ng.scan along an axis",
    **dict.fromkeys(("jit", "compile"), "transformer.computation(terms, *inputs) compiles them"),
}  # fmt: skip

# What to write instead, by the last part of the module's name.
_INSTEAD: Mapping[str, Mapping[str, str]] = {
    "numpy": {
        **dict.fromkeys(("complex64", "complex128", "roots", "sort_complex", "real_if_close"), _COMPLEX),
        "trim_zeros": _DISTANCE,
        "copyto": "terms are immutable: ng.numpy.where(mask, values, x), or ng.numpy.at(x)[index].set(values)",
        **dict.fromkeys(("vectorize", "frompyfunc", "nditer", "ndenumerate", "ndindex"),
                        "ng.numpy.vmap maps a function over an axis"),
        "broadcast": "use ng.numpy.broadcast_arrays, or broadcast_shapes", "from_dlpack": "use ng.numpy.asarray",
        **dict.fromkeys(("asfortranarray", "asarray_chkfinite", "require", "asfarray", "tensor", "as_tensor"),
                        "use ng.numpy.asarray"),
        **dict.fromkeys(("float96", "float128", "longdouble", "str_", "bytes_", "object_", "void", "record", "recarray",
                         "datetime64", "timedelta64"), _NO_DTYPE),
        "einsum_path": "ng.numpy.einsum finds an order by itself", "bmat": "use ng.numpy.block",
        "sliding_window_view": "use ng.numpy.pooling or convolution, or ng.simple.windows",
        **dict.fromkeys(("layer_norm", "batch_norm"), "ng.simple has it by position, ng by name"),
        **dict.fromkeys(("conv", "conv1d", "conv2d", "conv3d"), "use ng.numpy.convolution"),
        **dict.fromkeys(("conv_transpose", "conv_transpose2d"), "use ng.numpy.deconvolution"),
        **dict.fromkeys(("max_pool", "avg_pool", "max_pool2d", "avg_pool2d"), "use ng.numpy.pooling"),
        "cross_entropy": "-ng.numpy.take_along_axis(ng.numpy.log_softmax(scores, axis=-1), classes[:, None], axis=-1)",
        "glu": "a, b = ng.numpy.split(x, 2, axis=-1); a * ng.numpy.sigmoid(b)",
        "index_update": "use ng.numpy.at(x)[index].set(values)",
        **dict.fromkeys(("cummax", "cumulative_max"), "np.maximum.accumulate takes terms"),
        **dict.fromkeys(("cummin", "cumulative_min"), "np.minimum.accumulate takes terms"),
        "nn": "functions between layers are in ng.numpy itself: softmax, relu, convolution, ...",
        "lax": "loops are ng.while_loop, ng.cond and ng.numpy.scan; all else is in ng.numpy itself",
        "scipy": "ng.numpy.special has functions of scipy.special, ng.numpy.linalg those of linear algebra",
        **dict.fromkeys(("dynamic_slice", "dynamic_slice_in_dim"), "x[start + ng.numpy.arange(size)]"),
        **dict.fromkeys(("dynamic_update_slice", "dynamic_update_slice_in_dim"),
                        "ng.numpy.at(x)[start + ng.numpy.arange(size)].set(values)"),
        **TRANSFORMS,
    },
    "linalg": {
        **dict.fromkeys(("eig", "eigvals"), "eigenvalues of what is not symmetric are complex; eigh is for what is"),
        "LinAlgError": "values are not known when a graph is built: what cannot be computed is NaN, no error",
        "matvec": "use ng.numpy.matvec",
    },
    "fft": {},
    "special": {
        "lambertw": "it is complex; of positive numbers Newton's way in ng.while_loop finds the real one",
    },
    "random": {
        "hypergeometric": "draw them with NumPy, and give them as an argument",
        **dict.fromkeys(("seed", "default_rng", "RandomState", "Generator", "get_state", "PRNGKey"), _SEED),
    },
}  # fmt: skip
# Other names of what is there.
NAMES: Mapping[str, Mapping[str, str]] = {
    "numpy": {
        "row_stack": "vstack", "trapz": "trapezoid", "in1d": "isin", "product": "prod", "cumproduct": "cumprod",
        "sometrue": "any", "alltrue": "all", "round_": "round", "msort": "sort", "cat": "concat", "swish": "silu",
        "clamp": "clip", "unsqueeze": "expand_dims", "permute": "permute_dims", "gather": "take_along_axis",
        "mm": "matmul", "bmm": "matmul", "masked_fill": "where", "scatter": "at", "topk": "top_k",
        "logsigmoid": "log_sigmoid", "hardtanh": "hard_tanh", "hardsigmoid": "hard_sigmoid",
        "hardswish": "hard_silu", "hard_swish": "hard_silu", "softsign": "soft_sign",
        "expit": "sigmoid", "gammaln": "lgamma", "PINF": "inf", "Inf": "inf", "NaN": "nan",
        "float_": "float64", "bool_": "bool", "single": "float32", "double": "float64", "half": "float16",
        "int_": "int64",
        "matrix_power": "linalg.matrix_power", "norm": "linalg.norm", "solve": "linalg.solve", "inv": "linalg.inv",
        "promote_types": "result_type",
        "igamma": "special.gammainc", "igammac": "special.gammaincc",
    },
    "special": {
        "lgamma": "gammaln", "loggamma": "gammaln", "sigmoid": "expit", "igamma": "gammainc", "igammac": "gammaincc",
        "bessel_i0": "i0", "bessel_i0e": "i0e", "bessel_i1": "i1", "bessel_i1e": "i1e",
    },
    "linalg": {"triangular_solve": "solve_triangular", "lu_solve": "solve"},
    "fft": {"dft": "fft", "dft2": "fft2", "dftn": "fftn", "idft": "ifft", "rdft": "rfft", "irdft": "irfft"},
    "random": {
        "rand": "random", "random_sample": "random", "ranf": "random", "sample": "random", "randn": "standard_normal",
        "randint": "integers", "random_integers": "integers", "shuffle": "permutation", "permuted": "permutation",
        "categorical": "choice", "bernoulli": "binomial",
    },
}  # fmt: skip


def refused(module: ModuleType, name: str) -> AttributeError:
    """The error for a name that a module has not.

    >>> import ngraph_rewrite as ng
    >>> raise refused(ng.numpy, "trapz")
    Traceback (most recent call last):
        ...
    ngraph_rewrite.errors.MissingMethodError: ng.numpy has no trapz
    ...
    """
    called = _called(module)
    if name.startswith("_"):
        return AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
    return MissingMethodError(f"{called} has no {name}", where=user_line(), do=instead(module, name))


def instead(module: ModuleType, name: str) -> str | None:
    """What to write where a module lacks a name; None if nothing comes near.

    >>> import ngraph_rewrite as ng
    >>> instead(ng.numpy.random, "randn"), instead(ng.numpy, "sofmax"), instead(ng.numpy, "deriv")
    ('use ng.numpy.random.standard_normal', 'did you mean ng.numpy.softmax?', 'use ng.deriv')
    """
    called, short = _called(module), module.__name__.rpartition(".")[2]
    if name in module.__all__:
        return f"{called}.{name} gives another term, and changes nothing"
    if name in _INSTEAD[short]:
        return _INSTEAD[short][name]
    if name in NAMES[short]:
        return f"use {called}.{NAMES[short][name]}"
    special = sys.modules[f"{__name__.rpartition('.')[0]}.special"]
    if name in special.__all__:
        return f"use ng.numpy.special.{name}"
    root = sys.modules[__name__.partition(".")[0]]
    if name in root.__all__ and name not in ("numpy", "simple", "semi"):
        return f"use ng.{name}"
    if (told := _of_numpy(short, name)) is not None:
        return told
    near = difflib.get_close_matches(name, module.__all__, n=1, cutoff=0.8)
    return f"did you mean {called}.{near[0]}?" if near else None


def _of_numpy(short: str, name: str) -> str | None:
    """What to say of NumPy's other names: its dtypes serve here, its functions take values."""
    there: Any = getattr(np if short == "numpy" else getattr(np, short, None), name, None)
    if there is None:
        return None
    if inspect.isclass(there) and issubclass(there, np.complexfloating):
        return _COMPLEX
    if name in _OF_TYPES or (inspect.isclass(there) and issubclass(there, np.generic)):
        return f"np.{name} is of dtypes and indices, and serves beside terms as well"
    return _READ if name.startswith(("load", "from", "genfrom")) else _OF_ARRAYS


def _called(module: ModuleType) -> str:
    return module.__name__.replace(f"{__name__.partition('.')[0]}.frontend", "ng", 1)


# What NumPy has for types and indices, which are the same here.
_OF_TYPES = frozenset(
    {
        "common_type", "dtype", "index_exp", "isscalar", "issubdtype", "iterable", "min_scalar_type", "mintypecode",
        "s_", "typecodes", "typename",
    }
)  # fmt: skip
