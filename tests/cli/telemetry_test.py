#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""INT reports, sFlow and run directories: counts of replay and output of decode.

usage: telemetry_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import os
import pathlib
import sys
import unittest

import captures
import command_line
import telemetry
from command_line import DAMAGED, SUCCESS, UNREADABLE, USAGE, CommandLine

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import time_text  # noqa: E402

FIRST = captures.FIRST_NS
NO_GOAL = 3  # exit code if `score` judged nothing


class Ledgers(CommandLine):
    def closed(self, ledger):
        dropped = sum(int(row["count"]) for row in ledger["dropped"])
        self.assertEqual(int(ledger["received"]),
                         int(ledger["decoded"]) + int(ledger["filtered"]) + dropped)
        return int(ledger["received"]), int(ledger["decoded"]), int(ledger["filtered"]), dropped


class Telemetry(Ledgers):
    def int_capture(self, port=telemetry.INT_PORT):
        frames = [(FIRST + n, telemetry.udp(port, telemetry.postcard(n, n, FIRST + n)))
                  for n in (1, 2, 5)]
        return self.file("int.pcap", telemetry.capture(frames))

    def test_replay_counts_int_reports_and_the_lost_ones(self):
        report = self.report(self.int_capture())
        told = report["telemetry"]
        self.assertEqual(self.closed(told["int_report_ledger"]), (3, 3, 0, 0))
        self.assertEqual(self.closed(report["ledger"]), (3, 3, 0, 0))
        self.assertEqual(told["hop_records"], "3")
        self.assertEqual([(s["kind"], s["node_id"], s["datagrams"], s["lost_datagrams"])
                          for s in told["sources"]], [("KIND_INT", 1001, "3", "2")])
        self.assertEqual(report["totals"]["int_frames"], "3")
        self.assertEqual(report["totals"]["packets"], "0", "only INT reports the packets")

    def test_the_port_of_int_reports_can_be_chosen(self):
        path = self.int_capture(port=9555)
        self.assertEqual(self.report(path)["telemetry"]["int_report_ledger"]["received"], "0")
        report = self.report("--int-port", "9555", path)
        self.assertEqual(report["telemetry"]["int_report_ledger"]["decoded"], "3")
        frames, _ = self.decode("--int-port", "9555", path)
        self.assertEqual(frames[0]["int"]["node_id"], 1001)
        for port in ("0", "4791", "4789", "65536", "x"):
            run = self.run_it("replay", "--int-port", port, path, expect=USAGE)
            self.assertIn("--int-port", run.stderr)

    def test_filters_are_about_the_packets_that_are_told_of(self):
        report = self.report(self.int_capture(), "--qp", "18")
        self.assertEqual(self.closed(report["telemetry"]["int_report_ledger"]), (3, 0, 3, 0))
        report = self.report(self.int_capture(), "--qp", "17")
        self.assertEqual(self.closed(report["telemetry"]["int_report_ledger"]), (3, 3, 0, 0))

    def test_what_is_cut_or_wrong_has_a_reason(self):
        good = telemetry.postcard(1, 1, FIRST)
        frames = [telemetry.udp(telemetry.INT_PORT, good),
                  telemetry.udp(telemetry.INT_PORT, b"\x10" + good[1:]),
                  telemetry.udp(telemetry.INT_PORT, good)[:100],
                  telemetry.udp(telemetry.SFLOW_PORT, telemetry.sflow(1, 1)),
                  telemetry.udp(telemetry.SFLOW_PORT, telemetry.sflow(1, 1)[:-8])]
        path = self.file("a.pcap", captures.header() + b"".join(
            captures.record(FIRST + n, frame, 142) for n, frame in enumerate(frames)))
        report = self.report(path)
        told = report["telemetry"]
        self.assertEqual(self.closed(told["int_report_ledger"]), (3, 1, 0, 2))
        self.assertEqual({row["reason"]: row["count"] for row in told["int_report_ledger"]["dropped"]},
                         {"bad_int": "1", "truncated_telemetry": "1"})
        self.assertEqual(self.closed(told["sflow_datagram_ledger"]), (2, 1, 0, 1))
        self.assertEqual(self.closed(told["sflow_sample_ledger"]), (2, 1, 0, 1))
        text = self.run_it("replay", path, "--details", expect=SUCCESS).stdout
        self.assertRegex(text, r"3 +1 +2 +INT reports +1 truncated_telemetry, 1 bad_int|"
                               r"3 +1 +2 +INT reports +1 bad_int, 1 truncated_telemetry")

    def test_decode_prints_both_field_by_field(self):
        frames = [(FIRST, telemetry.udp(telemetry.INT_PORT, telemetry.postcard(1, 77, FIRST - 5))),
                  (FIRST + 1, telemetry.udp(telemetry.SFLOW_PORT, telemetry.sflow(9, 78)))]
        lines, _ = self.decode(self.file("a.pcap", telemetry.capture(frames)))
        report = lines[0]["int"]["reports"][0]
        self.assertEqual(report["ingress_port"], 7)
        self.assertEqual(report["ingress_ts"], str(FIRST - 5))
        self.assertEqual(report["packet"]["psn"], 77)
        sample = lines[1]["sflow"]["samples"][0]
        self.assertEqual(lines[1]["sflow"]["sequence"], 9)
        self.assertEqual((sample["rate"], sample["input"], sample["output"]), (100, 5, 6))
        self.assertEqual(sample["records"][0]["packet"]["psn"], 78)


