# SPDX-License-Identifier: Apache-2.0
"""Terms: immutable ops, the catalogue of their definitions, and the bank that shares equal ones."""
