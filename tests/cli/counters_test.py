#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocescope counters: conversion of counters.jsonl and counters.columns, and the replay of both.

usage: counters_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import captures
import command_line
import telemetry
from command_line import DAMAGED, OUTPUT, SUCCESS, UNREADABLE, USAGE, CommandLine

FIRST = captures.FIRST_NS
MAGIC = b"\x89ROCCOL\x01"


def line(time_ns, kind, entity, metrics, arrival_ns=None):
    """A line as rocescope writes it: without spaces, metrics in the order of the table."""
    times = {"time_ns": time_ns} | ({} if arrival_ns is None else {"arrival_ns": arrival_ns})
    return json.dumps({**times, "kind": kind, "entity": entity, "metrics": metrics},
                      separators=(",", ":"), ensure_ascii=False) + "\n"


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def recording(rounds=50):
    """Lines of a port, its priority, a NIC and a GPU: totals that wrap and restart, late readings."""
    lines = []
    for n in range(rounds):
        at = FIRST + n * 10**6
        traffic = (4_000_000_000 + n * 33_333_333) % 2**32
        lines += [
            line(at, "port", {"node": "leaf0", "port": "Ethernet3"},
                 {"rx_bytes": traffic, "fcs_errors": 17, "link_up": int(n % 7 > 0)}),
            line(at, "port", {"node": "leaf0", "port": "Ethernet3", "priority": 3},
                 {"pfc_rx": 2**64 - 1 - n, "queue_bytes": n * 7919 % 4096}),
            line(at - 300_000, "nic", {"node": "host0", "port": "mlx5_0"},
                 {"rx_bytes": n * 10**9, "out_of_sequence": n // 20}, at + 2000),
            line(at + 5000, "gpu", {"node": "host \"0\" \u00e4", "index": 7}, {"energy": n % 13},
                 at + 3000)]
    return "".join(lines).encode()


class Counters(CommandLine):
    def convert(self, *words, expect=SUCCESS, **options):
        return self.run_it("counters", "convert", *words, expect=expect, **options)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def test_both_directions_lose_nothing(self):
        lines = self.file("a.jsonl", recording())
        self.convert(lines, self.path("a.columns"))
        columns = pathlib.Path(self.path("a.columns")).read_bytes()
        self.assertTrue(columns.startswith(MAGIC))
        self.assertLess(len(columns), len(recording()) / 10)
        self.convert(self.path("a.columns"), self.path("b.jsonl"))
        self.assertEqual(pathlib.Path(self.path("b.jsonl")).read_bytes(), recording())
        self.convert(self.path("b.jsonl"), self.path("b.columns"))
        self.assertTrue(pathlib.Path(self.path("b.columns")).read_bytes() == columns)

    def test_standard_input_and_output(self):
        self.convert("-", self.path("a.columns"), input=recording())
        self.assertEqual(self.convert(self.path("a.columns"), "-").stdout, recording().decode())
        self.assertEqual(self.convert("-", "-", "--to", "lines", input=recording()).stdout,
                         recording().decode())

    def test_the_order_of_keys_and_metrics_becomes_that_of_the_table(self):
        text = b'{"metrics":{"link_up":1,"rx_bytes":5},"entity":{"port":"1","node":"a"},' \
               b'"kind":"port","arrival_ns":7,"time_ns":7}\n'
        self.assertEqual(self.convert("-", "-", input=text).stdout,
                         line(7, "port", {"node": "a", "port": "1"}, {"rx_bytes": 5, "link_up": 1}))

    def test_the_form_follows_from_the_name(self):
        lines = self.file("a.jsonl", recording(2))
        refused = self.convert(lines, self.path("a.bin"), expect=USAGE)
        self.assertIn("a.bin: cannot derive the form from the file name", refused.stderr)
        self.convert(lines, self.path("a.bin"), "--to", "columns")
        self.assertTrue(pathlib.Path(self.path("a.bin")).read_bytes().startswith(MAGIC))
        self.assertEqual(self.convert(self.path("a.bin"), "-").stdout, recording(2).decode())

    def test_invalid_lines_are_named_and_skipped(self):
        lines = self.file("a.jsonl", recording(1) + b'{"time_ns":1}\n' + recording(1))
        run = self.convert(lines, self.path("a.columns"), expect=DAMAGED)
        self.assertIn(f"{lines}:5: kind: missing key", run.stderr)
        self.assertEqual(self.convert(self.path("a.columns"), "-").stdout.encode(), 2 * recording(1))

    def test_a_truncated_file_gives_its_whole_blocks(self):
        self.convert("-", self.path("a.columns"), input=recording())
        whole = pathlib.Path(self.path("a.columns")).read_bytes()
        without_mark = self.file("b.columns", whole[:-12])
        run = self.convert(without_mark, "-", expect=DAMAGED)
        self.assertEqual(run.stdout, recording().decode())
        self.assertIn(f"{without_mark}: block 2 at byte {len(whole) - 12}: missing: the file has no "
                      "end mark", run.stderr)
        cut = self.file("c.columns", whole[:100])
        run = self.convert(cut, "-", expect=DAMAGED)
        self.assertEqual(run.stdout, "")
        self.assertIn(f"{cut}: block 1 at byte 8: the file is truncated; the 0 readings", run.stderr)

    def test_files_that_cannot_be_used_are_named(self):
        run = self.convert("/nonexistent/a.jsonl", "-", expect=UNREADABLE)
        self.assertIn("/nonexistent/a.jsonl: cannot open", run.stderr)
        lines = self.file("a.jsonl", recording(1))
        run = self.convert(lines, "/nonexistent/a.columns", expect=OUTPUT)
        self.assertIn("/nonexistent/a.columns: cannot be created", run.stderr)
        run = self.convert(lines, lines, expect=USAGE)
        self.assertIn("input and output are the same file", run.stderr)
        self.assertEqual(pathlib.Path(lines).read_bytes(), recording(1))
        run = self.convert(lines, "/dev/full", "--to", "columns", expect=OUTPUT)
        self.assertIn("/dev/full: write failed", run.stderr)

    def test_a_file_is_not_converted_to_itself(self):
        path = self.file("a.jsonl", recording(1))
        other = self.path("b.jsonl")
        os.link(path, other)
        for words, mode, stream in ((("-", path), "rb", "stdin"), ((path, "-"), "ab", "stdout"),
                                    (("-", other), "rb", "stdin"), ((path, other), None, None)):
            with open(path, mode or "rb") as file:
                run = subprocess.run([command_line.rocescope, "counters", "convert", *words],
                                     stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                                     **({stream: file} if stream else {}))
            self.assertEqual(run.returncode, USAGE, words)
            self.assertIn("input and output are the same file", run.stderr)
            self.assertEqual(pathlib.Path(path).read_bytes(), recording(1))
        self.convert("/dev/null", "/dev/null", "--to", "lines")  # no file that could be overwritten


class Replay(CommandLine):
    def run_directory(self, name, counters):
        self.file(f"{name}/{counters[0]}", counters[1])
        topology = self.run_it("topology", "generate", "leaf-spine", "--hosts", "2", "--leaves", "1",
                               "--spines", "1", "-o", "yaml", expect=SUCCESS).stdout
        self.file(f"{name}/topology.yaml", topology.encode())
        return os.path.dirname(self.file(f"{name}/run.json", telemetry.manifest(telemetry={
            "mirror": False, "int_reports": False, "sflow": False, "counters": True,
            "nccl_logs": False, "rdma": False})))

    def columns(self, text):
        path = os.path.join(self.scratch.name, "any.columns")
        self.run_it("counters", "convert", "-", path, input=text, expect=SUCCESS)
        return pathlib.Path(path).read_bytes()

    def test_both_forms_give_the_same_report(self):
        lines = self.run_directory("lines", ("counters.jsonl", recording(300)))
        columns = self.run_directory("columns", ("counters.columns", self.columns(recording(300))))
        for words in ((), ("--only", "switch-counters"), ("--until", seconds(FIRST + 10**7))):
            report = self.report(lines, *words)
            self.assertEqual(self.report(columns, *words), report)
        self.assertEqual(self.report(lines)["telemetry"]["counter_line_ledger"]["decoded"], "1200")

    def test_time_filters_use_the_time_of_arrival(self):
        late = line(FIRST, "port", {"node": "leaf0", "port": "Ethernet3"}, {"rx_bytes": 1},
                    FIRST + 5 * 10**6).encode()
        for name in (("counters.jsonl", late), ("counters.columns", self.columns(late))):
            run = self.run_directory("run-" + name[0], name)
            ledger = self.report(run, "--until", seconds(FIRST + 4 * 10**6))["telemetry"]["counter_line_ledger"]
            self.assertEqual((ledger["received"], ledger["filtered"]), ("1", "1"))

    def test_a_damaged_file_is_reported_with_its_readings(self):
        whole = self.columns(recording())
        run = self.run_directory("cut", ("counters.columns", whole[:-12]))
        report = self.report(run, expect=DAMAGED)
        self.assertEqual(report["telemetry"]["counter_line_ledger"]["decoded"], "200")
        self.assertIn(f"counters.columns: block 2 at byte {len(whole) - 12}", report["notes"][0])

    def test_an_empty_file_is_named(self):
        report = self.report(self.run_directory("empty", ("counters.jsonl", b"")))
        self.assertIn("the counter file contains no readings: check the exporter", report["notes"])

    def test_both_forms_together_are_refused(self):
        run = self.run_directory("both", ("counters.jsonl", recording(1)))
        self.file("both/counters.columns", self.columns(recording(1)))
        refused = self.run_it("replay", run, expect=UNREADABLE)
        self.assertIn("contains both counters.jsonl and counters.columns: remove one", refused.stderr)
        self.assertEqual(refused.stdout, "")


if __name__ == "__main__":
    command_line.rocescope = sys.argv.pop(1)
    unittest.main()
