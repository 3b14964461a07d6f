# SPDX-License-Identifier: Apache-2.0
"""Targets: what executes a lowered graph, which ops it executes, and what it prefers."""
