# SPDX-License-Identifier: Apache-2.0
"""The side of a helper: kernels whose names come in become machine code of GPUs in the cache folder; it uses no GPU."""

from __future__ import annotations

import json

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.cuda import compiling
from ngraph_rewrite.runtime.cuda.compiler import compile_code
from ngraph_rewrite.runtime.sharing import serve_names


def serve(folder: str, capabilities: str) -> None:
    """Compile for some compute capabilities until no name comes any more."""
    cache = Cache(folder)
    devices = [(major, minor) for major, minor in json.loads(capabilities)]
    compiling.warm()
    serve_names(cache, lambda source, name: compile_code(source, name, devices, cache))
