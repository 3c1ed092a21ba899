# SPDX-License-Identifier: Apache-2.0
"""Estimates of recordings whose probes are in for windows of time only."""

FAR = 6  # standard errors: one look in thousands is beyond four, none beyond six
SITES = "site_rest", "site_tenth"
