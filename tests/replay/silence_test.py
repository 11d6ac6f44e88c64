#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Paired connections stay paired, however long the captures continue without them.

usage: silence_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import pathlib
import struct
import sys
import tempfile
import unittest

import command

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import nanoseconds  # noqa: E402

HOURS_NS = 3600 * 10**9
# An RC ACKNOWLEDGE from 203.0.113.1 to 203.0.113.2, queue pair 17: not in the job.
STRANGER = bytes.fromhex("0200000000020200000000010800"                # Ethernet
                         "456800300000400040110000cb007101cb007102"    # IPv4
                         "c00012b7001c0000"                            # UDP
                         "1140ffff00000011000000011f00000100000000")   # BTH, AETH, iCRC


def capture_of(frame, time_ns):
    return (struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) +
            struct.pack("<IIII", *divmod(time_ns, 10**9), len(frame), len(frame)) + frame)


class Silence(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def stays_known(self, captures, logs):
        before = command.report(*captures, "--nccl-logs", *logs)
        later = nanoseconds(before["captured"]["end_time"]) + 2 * HOURS_NS
        stray = self.folder / "stray.pcap"
        stray.write_bytes(capture_of(STRANGER, later))
        after = command.report(*captures, stray, "--nccl-logs", *logs)
        self.assertEqual(nanoseconds(after["captured"]["end_time"]), later)
        self.assertEqual(int(after["totals"]["flow_count"]), int(before["totals"]["flow_count"]) + 1)
        self.assertTrue(before["jobs"][0]["edges"])
        self.assertEqual(after["jobs"], before["jobs"])
        paired = [c for c in after["connections"] if c["state"] == "STATE_PAIRED"]
        self.assertEqual([(c["a"], c["b"]) for c in paired],
                         [(c["a"], c["b"]) for c in before["connections"]])

    def test_of_two_hours_costs_the_demo_nothing(self):
        captures = command.make_demo(self.folder)
        self.stays_known(captures, [path.with_suffix(".log") for path in captures])

    @unittest.skipUnless(command.NCCL_TREE.is_dir(), f"{command.NCCL_TREE} is not there")
    def test_of_two_hours_costs_a_real_run_nothing(self):
        self.stays_known([command.NCCL_TREE / f"tree2_node{n}.pcap" for n in range(3)],
                         [command.NCCL_TREE / f"tree2_node{n}.log" for n in range(3)])


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    unittest.main()
