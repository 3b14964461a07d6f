# SPDX-License-Identifier: Apache-2.0
"""What a tensor is: lengths that may be unknown, axes, dtypes, and the type made of them."""
