# SPDX-License-Identifier: Apache-2.0
"""``python -m ngraph_rewrite`` is the command ``ngraph-rewrite``."""

from __future__ import annotations

from ngraph_rewrite.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
