#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `rocescope replay`'s totals, largest flows and pairs with the ground truth of captures.

usage: replay_truth_test.py PATH/rocescope-generate PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import report_totals

GENERATE = ROCESCOPE = ""


class ReplayTruthTest(unittest.TestCase):
    def expect_truth(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "capture.pcap")
            subprocess.run([GENERATE, str(path), *arguments], check=True)
            truth = json.loads(pathlib.Path(f"{path}.truth.json").read_text())
            report = subprocess.run([ROCESCOPE, "replay", "-o", "json", str(path)], check=True,
                                    capture_output=True).stdout
        self.assertEqual(report_totals.differences(json.loads(report), truth), [])

    def test_results_do_not_depend_on_the_input_path(self):
        """Reads from a file in batches of 256, and from a port in bursts of 64."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "capture.pcap")
            subprocess.run([GENERATE, str(path), "--packets", "150000", "--qps", "300", "--gap",
                            "0.01", "--seed", "5"], check=True)
            octets = bytearray(path.read_bytes())
            octets[:4] = bytes.fromhex("d4c3b2a1")  # microseconds
            at = 24
            while at < len(octets):
                nanoseconds, captured = (int.from_bytes(octets[at + n:at + n + 4], "little")
                                         for n in (4, 8))
                octets[at + 4:at + 8] = (nanoseconds // 1000).to_bytes(4, "little")
                at += 16 + captured
            path.write_bytes(octets)
            reports = []
            for words in ((), ("--via", "dpdk")):
                run = subprocess.run([ROCESCOPE, "replay", "-o", "json", *words, str(path)],
                                     check=False, capture_output=True)
                if b"without DPDK" in run.stderr:
                    self.skipTest("built without DPDK")
                reports.append(run.stdout)
        self.assertGreater(len(reports[0]), 10_000)
        self.assertEqual(*reports)

    def test_many_flows_with_gaps_and_marks(self):
        self.expect_truth("--packets", "200000", "--qps", "4000")

    def test_frequent_gaps(self):
        self.expect_truth("--packets", "50000", "--qps", "64", "--hosts", "4", "--gap", "0.05",
                          "--seed", "2")

    def test_mirrored_frames_and_ipv6(self):
        self.expect_truth("--packets", "50000", "--qps", "400", "--hosts", "64", "--erspan",
                          "--ipv6", "0.4", "--snap", "192", "--seed", "3")

    def test_flows_that_are_idle_for_many_intervals(self):
        self.expect_truth("--packets", "20000", "--qps", "1000", "--duration-ns", "20000000000",
                          "--seed", "4")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    GENERATE, ROCESCOPE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
