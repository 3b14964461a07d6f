# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: ours and the peers that are installed, side by side in one run, equal answers first."""
