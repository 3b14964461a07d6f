# SPDX-License-Identifier: Apache-2.0
"""Targets by name: those that ship, and those of installed packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.plugins import broken, load_plugin_ops, packages_with, plugin_names, plugins, unusable
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.info import user_line

if TYPE_CHECKING:
    from ngraph_rewrite.targets import cpu, cuda, reference
else:  # a process seldom has more than one
    cpu = lazy_module("ngraph_rewrite.targets.cpu")
    cuda = lazy_module("ngraph_rewrite.targets.cuda")
    reference = lazy_module("ngraph_rewrite.targets.reference")

_SHIPPED = ("cpu", "cuda", "reference")


def transformer_choices() -> tuple[str, ...]:
    """The names `make_transformer` takes: the targets that ship, then those of installed packages.

    >>> transformer_choices()[:3]
    ('cpu', 'cuda', 'reference')
    """
    return tuple(dict.fromkeys((*_SHIPPED, *plugin_names("targets"))))


def find_target(name: str) -> Target:
    """The target of that name, as what a target of one's own is made from (`Target.extended`).

    Raises:
        ArgumentError: for a name that is not one of `transformer_choices`.
        ExtensionError: for a target of a package that cannot be used.

    >>> find_target("cpu").extended("mine", remove=["cpu.gemm"]).name
    'mine'
    """
    if not isinstance(name, str) or name not in transformer_choices():
        raise ArgumentError(f"no target is called {name!r}", where=user_line(), do=f"one of {transformer_choices()}")
    if name in _SHIPPED:
        _check_not_taken(name)
        return {"cpu": lambda: cpu.CPU, "cuda": lambda: cuda.CUDA}.get(name, lambda: reference.REFERENCE)()
    return _of_packages(name)


def as_target(target: Any) -> Target:
    """A target, given as itself or by its name.

    Raises:
        ArgumentError: for a name that is not one of `transformer_choices`, or something else.

    >>> as_target("cpu") is as_target(find_target("cpu"))
    True
    """
    if isinstance(target, Target):
        return target
    if not isinstance(target, str):
        do = f"one of {transformer_choices()}, or an ng.Target"
        raise ArgumentError(f"{target!r} is no target", where=user_line(), do=do)
    return find_target(target)


def _check_not_taken(name: str) -> None:
    """Whether no package has a target of a name that ships: one of the two would never be used."""
    for package in packages_with("targets", name):
        raise unusable(
            package, f"its entry point {name!r} of ngraph_rewrite.targets has the name of a target that ships"
        )


def _of_packages(name: str) -> Target:
    load_plugin_ops()
    found = [plugin for plugin in plugins("targets") if plugin.name == name]
    for plugin in found:
        if not isinstance(plugin.value, Target) or plugin.value.name != name:
            raise broken(plugin, "targets", f"is {plugin.value!r}, which is no target called {name!r}")
    if len(found) > 1:
        raise broken(found[1], "targets", f"has a name that {found[0].package} uses")
    target = found[0].value
    assert isinstance(target, Target)
    return target
