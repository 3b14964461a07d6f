# SPDX-License-Identifier: Apache-2.0
"""Equality saturation: all rewrites at once in an e-graph, of which the cheapest graph is extracted."""
