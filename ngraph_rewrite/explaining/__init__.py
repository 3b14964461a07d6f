# SPDX-License-Identifier: Apache-2.0
"""Questions about what lowering did to an op: how, why not, how long, and which rule was wrong."""
