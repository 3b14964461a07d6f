# SPDX-License-Identifier: Apache-2.0
"""The side of a helper: kernels whose names come in become object code in the cache folder, one after the other."""

from __future__ import annotations

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime import objectcode
from ngraph_rewrite.runtime.compiler import compile_object
from ngraph_rewrite.runtime.sharing import serve_names


def serve(folder: str) -> None:
    """Compile until no name comes any more."""
    cache = Cache(folder)
    objectcode.warm()
    serve_names(cache, lambda source, name: compile_object(source, name, cache))
