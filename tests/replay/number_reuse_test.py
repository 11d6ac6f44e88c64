#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Queue pair numbers that are reused an hour later with other memory: each owner has its own bytes.

usage: number_reuse_test.py PATH/rocescope [UNITTEST ARGUMENT...]

Exit code 77: the captures are missing, nothing was compared.
"""

import pathlib
import sys
import tempfile
import unittest

import command
import pcap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import nanoseconds  # noqa: E402

CAPTURE = command.NCCL_TREE / "tree2_node2.pcap"
HOUR_US = 3_600_000_000


def direction_sums(connections):
    return [sum(int(c[way][key]) for c in connections for way in ("a_to_b", "b_to_a"))
            for key in ("data_bytes", "data_messages", "control_messages")]


class NumberReuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        frames = pcap.read(CAPTURE)
        path = pcap.write(pathlib.Path(folder.name, "twice.pcap"), frames + [
            f.later(HOUR_US).with_other_memory() for f in frames])
        logs = sorted(command.NCCL_TREE.glob("*.log"))
        cls.once = command.report(CAPTURE, "--nccl-logs", *logs)
        cls.twice = command.report(path, "--nccl-logs", *logs)

    def paired(self, closed):
        return [c for c in self.twice["connections"]
                if c["state"] == "STATE_PAIRED" and ("valid_end_time" in c) == closed]

    def test_the_totals_have_both(self):
        for key in ("packets", "payload_bytes", "messages"):
            self.assertEqual(int(self.twice["totals"][key]), 2 * int(self.once["totals"][key]))

    def test_the_first_owners_connections_are_closed_and_have_their_own_bytes(self):
        closed = self.paired(closed=True)
        self.assertEqual(len(closed), len(self.once["connections"]))
        self.assertEqual(direction_sums(closed), direction_sums(self.once["connections"]))
        for connection in closed:  # at the reuse, within one record interval
            self.assertAlmostEqual(nanoseconds(connection["valid_end_time"]) / 1e9,
                                   nanoseconds(self.once["captured"]["start_time"]) / 1e9 + 3600, delta=30)

    def test_the_second_owners_connections_have_their_own_bytes(self):
        for connection in self.twice["connections"]:
            if "valid_end_time" in connection:
                continue
            for way in ("a_to_b", "b_to_a"):
                self.assertIn(int(connection[way]["data_bytes"]), (0, 24577))

    def test_a_job_has_the_bytes_of_one_owner_at_most(self):
        """One log fits both; it is from one process, which owns at most one of them."""
        for edge in self.twice["jobs"][0]["edges"]:
            self.assertEqual(int(edge["bytes"]), 24577, edge)


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    command.skip_unless(CAPTURE.is_file(), f"{CAPTURE} is not there")
    unittest.main()