class RunDirectory(Ledgers):
    def run_directory(self, **changes):
        frames = [(FIRST + n * 1000, captures.acknowledge(n)) for n in range(4)]
        self.file("run/mirror.pcap", telemetry.capture(frames))
        self.file("run/int.pcap", telemetry.capture(
            [(FIRST + n, telemetry.udp(telemetry.INT_PORT, telemetry.postcard(n, n, FIRST + n)))
             for n in range(3)]))
        self.file("run/sflow.pcap", telemetry.capture(
            [(FIRST + n, telemetry.udp(telemetry.SFLOW_PORT, telemetry.sflow(n, n)))
             for n in range(2)]))
        self.file("run/counters.jsonl", "".join(
            telemetry.counter_line(FIRST + n * 10**6, n) for n in range(5)).encode())
        return os.path.dirname(self.file("run/run.json", telemetry.manifest(**changes)))

    def test_all_of_it_is_read_with_closed_ledgers(self):
        report = self.report(self.run_directory())
        told = report["telemetry"]
        self.assertEqual(self.closed(report["ledger"]), (9, 9, 0, 0))
        self.assertEqual(self.closed(told["int_report_ledger"]), (3, 3, 0, 0))
        self.assertEqual(self.closed(told["sflow_datagram_ledger"]), (2, 2, 0, 0))
        self.assertEqual(self.closed(told["sflow_sample_ledger"]), (2, 2, 0, 0))
        self.assertEqual(self.closed(told["counter_line_ledger"]), (5, 5, 0, 0))
        self.assertEqual([tap["name"] for tap in report["taps"]], ["mirror", "int", "sflow"])
        self.assertEqual(report["totals"]["packets"], "4")
        self.assertEqual(report["notes"], [])

    def test_the_truth_is_not_opened(self):
        run = self.run_directory()
        truth = self.file("run/truth.json", b"{}")
        os.remove(truth)
        os.mkfifo(truth)  # opening it would block forever
        self.report(run)

    def test_a_score_is_of_the_run_and_of_telemetry_that_it_has(self):
        run = self.run_directory()
        self.file("run/truth.json", json.dumps({
            "schema_version": 2, "start_ns": FIRST, "end_ns": FIRST + 10**9}).encode())
        own = self.file("own.json", self.run_it("replay", run, "-o", "json",
                                                expect=SUCCESS).stdout.encode())
        other = self.file("other.json", b"{}")
        words = ("score", run, "--view", "all-ports", "--report")
        self.run_it(*words, own, expect=NO_GOAL)  # the truth has no connections
        refused = self.run_it(*words, other, expect=USAGE)
        self.assertIn("other.json: not a report of the run", refused.stderr)
        lacks = self.run_it("score", run, "--view", "leaves", expect=USAGE)
        self.assertIn("does not have all of its telemetry (leaf-mirror,nccl)", lacks.stderr)

    def test_a_run_that_suits_no_view_is_scored_by_what_it_has(self):
        run = self.run_directory(telemetry={
            "mirror": False, "int_reports": False, "sflow": False, "counters": True,
            "nccl_logs": False, "rdma": False})
        self.file("run/truth.json", json.dumps({
            "schema_version": 2, "start_ns": FIRST, "end_ns": FIRST + 10**9}).encode())
        refused = self.run_it("score", run, "--view", "diagnosis", expect=USAGE)
        self.assertIn("nothing to score: it has counters, which is not enough", refused.stderr)
        self.assertIn("\nrocescope:   full requires port-mirror,int,sflow,", refused.stderr)
        named = self.run_it("score", run, "--view", "all", expect=NO_GOAL).stdout
        self.assertNotIn("VIEWS", named)
        printed = self.run_it("score", run, expect=NO_GOAL).stdout
        for text in (named, printed):
            self.assertIn("FAULTS, all (all telemetry in the run), in 1 run", text)
            self.assertNotIn("GOAL", text)  # this view has no goals
            self.assertTrue(text.endswith("Nothing was judged: no goal applies to a measured figure.\n"))
        self.assertRegex(printed, r"\n  all +yes +the run lacks telemetry of each other view about faults\n")
        self.assertRegex(printed, r"\n  port-sets-counters +no +the run lacks port-sets\n")
        scored = self.run_it("score", run, "-o", "json", expect=NO_GOAL)
        self.assertEqual([view["view"] for view in json.loads(scored.stdout)["views"]], ["all"])
        self.assertIn("view int was not scored: the run lacks int, rdma\n", scored.stderr)

    def test_a_score_of_packets_only_has_faults_too(self):
        run = self.run_directory(telemetry={
            "mirror": True, "int_reports": False, "sflow": False, "counters": False,
            "nccl_logs": False, "rdma": False})
        self.file("run/truth.json", json.dumps({
            "schema_version": 2, "start_ns": FIRST, "end_ns": FIRST + 10**9}).encode())
        printed = self.run_it("score", run, expect=NO_GOAL).stdout
        self.assertRegex(printed, r"\n  all-ports +yes\n")
        self.assertIn("FAULTS, all (all telemetry in the run), in 1 run", printed)

    def test_faults_are_printed_alone(self):
        run = self.run_directory()
        printed = self.run_it("replay", run, "--faults", expect=SUCCESS).stdout
        self.assertEqual(printed.splitlines()[0],
                         "FAULTS: not diagnosed: no topology")
        self.assertNotIn("LEDGER", printed)
        self.assertEqual(self.run_it("replay", run, expect=SUCCESS).stdout.splitlines()[0],
                         printed.splitlines()[0])
        faults = json.loads(self.run_it("replay", run, "--faults", "-o", "json",
                                        expect=SUCCESS).stdout)
        self.assertEqual(faults["findings"], [])
        self.assertEqual(faults["reference_time"], time_text(FIRST))
        self.assertNotIn("ledger", faults)

    def test_without_frames_time_begins_with_the_first_reading(self):
        report = self.report(self.run_directory(), "--only", "counters")
        self.assertNotIn("start_time", report["extent"])
        self.assertEqual(report["reference_time"], time_text(FIRST))

    def test_time_begins_with_the_earliest_source(self):
        run = self.run_directory()
        self.file("run/counters.jsonl", "".join(
            telemetry.counter_line(FIRST - 10**9 + n * 10**6, n) for n in range(5)).encode())
        report = self.report(run)
        self.assertEqual(report["extent"]["start_time"], time_text(FIRST))
        self.assertEqual(report["reference_time"], time_text(FIRST - 10**9))
        report = self.report(run, "--until", "+0.003")
        self.assertEqual(self.closed(report["telemetry"]["counter_line_ledger"]), (5, 3, 2, 0))
        self.assertEqual(self.closed(report["ledger"]), (9, 0, 9, 0))
        report = self.report(run, "--only", "counters", "--until", "+0.003")
        self.assertEqual(self.closed(report["telemetry"]["counter_line_ledger"]), (5, 3, 2, 0))

    def test_scores_are_summed_up_by_priors_that_can_be_read(self):
        scores = os.path.dirname(self.file("scores/1.score.json", json.dumps({
            "scenario": "0001-flap", "faults": ["flap"], "views": [{"view": "full", "findings": {
                "faults": [{"kind": "flap", "place": "leaf0:E1-spine0:E2", "visible": True}]}}],
        }).encode()))
        words = ("score", scores, "--priors")
        printed = self.run_it(*words, self.file("p.yaml", b"kinds: {flap: 1}\n"), expect=1).stdout
        self.assertIn("WEIGHTED", printed)
        self.assertIn("0001-flap: flap at leaf0:E1-spine0:E2 was missed", printed)
        wrong = self.run_it(*words, self.file("w.yaml", b"kinds: {flop: 1}\n"), expect=USAGE)
        self.assertIn('w.yaml:1:9: "flop" is not a fault type; did you mean "flap"?', wrong.stderr)
        other = self.run_it("score", scores, "--view", "everything", expect=USAGE)
        self.assertIn("expected one of paths, diagnosis, all-ports", other.stderr)

    def test_time_filters_hold_for_counters_too(self):
        report = self.report(self.run_directory(), "--since", "+0.001", "--until", "+0.003")
        self.assertEqual(self.closed(report["telemetry"]["counter_line_ledger"]), (5, 2, 3, 0))

    def test_what_is_missing_is_noted_and_the_rest_is_read(self):
        run = self.run_directory()
        for name in ("mirror.pcap", "sflow.pcap", "counters.jsonl"):
            os.remove(os.path.join(run, name))
        report = self.report(run, expect=DAMAGED)
        self.assertEqual(len(report["notes"]), 3)
        self.assertIn("mirror.pcap: listed in run.json but missing", report["notes"][0])
        os.remove(os.path.join(run, "int.pcap"))
        self.assertEqual(self.report(run, expect=DAMAGED)["ledger"]["received"], "0")

    def test_wrong_lines_of_counters_are_named_and_counted(self):
        run = self.run_directory()
        with open(os.path.join(run, "counters.jsonl"), "a", encoding="utf-8") as file:
            file.write('{"time_ns":1}\n{"time_ns"\n')
        report = self.report(run, expect=DAMAGED)
        self.assertEqual(self.closed(report["telemetry"]["counter_line_ledger"]), (7, 5, 0, 2))
        self.assertIn("counters.jsonl:6: kind: missing", report["notes"][0])
        self.assertIn("counters.jsonl:7: column 11: ", report["notes"][1])

    def test_the_runs_ports_and_interval_hold_unless_given(self):
        run = self.run_directory(ports={"int_reports": 9555, "int_md": 555, "sflow": 6343})
        self.assertEqual(self.report(run)["telemetry"]["int_report_ledger"]["received"], "0")
        report = self.report(run, "--int-port", str(telemetry.INT_PORT))
        self.assertEqual(report["telemetry"]["int_report_ledger"]["received"], "3")
        run = self.run_directory(record_interval_ns=1000, analysis_window_ns=1000)
        refused = self.run_it("replay", run, expect=UNREADABLE)
        self.assertIn("run.json: record_interval_ns must be from 1 ms", refused.stderr)
        self.report(run, "--interval", "1ms")

    def test_of_a_long_capture_the_end_is_looked_at_or_longer_windows(self):
        run = self.run_directory()
        topology = self.run_it("topology", "generate", "leaf-spine", "--hosts", "2", "--leaves",
                               "1", "--spines", "1", "-o", "yaml", expect=SUCCESS).stdout
        self.file("run/topology.yaml", topology.encode())
        self.file("run/counters.jsonl", "".join(
            telemetry.counter_line(FIRST + n * 10**6, n).replace("Ethernet4", "Ethernet3")
            for n in range(301)).encode())
        part = "Anomalies and hotspots cover only the last 256 of 30[01] windows"
        for words in ((), ("--faults",), ("--details",)):
            printed = self.run_it("replay", run, *words, expect=SUCCESS).stdout
            self.assertRegex(printed, part)
        whole = self.report(run, "--window", "2ms")
        self.assertIn(whole["diagnosis_coverage"]["window_count"], ("150", "151"))
        self.assertEqual(whole["diagnosis_coverage"]["earlier_window_count"], "0")
        printed = self.run_it("replay", run, "--window", "2ms", expect=SUCCESS).stdout
        self.assertNotRegex(printed, "hotspots cover only")

    def test_a_wrong_manifest_is_named_with_its_key(self):
        run = self.run_directory(sead=1)
        refused = self.run_it("replay", run, expect=UNREADABLE)
        self.assertIn('run.json: sead: unknown key; did you mean "seed"?', refused.stderr)
        self.assertEqual(refused.stdout, "")

    def test_a_folder_without_a_manifest_is_no_run(self):
        refused = self.run_it("replay", self.scratch.name, expect=UNREADABLE)
        self.assertIn("directory without a run.json", refused.stderr)

    def test_a_run_is_given_alone(self):
        run = self.run_directory()
        refused = self.run_it("replay", run, "a.pcap", expect=USAGE)
        self.assertIn("a run directory cannot be combined", refused.stderr)


if __name__ == "__main__":
    command_line.rocescope = sys.argv.pop(1)
    unittest.main()
