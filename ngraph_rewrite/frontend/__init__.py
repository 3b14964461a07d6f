# SPDX-License-Identifier: Apache-2.0
"""The frontend: functions that build terms. They know no rules; what a term becomes is decided elsewhere."""
