# SPDX-License-Identifier: Apache-2.0
"""The side of a helper: kernels whose names come in become object code in the cache folder, one after the other."""

from __future__ import annotations

import signal
import sys

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime import objectcode
from ngraph_rewrite.runtime.compiler import compile_object


def serve(folder: str) -> None:
    """Answer each line, a name, once it is done or was seen to fail; the end of the input is the end.

    A failure is no answer of its own: who asked finds nothing in the folder, tries it and sees the reason.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for who asked, who will end this
    cache = Cache(folder)
    objectcode.warm()
    print("ready", flush=True)
    for line in sys.stdin:
        name = line.strip()
        source = cache.read(name, "py")
        if source is not None:
            try:
                compile_object(source.decode(), name, cache)
            except KernelError:
                pass
        print("done", flush=True)
