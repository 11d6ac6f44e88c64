# SPDX-License-Identifier: BSD-3-Clause
"""A running appliance, for tests."""


def hear(test, run, words):
    """Returns its standard error up to the line with these words."""
    heard = ""
    while words not in heard:
        line = run.stderr.readline()
        test.assertTrue(line, heard)
        heard += line
    return heard
