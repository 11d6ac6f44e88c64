#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the examples of sim/ns3_export, replays and scores what they recorded. The test counts frames in
the captures itself, and compares them with what the programs counted.

usage: ns3_export_test.py PATH/ns3-leaf_spine PATH/ns3-csma_incast PATH/rocescope [UNITTEST ARGUMENT...]
"""

import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

LEAF_SPINE = CSMA_INCAST = ROCESCOPE = ""
PCAP_HEADER = 24


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), f"{command}: {done.stderr}"  # score: 3: no goal applies
    return done.stdout


def record(program, folder, *arguments):
    return json.loads(output_of(program, f"--directory={folder}", *arguments))


def frames(capture):
    data = capture.read_bytes()
    at = PCAP_HEADER
    while at < len(data):
        length = int.from_bytes(data[at + 8:at + 12], "little")
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def last_counters(folder):
    """The last value of each metric, by node and port."""
    last = collections.defaultdict(dict)
    for line in (folder / "counters.jsonl").read_text().splitlines():
        reading = json.loads(line)
        entity = reading["entity"]
        last[entity["node"], entity["port"]].update(reading["metrics"])
    return last


def score(folder, view):
    return json.loads(output_of(ROCESCOPE, "score", folder, "--view", view, "-o", "json"))


class LeafSpine(unittest.TestCase):
    """Point-to-point links, global routing, RED queue discs, and a link that fails."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.run_ = pathlib.Path(cls.temporary.name)
        cls.counted = record(LEAF_SPINE, cls.run_)
        cls.truth = json.loads((cls.run_ / "truth.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_mirror_has_each_frame_that_switches_received(self):
        received = sum(metrics["rx_packets"] for (node, _), metrics in last_counters(self.run_).items()
                       if not node.startswith("host"))
        self.assertGreater(received, 100_000)
        self.assertEqual(sum(1 for _ in frames(self.run_ / "mirror.pcap")), received)
        self.assertEqual(self.counted["mirrored"], received)

    def test_truth_has_the_packets_that_applications_counted(self):
        of = self.truth["frames"]
        lost = sum(int(loss["frames"]) for loss in of["lost"])
        self.assertEqual(int(of["delivered"]), self.counted["received"])
        self.assertEqual(int(of["sent"]), int(of["delivered"]) + lost + int(of["in_flight"]))
        # Those not sent yet are in the queues of the hosts.
        self.assertLessEqual(int(of["sent"]), self.counted["sent"])
        self.assertGreater(int(of["sent"]), self.counted["sent"] - 100)

    def test_replay_reports_the_link_that_failed(self):
        report = json.loads(output_of(ROCESCOPE, "replay", self.run_, "-o", "json"))
        self.assertEqual([(fault["kind"], fault["place"]) for fault in report["findings"]],
                         [("link_down", "leaf1:Ethernet4-spine1:Ethernet2")])
        self.assertEqual(len(report["jobs"]), 2, "the rings of the even and of the odd hosts")
        messages = [line for line in output_of(ROCESCOPE, "replay", self.run_).splitlines()
                    if "in 40 messages" in line]
        self.assertEqual(len(messages), 2, "4 connections of each ring complete 10 messages")

    def test_score_of_the_fault(self):
        findings = score(self.run_, "all")["views"][0]["findings"]
        self.assertEqual([(fault["kind"], fault["kind_right"], fault["place_right"])
                          for fault in findings["faults"]], [("link_down", True, True)])
        self.assertEqual(findings["false_findings"], [])

    def test_score_of_connections_and_paths(self):
        measures = {each["name"]: (each["right"], each["of"])
                    for each in score(self.run_, "all-ports")["views"][0]["measures"]}
        for name in ("stripe_precision", "stripe_recall", "pair_precision", "pair_recall", "jobs"):
            self.assertEqual(measures[name], (8, 8), name)
        right, of = measures["path"]
        self.assertEqual(right, of)
        # 8 connections send 10 messages of 512 KiB.
        self.assertGreater(of, 8 * 10 * (512 << 10))


class RandomPaths(unittest.TestCase):
    """RandomEcmpRouting: each packet takes another path."""

    def test_truth_has_both_paths_of_each_connection(self):
        with tempfile.TemporaryDirectory() as folder:
            record(LEAF_SPINE, folder, "--spray=1", "--failure=0", "--duration=2ms")
            truth = json.loads(pathlib.Path(folder, "truth.json").read_text())
        for connection in truth["connections"]:
            ports = {tuple(path["ports"]) for path in connection["forward"]}
            self.assertEqual(len(ports), 2, connection)
            self.assertEqual({len(each) for each in ports}, {3})


class CsmaIncast(unittest.TestCase):
    """CSMA links to a router with RED queue discs; four hosts send to one."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.run_ = pathlib.Path(cls.temporary.name)
        cls.counted = record(CSMA_INCAST, cls.run_, "--snap=0", "--egress=1")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_counters_have_what_the_queue_disc_counted(self):
        port = last_counters(self.run_)["tor0", "Ethernet1"]
        self.assertGreater(port["ecn_marked"], 0)
        self.assertEqual(port["ecn_marked"], self.counted["marked"])
        self.assertEqual(port["queue_drops"], self.counted["dropped"])

    def test_mirror_has_both_directions(self):
        counters = last_counters(self.run_)
        passed = sum(metrics["rx_packets"] + metrics["tx_packets"]
                     for (node, _), metrics in counters.items() if node == "tor0")
        self.assertEqual(sum(1 for _ in frames(self.run_ / "mirror.pcap")), passed)

    def test_tshark_agrees(self):
        if not shutil.which("tshark"):
            self.skipTest("no tshark")
        columns = output_of("tshark", "-r", str(self.run_ / "mirror.pcap"), "-T", "fields",
                            "-e", "erspan.spanid", "-e", "ip.checksum.status",
                            "-e", "infiniband.bth.opcode",
                            "-o", "ip.check_checksum:TRUE").splitlines()
        self.assertEqual(len(columns), sum(1 for _ in frames(self.run_ / "mirror.pcap")))
        roce = [line.split("\t") for line in columns if line.split("\t")[2]]
        self.assertGreater(len(roce), 1000)
        self.assertEqual({line[0] for line in roce}, {"1"})
        self.assertEqual({line[1] for line in roce}, {"1,1"}, "good checksums of both IP headers")

    def test_all_roce_packets_have_a_valid_icrc(self):
        decoded = [json.loads(line) for line in
                   output_of(ROCESCOPE, "decode", "--icrc", self.run_ / "mirror.pcap").splitlines()]
        results = collections.Counter(frame["icrc_ok"] for frame in decoded if "drop" not in frame)
        self.assertGreater(results[True], 1000)
        self.assertEqual(results[True], results.total())

    def test_replay_finds_the_congested_port(self):
        report = json.loads(output_of(ROCESCOPE, "replay", self.run_, "-o", "json"))
        self.assertIn("tor0:Ethernet1", json.dumps(report["hotspots"]))
        congested = json.loads((self.run_ / "truth.json").read_text())["congested"]
        self.assertEqual({queue["port"] for queue in congested}, {"tor0:Ethernet1"})


if __name__ == "__main__":
    LEAF_SPINE, CSMA_INCAST, ROCESCOPE = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
