#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A capture of a real NCCL run that is divided into files, distributed to taps or copied with
another clock gives the same counts as the complete one.

usage: several_taps_test.py PATH/rocescope [UNITTEST ARGUMENT...]

Exit code 77: the captures are missing, nothing was compared.
"""

import pathlib
import sys
import tempfile
import unittest

import command
import pcap

CAPTURE = command.NCCL_TREE / "tree2_node2.pcap"  # the node in the middle: all four edges
COUNTS = ("packets", "bytes", "payload_bytes", "messages", "control_messages", "control_bytes",
          "operations", "message_sizes")


def logs():
    return ["--nccl-logs", *sorted(command.NCCL_TREE.glob("*.log"))]


def counts_of_flows(report):
    return {(flow["source"], flow["destination"], flow["destination_qpn"]):
            [flow[key] for key in COUNTS] for flow in report["flows"]}


def edges(report):
    return [(e.get("source_rank"), e.get("destination_rank"), e["bytes"], e["messages"],
             e["control_bytes"], e["control_messages"]) for e in report["jobs"][0]["edges"]]


class SeveralTaps(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.frames = pcap.read(CAPTURE)
        cls.whole = command.report(CAPTURE, *logs())

    def report_of(self, *parts):
        files = [pcap.write(self.folder / f"part{n}.pcap", part) for n, part in enumerate(parts)]
        return command.report(*files, *logs())

    def compare(self, report):
        self.assertEqual(edges(report), edges(self.whole))
        self.assertEqual(counts_of_flows(report), counts_of_flows(self.whole))

    def test_the_capture_says_enough_to_compare(self):
        self.assertEqual(len(edges(self.whole)), 4)
        self.assertEqual({bytes for _, _, bytes, *_ in edges(self.whole)}, {"24577"})

    def test_two_files_of_one_port(self):
        for at in range(1, len(self.frames), 3):  # in the middle of intervals, messages and flows
            with self.subTest(frames_in_the_first=at):
                report = self.report_of(self.frames[:at], self.frames[at:])
                self.assertEqual(edges(report), edges(self.whole))

    def test_two_files_of_one_port_named_as_one_tap(self):
        at = len(self.frames) // 2
        files = [pcap.write(self.folder / f"rotated{n}.pcap", part)
                 for n, part in enumerate((self.frames[:at], self.frames[at:]))]
        self.compare(command.report("--tap", f"a={files[0]}", "--tap", f"a={files[1]}", *logs()))

    def test_the_files_are_named_in_a_note(self):
        at = len(self.frames) // 2
        notes = " ".join(self.report_of(self.frames[:at], self.frames[at:])["notes"])
        self.assertIn("flow counts are combined from the taps part0, part1", notes)

    def test_a_copy(self):
        self.compare(self.report_of(self.frames, self.frames))

    def test_a_copy_with_another_clock(self):
        for microseconds in (1, 300, 60_000, 100_000, 2_000_000):
            with self.subTest(microseconds=microseconds):
                self.compare(self.report_of(self.frames,
                                            [f.later(microseconds) for f in self.frames]))

    def test_a_copy_that_began_late_or_ended_early(self):
        for part in (self.frames[30:], self.frames[:-30]):
            self.compare(self.report_of(self.frames, part))


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    command.skip_unless(CAPTURE.is_file(), f"{CAPTURE} is not there")
    unittest.main()
