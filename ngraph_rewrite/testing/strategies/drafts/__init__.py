# SPDX-License-Identifier: Apache-2.0
"""Programs drawn step by step: terms of all families over shared subterms, and effects between them."""
