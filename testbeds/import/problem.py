# SPDX-License-Identifier: BSD-3-Clause
"""Errors that end an import, and counts of dropped rows."""

import sys


NOT_UTF8 = "not UTF-8; convert the file first, for example with iconv"


class Problem(Exception):
    """The input cannot be imported. The message names the file, the line and the column."""


def say(message):
    print(f"import_counters: {message}", file=sys.stderr, flush=True)


class Drops:
    """Rows and values that were not imported. The first ones of each reason are printed."""

    MOST = 5

    def __init__(self, strict):
        self.strict = strict
        self.counts = {}

    def add(self, reason, place, message):
        """`place` is FILE:LINE or FILE:LINE: column N (NAME)."""
        if self.strict:
            raise Problem(f"{place}: {message}")
        count = self.counts[reason] = self.counts.get(reason, 0) + 1
        if count <= self.MOST:
            say(f"{place}: {message}; dropped")

    @property
    def total(self):
        return sum(self.counts.values())

    def report(self):
        for reason, count in sorted(self.counts.items()):
            say(f"dropped: {count} {reason}")
