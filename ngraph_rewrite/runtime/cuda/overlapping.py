# SPDX-License-Identifier: Apache-2.0
"""Launches that overlap, on GPUs since Hopper: blocks of a kernel take their places while the one before it ends.

There each of them waits, before it does anything else, until all that was launched before is done, and what that wrote
is there to be read. Then it lets the next kernel begin likewise; that has places once all blocks of this one have.
Launched in another way, a kernel waits for nothing here. (PTX ISA, griddepcontrol; CUDA C++ Programming Guide,
Programmatic Dependent Launch.)
"""

import os
import re

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.cuda.generation import HOPPER

# The head of a kernel, and what is declared at the beginning of its body.
_BEGIN = re.compile(r"\.entry\b[^{]*\{(?:\s*(?://.*|\.(?:reg|shared|local)\b[^;]*;))*")
_WAITS = "\n\tgriddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;"
# Whether launches may overlap: 0 says no, where a kernel of another library does not wait as it should.
_OVERLAP = "NGRAPH_REWRITE_OVERLAP"


def can_overlap(capability: tuple[int, int]) -> bool:
    """Whether GPUs of a compute capability know of such launches.

    >>> can_overlap((9, 0)), can_overlap((8, 9))
    (True, False)
    """
    return capability >= HOPPER


def may_overlap(capability: tuple[int, int]) -> bool:
    """Whether launches overlap on such a GPU: unless ``NGRAPH_REWRITE_OVERLAP=0`` says that they shall not."""
    return can_overlap(capability) and os.environ.get(_OVERLAP) != "0"


def overlapping(ptx: str, capability: tuple[int, int]) -> str:
    r"""PTX whose kernel waits as such launches have to, if it is for GPUs that know of them.

    Raises:
        KernelError: if there is no kernel in it, or more than one.

    >>> print(overlapping(".entry map(\n)\n{\n\t.reg .b32 %r<2>;\n\n\tret;\n}", (9, 0)).expandtabs(4))
    .entry map(
    )
    {
        .reg .b32 %r<2>;
        griddepcontrol.wait;
        griddepcontrol.launch_dependents;
    <BLANKLINE>
        ret;
    }
    """
    if not can_overlap(capability):
        return ptx
    text, kernels = _BEGIN.subn(lambda found: found[0] + _WAITS, ptx)
    if kernels != 1:  # one that does not wait would read what is not there yet
        raise KernelError(f"{kernels} kernels begin in what the compiler made, and one is needed")
    return text
