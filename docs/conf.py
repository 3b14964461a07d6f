# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds these pages."""

import configparser
from pathlib import Path

_metadata = configparser.ConfigParser()
_metadata.read(Path(__file__).parent.parent / "setup.cfg", encoding="utf-8")

project = "ngraph_rewrite"
author = "The ngraph_rewrite authors"
copyright = "2026, The ngraph_rewrite authors"
release = version = _metadata["metadata"]["version"]

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
