# SPDX-License-Identifier: Apache-2.0
"""An engine to measure: it reads the rules, builds a graph as its own terms, rewrites them, and shows the result."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from benchmarks.graphs import Graph
from benchmarks.rulesets import RuleChoice


class Engine(Protocol):
    """One engine with its rules compiled; each module here has a class ``Peer`` that is one.

    Attributes:
        exact: Whether its normal form has to be ours, term by term.
        checked: The size of the largest graph whose normal form is looked at.
    """

    exact: bool
    checked: int

    def __init__(self, rules: RuleChoice) -> None: ...

    def build(self, graph: Graph) -> Any:
        """The graph as terms of the engine."""

    def run(self, built: Any) -> Any:
        """The normal form of what was built."""

    def checksum(self, result: Any) -> tuple[int, int]:
        """How many terms the normal form has, and the number of all of them."""


# By the name of an engine: its module here, and the package that it needs.
ENGINES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ngraph_rewrite": ("ours", "ngraph_rewrite"),
        "maude": ("maude", "maude"),
        "tinygrad": ("tinygrad", "tinygrad"),
        "matchpy": ("matchpy", "matchpy"),
        "xdsl": ("xdsl", "xdsl"),
        "pytensor": ("pytensor", "pytensor"),
    }
)


def installed() -> list[str]:
    """The engines that can run here."""
    return [name for name, (_, package) in ENGINES.items() if importlib.util.find_spec(package)]


def engine(name: str, rules: RuleChoice) -> Engine:
    """The engine called `name`, with its rules compiled.

    Raises:
        KeyError: for a name that is not in `ENGINES`.
    """
    made: Engine = importlib.import_module(f"benchmarks.peers.{ENGINES[name][0]}").Peer(rules)
    return made
