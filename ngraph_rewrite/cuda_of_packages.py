# SPDX-License-Identifier: Apache-2.0
"""Programs of the kernels for GPUs that installed packages have: one op each, of types and attributes that are drawn.

The kernels that ship have programs that somebody wrote; of others it is known what may be drawn of their ops, as it
is where they are compared with what these mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from types import MappingProxyType

import ngraph_rewrite as ng
from ngraph_rewrite.codegen.added_kernels import package_kernels
from ngraph_rewrite.codegen.opkernels import OpKernel
from ngraph_rewrite.cuda_programs import Built
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.testing.seldom import long_examples
from ngraph_rewrite.testing.strategies import examples_of

# So many searches for instances with long axes, so many with short ones, and so many kernels of one file.
_LONG, _SHORT, _MOST, _ELEMENTS = 12, 24, 6, 4000


@cache
def programs_of_packages() -> Mapping[str, Callable[[], Built]]:
    """A program for each kernel that the files of packages make for GPUs; one that fails for a file that makes none.

    Raises:
        ExtensionError: if a package's kernels cannot be used.
    """
    found = dict[str, Callable[[], Built]]()
    for name, kernel in package_kernels().items():
        if "cuda" not in kernel.template.bodies:
            continue
        terms = dict(_terms(kernel))
        if not terms:
            found[name] = partial(_nothing, kernel)
        found.update({f"{name} {i}" if i else name: partial(_built, term) for i, term in enumerate(terms.values())})
    return MappingProxyType(found)


def executed(built: Built) -> frozenset[str]:
    """The ops of packages that a program has: a target for GPUs executes them too."""
    ops = (t.definition for t in ng.topological([built[0]])) if isinstance(built[0], ng.Op) else ()
    return frozenset(definition.name for definition in ops if not definition.shipped)


def _terms(kernel: OpKernel) -> Iterator[tuple[str, ng.Op]]:
    """Instances of an op by the name of the kernel that each has; long ones first: they take several blocks."""
    names = set[str]()
    for example in chain(long_examples(kernel.rule, _LONG, 0, _ELEMENTS), examples_of(kernel.rule, _SHORT)):
        term = example.instance.term
        match = kernel.match(term) if term.size else None
        name = None if match is None else kernel.render(term, match, "cuda")[0].name
        if name is not None and name not in names and len(names) < _MOST:
            names.add(name)
            yield name, term


def _built(term: ng.Op) -> Built:
    inputs = [ng.placeholder(arg.shape, arg.dtype) for arg in term.args]
    attributes = dict(zip(term.definition.attributes, term.attrs, strict=True))
    return ng.make_op(term.definition.name, *inputs, **attributes), inputs


def _nothing(kernel: OpKernel) -> Built:
    what = f"no instance of {kernel.definition} was found"
    raise KernelError(what, do="say what can be drawn with ng.argument_domain and ng.attribute_domain")
