# SPDX-License-Identifier: Apache-2.0
"""Whole programs drawn and checked at length; what fails is made small and saved."""
