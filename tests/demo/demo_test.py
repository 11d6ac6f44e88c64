#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Replays the demo's captures. The expected results follow from the generator's constants.

usage: demo_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).parents[2]
ROCESCOPE = ""


def load_generator():
    path = str(REPOSITORY / "testbeds" / "make_demo_capture")
    loader = importlib.machinery.SourceFileLoader("make_demo_capture", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


MAKE = load_generator()
TRANSFERS = MAKE.ITERATIONS * MAKE.STEPS  # per connection
# Clear-to-send, its ACK, the chunk, its ACK; once a CNP; once a NAK with packets 7 and later
# retransmitted.
PACKETS = MAKE.RANKS * TRANSFERS * (3 + MAKE.PACKETS) + 1 + (1 + MAKE.PACKETS - 7)


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([REPOSITORY / "testbeds" / "make_demo_capture", folder.name], check=True)
        cls.report = cls.replay([0, 1, 2])

    @classmethod
    def replay(cls, hosts):
        captures = [str(cls.folder / f"node{i}.pcap") for i in hosts]
        logs = [str(cls.folder / f"node{i}.log") for i in range(3)]
        done = subprocess.run([ROCESCOPE, "replay", *captures, "--nccl-logs", *logs, "-o", "json"],
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    @staticmethod
    def data_edges(report):
        return {(edge["source_rank"], edge["destination_rank"]): edge
                for edge in report["jobs"][0]["edges"] if int(edge["bytes"]) > 0}

    def test_every_captured_frame_is_in_the_ledger(self):
        ledger = self.report["ledger"]
        self.assertEqual(int(ledger["received"]), 2 * PACKETS - 1)  # at both hosts, one lost
        self.assertEqual(int(ledger["decoded"]), 2 * PACKETS - 1)

    def test_the_job_has_its_three_ranks_on_their_hosts(self):
        self.assertEqual(len(self.report["jobs"]), 1)
        ranks = {rank["rank"]: rank["host"] for rank in self.report["jobs"][0]["ranks"]}
        self.assertEqual(ranks, {0: "node0", 1: "node1", 2: "node2"})

    def test_the_edges_are_the_ring_with_every_byte_counted_once(self):
        edges = self.data_edges(self.report)
        self.assertEqual(set(edges), {(0, 1), (1, 2), (2, 0)})
        for edge in edges.values():
            self.assertEqual(int(edge["bytes"]), TRANSFERS * MAKE.CHUNK)
            self.assertEqual(int(edge["messages"]), TRANSFERS)
            self.assertEqual(edge["source_qpns"], [37])
            self.assertEqual(edge["destination_qpns"], [38])

    def test_the_congested_edge_shows_its_marks_and_no_other_does(self):
        marks = {key: (int(edge["ce_marked_packets"]), int(edge["cnp_packets"]))
                 for key, edge in self.data_edges(self.report).items()}
        self.assertEqual(marks, {(0, 1): (0, 0), (1, 2): (3, 1), (2, 0): (0, 0)})

    def test_only_the_lossy_edge_has_retransmissions(self):
        again = {key for key, edge in self.data_edges(self.report).items() if int(edge["retransmitted_packets"])}
        self.assertEqual(again, {(2, 0)})

    def test_one_capture_shows_the_two_edges_of_its_host(self):
        for host in range(3):
            with self.subTest(host=host):
                edges = self.data_edges(self.replay([host]))
                self.assertEqual(set(edges), {(host, (host + 1) % 3), ((host - 1) % 3, host)})
                for edge in edges.values():
                    self.assertEqual(int(edge["bytes"]), TRANSFERS * MAKE.CHUNK)

    @unittest.skipUnless(shutil.which("tshark"), "tshark is not installed")
    def test_tshark_reads_the_capture_as_meant(self):
        done = subprocess.run(
            ["tshark", "-nr", str(self.folder / "node1.pcap"), "-o", "ip.check_checksum:TRUE",
             "-T", "fields", "-e", "_ws.malformed", "-e", "ip.checksum.status",
             "-e", "infiniband.bth.opcode"], check=True, capture_output=True, text=True)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual({(malformed, status) for malformed, status, _ in rows}, {("", "1")})
        writes = sum(opcode == "9" for _, _, opcode in rows)
        self.assertEqual(writes, 2 * TRANSFERS)


if __name__ == "__main__":
    ROCESCOPE = sys.argv.pop(1)
    unittest.main()
