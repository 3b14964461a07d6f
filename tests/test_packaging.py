# SPDX-License-Identifier: Apache-2.0
"""What is shipped is what is there: packages, data folders, version, and an import that stays light."""

from __future__ import annotations

import configparser
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.data import data_folder

ROOT = Path(__file__).resolve().parent.parent
SUFFIX = {"rules": ".rules", "kernels": ".kernel"}


@pytest.fixture(scope="module")
def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def test_the_version_is_the_same_everywhere(setup_cfg: configparser.ConfigParser) -> None:
    versions = {ng.__version__, setup_cfg["metadata"]["version"]}
    with suppress(metadata.PackageNotFoundError):  # a checkout on the path is no distribution
        versions.add(metadata.version("ngraph_rewrite"))
    assert len(versions) == 1


def test_every_package_is_shipped(setup_cfg: configparser.ConfigParser) -> None:
    folders = {path.parent for path in (ROOT / "ngraph_rewrite").rglob("__init__.py")}
    found = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    data = {f"ngraph_rewrite.{kind}" for kind in SUFFIX}
    assert set(setup_cfg["options"]["packages"].split()) == found | data


@pytest.mark.parametrize("kind", SUFFIX)
def test_data_folders_are_found_and_filled(kind: str) -> None:
    folder = data_folder(kind)
    assert list(folder.glob(f"*{SUFFIX[kind]}"))
    assert (folder / "README.rst").is_file()


@pytest.mark.parametrize("kind", SUFFIX)
def test_every_data_file_matches_what_is_shipped(kind: str, setup_cfg: configparser.ConfigParser) -> None:
    patterns = setup_cfg["options.package_data"][f"ngraph_rewrite.{kind}"].split()
    unshipped = [
        path.name
        for path in data_folder(kind).iterdir()
        if path.is_file() and not any(path.match(pattern) for pattern in patterns)
    ]
    assert not unshipped


def test_a_bare_checkout_finds_its_data_folders() -> None:
    """No installation: the checkout on the path, site-packages' editable hook not consulted for the package."""
    script = "import ngraph_rewrite.data as d; print(d.data_folder('rules')); print(d.data_folder('kernels'))"
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [str(ROOT / "rules"), str(ROOT / "kernels")]


def test_importing_the_package_loads_no_compiler_and_no_algebra_system() -> None:
    script = "import sys, ngraph_rewrite; print(*{'numba', 'sympy', 'matchpy', 'matplotlib'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


@pytest.mark.parametrize("name", ["LICENSE", "NOTICE", "CHANGELOG.rst", "README.rst"])
def test_a_project_has_its_papers(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8").strip()
