# SPDX-License-Identifier: Apache-2.0
"""Proofs that both sides of a rule are equal for every value: on arrays of symbols, and of single elements."""
