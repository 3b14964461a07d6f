# SPDX-License-Identifier: Apache-2.0
"""Rules: patterns, the rule files they are written in, the checks they pass, and the trees that match them."""
