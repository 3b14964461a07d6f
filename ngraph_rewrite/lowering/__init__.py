# SPDX-License-Identifier: Apache-2.0
"""Lowering: effects put in order, rules driven to normal forms, forward pointers kept for every handle."""
