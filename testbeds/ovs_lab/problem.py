# SPDX-License-Identifier: BSD-3-Clause
"""Errors that end a command of the lab, and progress messages."""

import sys


class Problem(Exception):
    """The command cannot be carried out. The message states what failed, where, and what to do next."""


def say(message):
    print(f"lab: {message}", file=sys.stderr, flush=True)
