# SPDX-License-Identifier: Apache-2.0
"""What other libraries capture, which questions and copies of ours are not to end.

In the usual mode of a capture (that of PyTorch) whatever waits for the GPU, or makes something there, is refused on all
threads meanwhile, and ends the capture. A thread that says so (*relaxed*) is not asked.
"""

from __future__ import annotations

from typing import Any

from cuda.bindings import driver as cu

_RELAXED = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
_NONE = cu.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE


class LeavingCaptures:
    """Within the context, what this thread asks of the driver ends no capture of another stream.

    Each copy does this: what the driver says is not looked at, but for the mode that the thread had.
    """

    __slots__ = ("_mode",)

    def __enter__(self) -> None:
        self._mode: Any = cu.cuThreadExchangeStreamCaptureMode(_RELAXED)[-1]

    def __exit__(self, *failure: object) -> None:
        if self._mode is not None:
            cu.cuThreadExchangeStreamCaptureMode(self._mode)


def may_be_asked(stream: int) -> bool:
    """Whether a stream may be asked what it does: where it, or one that waits for it, is captured, that ends this."""
    error, *found = cu.cuStreamIsCapturing(stream)
    return bool(error == cu.CUresult.CUDA_SUCCESS and found[0] == _NONE)
