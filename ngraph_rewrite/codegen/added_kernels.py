# SPDX-License-Identifier: Apache-2.0
"""The kernels that third parties added, in this process or by a package, and the one that computes a term."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ngraph_rewrite.codegen.opkernel_files import kernel_text, read_kernel
from ngraph_rewrite.codegen.opkernels import OpKernel
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.errors import KernelError, RuleFileError
from ngraph_rewrite.plugins import DataFile, load_plugin_ops, plugin_files, unusable
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

_ADDED: dict[str, OpKernel] = {}


def add_kernel(source: str | os.PathLike[str]) -> None:
    """Use a kernel of your own: the text of a kernel file, or its path. One of the same name is replaced.

    Raises:
        KernelError, RuleFileError: if it is not right, with file and line.
        ArgumentError: if it is neither.
    """
    if isinstance(source, str) and "\n" in source:
        kernel = read_kernel(source)
    else:
        kernel = read_kernel(kernel_text(source), os.fspath(source))
    _ADDED[kernel.template.name] = kernel


@cache
def package_kernels() -> Mapping[str, OpKernel]:
    """The kernels of installed packages, by the names of package and kernel.

    Raises:
        ExtensionError: if one cannot be used.
    """
    load_plugin_ops()
    files = plugin_files("kernels", ".kernel")
    kernels = map(_of_package, files)
    return MappingProxyType({f"{f.package}/{k.template.name}": k for f, k in zip(files, kernels, strict=True)})


def _of_package(file: DataFile) -> OpKernel:
    """The kernel in a file of a package."""
    try:
        return read_kernel(kernel_text(file.path), file.shown)
    except (KernelError, RuleFileError) as error:
        raise unusable(file.package, str(error)) from error


def kernels_of(definition: OpDef) -> tuple[OpKernel, ...]:
    """The kernels of an op, those added here first.

    Raises:
        ExtensionError: if a package's kernels cannot be used.
    """
    every = (*_ADDED.values(), *package_kernels().values())
    return tuple(k for k in every if k.definition is definition)


def has_kernel(definition: OpDef) -> bool:
    """Whether a third party gave the op a kernel."""
    if not _ADDED and not package_kernels():
        return False
    return bool(kernels_of(definition))


def _refusal(kernel: OpKernel, target: str) -> str:
    """Why a kernel computes a term on a target not."""
    if target not in kernel.template.bodies:
        return f"{kernel.template.place} has no body for {target}"
    return f"{kernel.template.place} asks if {kernel.rule.guard}"


def rendered(term: Op, target: str = "cpu") -> tuple[Source, list[int]]:
    """The kernel that computes a term on a target, and its leading arguments.

    Raises:
        KernelError: if no kernel of its op takes it.
    """
    kernels = kernels_of(term.definition)
    for kernel in kernels:
        found = kernel.match(term)
        if found is not None and target in kernel.template.bodies:
            return kernel.render(term, found, target)
    types = ", ".join(repr(a.type) for a in term.args)
    tried = "; ".join(_refusal(k, target) for k in kernels) or "it has none"
    raise KernelError(
        f"no kernel computes {term.definition}({types}): {tried}",
        where=term.info.place if term.info.lineno else None,
        do="guard the rule that makes it, or write a kernel for it",
    )
