# SPDX-License-Identifier: Apache-2.0
"""Checks of one whole program: what lowering makes of it, and what it computes."""
