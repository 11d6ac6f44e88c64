# SPDX-License-Identifier: BSD-3-Clause
"""Runs rocescope, and locates captures."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = pathlib.Path(os.environ.get("ROCESCOPE_FIXTURES") or
                        REPOSITORY.parent / "shared" / "fixtures")
NCCL_TREE = FIXTURES / "roce" / "linlinw5-cc-by-sa-4.0" / "nccl-tree"
SKIPPED = 77  # ctest's code for skipped tests

rocescope = ""


def replay(*words, stdin=None):
    """Returns the printed JSON report."""
    run = subprocess.run([rocescope, "replay", *map(str, words), "-o", "json"], input=stdin,
                         capture_output=True, timeout=60)
    if run.returncode != 0:
        raise AssertionError(f"{words}: exit code {run.returncode}\n{run.stderr.decode()}")
    return run.stdout


def report(*words):
    return json.loads(replay(*words))


def make_demo(folder):
    """Creates the demo's three captures and logs: node0.pcap, node0.log, ..."""
    subprocess.run([REPOSITORY / "testbeds" / "make_demo_capture", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return [pathlib.Path(folder, f"node{n}.pcap") for n in range(3)]


def skip_unless(condition, reason):
    """Ends the program such that ctest reports the test as skipped."""
    if not condition:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)


