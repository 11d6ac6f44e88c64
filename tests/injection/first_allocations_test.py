#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A failed allocation ends a program with exit code 4 and a message, also before main() starts.

    tests/injection/first_allocations_test.py ROCESCOPE LIBRARY

The constructors of global objects allocate hundreds of times before main(), which here prints the version.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from failing_calls import Plan

OUT_OF_MEMORY = 4


def run(program, library, first):
    """Returns the exit code, standard error and the number of allocations."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(pathlib.Path(folder, "plan"))
        plan.fail("allocation", first)
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **plan.environment(library)}, check=False)
        calls = plan.calls()["allocation"]
        plan.close()
        return done.returncode, done.stderr, calls


def main():
    program, library = (pathlib.Path(one).resolve() for one in sys.argv[1:])
    code, _, calls = run(program, library, 0)
    assert code == 0 and calls > 100, (code, calls)
    for first in sorted({*range(1, 6), *(calls * i // 20 for i in range(1, 21))}):
        code, text, _ = run(program, library, first)
        assert code == OUT_OF_MEMORY and "rocescope: out of memory" in text, (first, code, text)
    print(f"{calls} allocations")


if __name__ == "__main__":
    main()
