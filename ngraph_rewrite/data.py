# SPDX-License-Identifier: Apache-2.0
"""Where the rule files and the kernel files are: inside an installed package, or beside it in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def data_folder(kind: str) -> Path:
    """Return the folder of ``rules`` or ``kernels``; raises FileNotFoundError when neither place has it."""
    return _first_folder([_PACKAGE / kind, _PACKAGE.parent / kind])


def _first_folder(places: list[Path]) -> Path:
    for place in places:
        if place.is_dir():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise FileNotFoundError(f"data folder not found: neither {looked} exists; reinstall ngraph_rewrite")
