# SPDX-License-Identifier: Apache-2.0
"""From a kernel to PTX: no device need be there.

Numba's own launches let the compiler put a product and a sum into one instruction, which rounds once. A kernel says
where that may be, so this is switched off here, for what the kernel calls too.
"""

from collections.abc import Callable

from numba.core import types
from numba.cuda import compiler

_OPTIONS = {"opt": 3, "fma": 0}


def compile_ptx(kernel: Callable[..., None], arguments: int, capability: tuple[int, int]) -> tuple[str, str]:
    """Return the name by which a module has the kernel, and the text of the module.

    Args:
        arguments: How many int64 the kernel takes, by value.
        capability: That of the device, such as ``(9, 0)``.
    """
    signature = (types.int64,) * arguments
    compiled = compiler.compile_cuda(kernel, types.void, signature, nvvm_options=_OPTIONS, cc=capability)
    library, name = compiled.library, compiled.fndesc.llvm_func_name
    compiler.kernel_fixup(library.get_function(name), debug=False)
    return name, library.get_asm_str(cc=capability)
