# SPDX-License-Identifier: BSD-3-Clause
"""A box that runs, for tests of what it says."""


def hear(test, run, words):
    """What it says on standard error up to the line with these words."""
    heard = ""
    while words not in heard:
        line = run.stderr.readline()
        test.assertTrue(line, heard)
        heard += line
    return heard
