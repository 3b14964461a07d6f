# SPDX-License-Identifier: Apache-2.0
"""Whole programs as data: what is asked for and how it is called; as Python, and as text that says their structure."""
