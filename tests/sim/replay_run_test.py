#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Passes a simulated run through the programs: as a stream, and replayed in parts. The test counts the
frames in the captures itself.

usage: replay_run_test.py PATH/rocescope-sim PATH/rocescope SCENARIO [UNITTEST ARGUMENT...]
"""

import collections
import json
import math
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SIMULATOR = ROCESCOPE = SCENARIO = ""
USAGE = 2
PCAP_HEADER = 24
ETHERNET, IPV4, GRE, ERSPAN, SUBHEADER = 14, 20, 8, 12, 8
FIRST_TTL = 64  # TTL of host frames: only the leaf sees it
# 0.2 to this power is one in 250 million, so longer runs of lost copies do not occur.
LONGEST_RUN = 12


def simulate(folder, telemetry, *words):
    text, count = re.subn(r"^telemetry: .*$", f"telemetry: {telemetry}",
                          pathlib.Path(SCENARIO).read_text(), flags=re.M)
    assert count == 1
    scenario = pathlib.Path(folder, "scenario.yaml")
    scenario.write_text(text)
    return subprocess.run([SIMULATOR, "run", scenario, *words], capture_output=True, check=True)


def frames(capture):
    data = capture.read_bytes()
    at = PCAP_HEADER
    while at < len(data):
        length, = struct.unpack_from("<I", data, at + 8)
        yield data[at + 16:at + 16 + length]
        at += 16 + length


class Copies:
    """The frames of mirror.pcap by switch, session, and whether they name their port."""

    def __init__(self, capture):
        self.of = collections.Counter()
        self.leaves = set()
        for frame in frames(capture):
            source = frame[ETHERNET + 12:ETHERNET + 16]
            erspan = frame[ETHERNET + IPV4 + GRE:]
            names_port = erspan[11] & 1 == 1  # draft-foschiano-erspan-03, 4.3: O
            inner = erspan[ERSPAN + SUBHEADER * names_port:]
            session = struct.unpack_from(">H", erspan, 2)[0] & 0x3FF
            self.of[source, session, names_port] += 1
            if inner[ETHERNET + 8] == FIRST_TTL:
                self.leaves.add(source)

    def count(self, chosen):
        return sum(count for key, count in self.of.items() if chosen(*key))


class Stream(unittest.TestCase):
    def test_a_run_without_output_is_a_usage_error(self):
        done = subprocess.run([SIMULATOR, "run", SCENARIO], capture_output=True, text=True)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("-d DIR or --stream", done.stderr)

    @unittest.skipUnless(shutil.which("capinfos") and shutil.which("editcap"),
                         "wireshark's tools are not installed")
    def test_the_stream_equals_the_directory_as_pcapng(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "stream.pcapng").write_bytes(
                simulate(folder, "{mirror: all}", "--stream").stdout)
            simulate(folder, "{mirror: all}", "-d", folder / "run")
            told = subprocess.run(["capinfos", folder / "stream.pcapng"], capture_output=True,
                                  text=True, check=True).stdout
            self.assertRegex(told, r"File type: +Wireshark/\.\.\. - pcapng")
            self.assertRegex(told, r"File timestamp precision: +nanoseconds \(9\)")
            self.assertRegex(told, r"Number of interfaces in file: +1\n")
            subprocess.run(["editcap", "-F", "nsecpcap", folder / "stream.pcapng",
                            folder / "stream.pcap"], check=True)
            # Compares times and bytes. The snap lengths in the file headers may differ.
            streamed = (folder / "stream.pcap").read_bytes()[PCAP_HEADER:]
            written = (folder / "run" / "mirror.pcap").read_bytes()[PCAP_HEADER:]
            self.assertGreater(len(written), 100_000)
            self.assertTrue(streamed == written)

    def test_a_directory_with_a_stream_has_everything_except_frames(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            simulate(folder, "{mirror: all, int_exponent: 4}", "--stream", "-d", folder / "run")
            there = {path.name for path in (folder / "run").iterdir()}
            self.assertLessEqual({"run.json", "topology.yaml", "counters.jsonl", "truth.json"}, there)
            self.assertEqual({name for name in there if name.endswith(".pcap")}, set())


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.run_directory = pathlib.Path(folder.name, "run")
        simulate(folder.name, "{mirror: [all, port_sets], int_exponent: 3, sflow_rate: 16, "
                              "counter_period: 500us, rdma: true}", "-d", cls.run_directory)
        cls.copies = Copies(cls.run_directory / "mirror.pcap")
        cls.int_datagrams = sum(1 for _ in frames(cls.run_directory / "int.pcap"))
        cls.sflow_datagrams = sum(1 for _ in frames(cls.run_directory / "sflow.pcap"))

    def replay(self, *words):
        done = subprocess.run([ROCESCOPE, "replay", self.run_directory, *words, "-o", "json"],
                              check=True, capture_output=True, text=True)
        report = json.loads(done.stdout)
        told = report["telemetry"]
        for ledger in (report["ledger"], told["int_report_ledger"], told["sflow_datagram_ledger"],
                       told["sflow_sample_ledger"], told["counter_line_ledger"]):
            dropped = sum(int(row["count"]) for row in ledger["dropped"])
            self.assertEqual(int(ledger["received"]),
                             int(ledger["decoded"]) + int(ledger["filtered"]) + dropped)
            self.assertEqual(dropped, 0)
        return report, done.stderr

    def only(self, words):
        return self.replay("--only", words)[0]

    def test_the_fabric_declares_the_mirror_sessions(self):
        self.assertEqual(len(self.copies.leaves), 2)
        self.assertGreater(self.copies.count(lambda source, session, port: True), 10_000)
        self.assertGreater(self.int_datagrams, 100)
        self.assertGreater(self.sflow_datagrams, 10)

    def test_each_session_selection_shows_only_their_copies(self):
        for word, chosen in (("mirror", lambda source, session, port: True),
                             ("port-mirror", lambda source, session, port: port),
                             ("leaf-mirror",
                              lambda source, session, port: port and source in self.copies.leaves),
                             ("port-sets", lambda source, session, port: not port)):
            with self.subTest(word):
                report = self.only(word)
                self.assertEqual(int(report["ledger"]["received"]), self.copies.count(chosen))
                shown = {(bytes(map(int, row["switch_address"].split("."))), row["session_id"]):
                         int(row["frames"]) for row in report["coverage"]["mirrors"]}
                self.assertEqual(shown, {(source, session): count for (source, session, port), count
                                         in self.copies.of.items() if chosen(source, session, port)})
                self.assertEqual([row["lost_frames"] for row in report["coverage"]["mirrors"]],
                                 ["0"] * len(shown))

    def test_int_and_sflow_can_be_selected(self):
        report = self.only("int")
        self.assertEqual(int(report["telemetry"]["int_datagrams"]), self.int_datagrams)
        self.assertEqual(int(report["ledger"]["received"]), self.int_datagrams)
        report = self.only("sflow")
        self.assertEqual(int(report["telemetry"]["sflow_datagram_ledger"]["received"]),
                         self.sflow_datagrams)
        self.assertEqual(int(report["ledger"]["received"]), self.sflow_datagrams)

    def test_counters_can_be_selected(self):
        lines = (self.run_directory / "counters.jsonl").read_text().count("\n")
        report = self.only("counters")
        self.assertEqual(int(report["telemetry"]["counter_line_ledger"]["received"]), lines)
        self.assertEqual(int(report["ledger"]["received"]), 0)

    def test_switch_counters_can_be_selected(self):
        text = (self.run_directory / "counters.jsonl").read_text()
        of_ports = [line for line in text.splitlines() if json.loads(line)["kind"] == "port"]
        self.assertGreater(text.count("\n"), len(of_ports))
        report = self.only("switch-counters")
        self.assertEqual(int(report["telemetry"]["counter_line_ledger"]["received"]), len(of_ports))

    def test_counters_in_columns_give_the_same_report(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "run")
            shutil.copytree(self.run_directory, other)
            lines, columns = other / "counters.jsonl", other / "counters.columns"
            text = lines.read_bytes()
            convert = [ROCESCOPE, "counters", "convert"]
            subprocess.run([*convert, lines, columns], check=True)
            self.assertLess(columns.stat().st_size, len(text) / 10)
            for words in ((), ("--only", "switch-counters"), ("--until", "+0.005"), ("--faults",)):
                report = self.replay_of(self.run_directory, *words)
                lines.unlink(missing_ok=True)
                self.assertEqual(self.replay_of(other, *words), report)
            subprocess.run([*convert, columns, lines], check=True)
            # The simulator writes the metrics of a line in another order.
            readings = [list(map(json.loads, one.splitlines())) for one in (lines.read_bytes(), text)]
            self.assertTrue(readings[0] == readings[1])
            both = subprocess.run([ROCESCOPE, "replay", other], capture_output=True, text=True)
            self.assertEqual(both.returncode, 3)
            self.assertIn(f"{other}: contains both counters.jsonl and counters.columns", both.stderr)

    def test_the_rest_is_replayed_without_an_unreadable_capture(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "run")
            shutil.copytree(self.run_directory, other)
            (other / "sflow.pcap").write_text("no capture")
            done = subprocess.run([ROCESCOPE, "replay", other, "-o", "json"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{other}/sflow.pcap", done.stderr)
            report = json.loads(done.stdout)
            self.assertTrue(any(f"{other}/sflow.pcap" in note for note in report["notes"]))
            self.assertEqual(report["telemetry"]["counter_line_ledger"],
                             self.replay()[0]["telemetry"]["counter_line_ledger"])

    def replay_of(self, directory, *words):
        done = subprocess.run([ROCESCOPE, "replay", directory, *words, "-o", "json"], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout), done.stderr

    def test_all_parts_equal_the_complete_run(self):
        whole = self.replay()[0]
        self.assertEqual(whole, self.only("mirror,int,sflow,counters,nccl,rdma,slurm"))
        self.assertEqual(int(whole["ledger"]["received"]),
                         self.copies.count(lambda source, session, port: True) +
                         self.int_datagrams + self.sflow_datagrams)

    def test_ranks_require_logs(self):
        for job in self.only("leaf-mirror")["jobs"]:  # from traffic only
            self.assertEqual({rank.get("rank") for rank in job["ranks"]}, {None})
        job, = self.only("leaf-mirror,nccl")["jobs"]
        self.assertEqual(len(job["ranks"]), 4)  # four hosts, a GPU of each

    def test_dropped_copies_are_gaps_of_their_session(self):
        share = 0.2
        report, told = self.replay("--only", "mirror", "--mirror-loss", str(share))
        everything = self.copies.count(lambda source, session, port: True)
        received = int(report["ledger"]["received"])
        lost = everything - received
        self.assertLess(abs(lost - share * everything),
                        5 * math.sqrt(everything * share * (1 - share)))
        self.assertIn(f"{lost:,} mirrored frames were dropped by --mirror-loss", told)
        # Losses before the first or after the last received copy leave no gap.
        gaps = sum(int(row["lost_frames"]) for row in report["coverage"]["mirrors"])
        self.assertLessEqual(gaps, lost)
        self.assertGreaterEqual(gaps, lost - 2 * LONGEST_RUN * len(self.copies.of))
        again, _ = self.replay("--only", "mirror", "--mirror-loss", str(share))
        self.assertEqual(report, again)


if __name__ == "__main__":
    SIMULATOR, ROCESCOPE, SCENARIO = sys.argv[1:4]
    del sys.argv[1:4]
    unittest.main()
