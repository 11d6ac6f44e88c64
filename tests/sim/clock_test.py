#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that wrong clocks of a simulated run are detected within the stated uncertainty.

usage: clock_test.py PATH/rocescope-sim PATH/rocescope SCENARIO [UNITTEST ARGUMENT...]
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import duration_ns  # noqa: E402

SIMULATOR = ROCESCOPE = SCENARIO = ""
ERROR_NS = 50_000


def run(folder, error):
    text, count = re.subn(
        r"^telemetry: .*$",
        f"telemetry: {{mirror: all, int_exponent: 5, clock_error: {error}ns, nccl: none}}",
        pathlib.Path(SCENARIO).read_text(), flags=re.M)
    assert count == 1
    scenario = pathlib.Path(folder, "scenario.yaml")
    scenario.write_text(text)
    directory = pathlib.Path(folder, "run")
    subprocess.run([SIMULATOR, "run", scenario, "-d", directory], capture_output=True, check=True)
    report = json.loads(subprocess.run([ROCESCOPE, "replay", directory, "-o", "json"],
                                       capture_output=True, check=True).stdout)
    truth = json.loads((directory / "truth.json").read_text())
    return report, {clock["node"]: int(clock["offset_ns"]) for clock in truth["clocks"]}


class Clocks(unittest.TestCase):
    def check(self, error):
        with tempfile.TemporaryDirectory() as folder:
            report, truth = run(folder, error)
        self.assertLessEqual(max(abs(offset) for offset in truth.values()), error)
        clocks = report["clocks"]["clocks"]
        zero = {clock["group"]: truth[clock["name"]] for clock in clocks if clock["reference"]}
        known = collections.Counter()
        for clock in clocks:
            if clock["reference"] or not clock["known"]:
                continue
            known[clock["kind"]] += 1
            off = duration_ns(clock["offset"]) - (truth[clock["name"]] - zero[clock["group"]])
            self.assertLessEqual(abs(off), duration_ns(clock["uncertainty"]), clock)
            # Without queues, the round trip over two links with their frames takes less than 3 us.
            self.assertLess(duration_ns(clock["uncertainty"]), 3000, clock)
        self.assertEqual(known, {"KIND_MIRROR": len(truth) - 1, "KIND_INT": len(truth) - 1})
        self.assertEqual(int(report["clocks"]["contradiction_count"]), 0)
        return report

    def test_wrong_clocks_are_detected(self):
        report = self.check(ERROR_NS)
        states = collections.Counter(stretch["state"] for path in report["paths"]
                                     for stretch in path["intervals"])
        self.assertEqual(set(states), {"STATE_EXACT"})

    def test_correct_clocks_are_reported_correct(self):
        self.check(0)


if __name__ == "__main__":
    SIMULATOR, ROCESCOPE, SCENARIO = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
