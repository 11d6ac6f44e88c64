#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the command line: exit codes, output streams, invalid input, closed pipes.

usage: cli_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import unittest

import captures
import command_line
from command_line import (COMMANDS, DAMAGED, OUTPUT, SUCCESS, UNREADABLE, USAGE, CommandLine)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import time_text  # noqa: E402


class Help(CommandLine):
    def test_is_on_standard_output(self):
        for words in (["--help"], ["decode", "--help"], ["replay", "-h"]):
            run = self.run_it(*words, expect=SUCCESS)
            self.assertIn("Usage: rocescope", run.stdout)
            self.assertEqual(run.stderr, "")

    def test_documents_the_exit_codes(self):
        text = self.run_it("--help", expect=SUCCESS).stdout
        for code in range(5):
            self.assertRegex(text, rf"(?m)^  {code}  \w")

    def test_names_every_option_of_replay(self):
        text = self.run_it("replay", "--help", expect=SUCCESS).stdout
        self.assertEqual(self.run_it("help", "replay", expect=SUCCESS).stdout, text)
        for words in (("help", "repaly"), ("repaly", "--help"), ("repaly",)):
            self.assertIn('unknown command "repaly"', self.run_it(*words, expect=USAGE).stderr, words)
        for words in (("config", "chek", "--help"), ("config", "chek"), ("help", "config", "chek")):
            self.assertIn('unknown command "config chek"', self.run_it(*words, expect=USAGE).stderr, words)
        self.assertIn("--nodes,--gpus", self.run_it("job", "place", "4", expect=USAGE).stderr)
        for option in ("--tap", "--nccl-logs", "--rdma", "--output", "--since", "--until", "--host",
                       "--qp", "--interval", "--window", "--icrc", "--details", "--section"):
            self.assertIn(option, text)

    def test_version_is_one_line(self):
        text = self.run_it("--version", expect=SUCCESS).stdout
        self.assertRegex(text, r"^rocescope \d+\.\d+\.\d+(~\w+)?\n$")


class Usage(CommandLine):
    def refused(self, *words, mentions):
        run = self.run_it(*words, expect=USAGE)
        self.assertEqual(run.stdout, "")
        self.assertIn(mentions, run.stderr)
        self.assertRegex(run.stderr, r"--help")

    def test_a_capture_behind_the_logs_is_not_taken_for_one_in_silence(self):
        path = self.file("a.pcap", captures.capture())
        log = self.file("a.log", b"")
        self.refused("replay", "--nccl-logs", log, path, mentions="--nccl-logs consumed all arguments")
        self.refused("replay", "--rdma", log, path, mentions="--rdma consumed all arguments")
        self.run_it("replay", "--nccl-logs", log, "--", path, expect=SUCCESS)

    def test_needs_a_command(self):
        self.refused(mentions="command")
        self.refused("decoed", "x.pcap", mentions="decoed")

    def test_needs_a_capture_and_each_once(self):
        for command in COMMANDS:
            self.refused(command, mentions="capture")
            self.refused(command, "x.pcap", "x.pcap", mentions="twice")

    def test_a_file_is_the_same_by_another_name(self):
        path = self.file("a.pcap", captures.capture())
        link = os.path.join(self.scratch.name, "b.pcap")
        os.link(path, link)
        self.refused("replay", path, "--tap", f"leaf={link}", mentions="b.pcap is given twice")

    def test_names_the_value_that_it_cannot_read(self):
        for command in COMMANDS:
            for option, value in (("--qp", "16777216"), ("--qp", "x"), ("--host", "10.0.0"),
                                  ("--since", "yesterday"), ("--until", "1e9"), ("--tap", "leaf1"),
                                  ("-o", "xml"), ("--colour", "red")):
                with self.subTest(command=command, option=option):
                    mentions = option if option == "--colour" else value
                    self.refused(command, "x.pcap", option, value, mentions=mentions)
        self.refused("replay", "x.pcap", "--interval", "1w", mentions="1w")
        run = self.run_it("replay", "x.pcap", "--window", "3601s", expect=USAGE)
        self.assertIn("--window", run.stderr)

    def test_refuses_a_window_that_nothing_can_fall_into(self):
        self.refused("decode", "x.pcap", "--since", "20", "--until", "10", mentions="--until")


class BadInput(CommandLine):
    def unreadable(self, *words, mentions):
        for command in COMMANDS:
            with self.subTest(command=command):
                run = self.run_it(command, *words, expect=UNREADABLE)
                self.assertEqual(run.stdout, "")
                self.assertIn(mentions, run.stderr)

    def test_a_missing_file(self):
        self.unreadable("/nonexistent/a.pcap", mentions="/nonexistent/a.pcap")

    def test_one_missing_file_of_two(self):
        good = self.file("a.pcap", captures.capture())
        self.unreadable(good, "/nonexistent/b.pcap", mentions="/nonexistent/b.pcap")

    def test_a_folder(self):
        self.unreadable(self.scratch.name, mentions=self.scratch.name)

    def test_an_empty_file(self):
        self.unreadable(self.file("empty.pcap", b""), mentions="empty.pcap")

    def test_a_file_that_is_no_capture(self):
        self.unreadable(self.file("notes.txt", b"no capture at all, but long enough for one\n"),
                        mentions="notes.txt")

    def test_a_link_type_that_cannot_carry_roce(self):
        self.unreadable(self.file("wifi.pcap", captures.header(captures.WIFI)),
                        mentions="wifi.pcap")

    def test_a_capture_without_frames_is_not_damaged(self):
        frames, _ = self.decode(self.file("a.pcap", captures.header()))
        self.assertEqual(frames, [])

    def test_a_file_cut_anywhere_prints_the_frames_before(self):
        whole = captures.capture(count=2)
        second = len(captures.capture(count=1))
        for size in (second + 1, second + 16, len(whole) - 1):
            path = self.file("cut.pcap", whole[:size])
            frames, messages = self.decode(path, expect=DAMAGED)
            self.assertEqual([frame["psn"] for frame in frames], [0])
            self.assertIn("cut.pcap", messages)

    def test_a_cut_compressed_file_prints_the_frames_before(self):
        packed = gzip.compress(captures.capture(count=50))
        path = self.file("cut.pcap.gz", packed[:len(packed) // 2])
        frames, messages = self.decode(path, expect=DAMAGED)
        self.assertEqual([frame["psn"] for frame in frames], list(range(len(frames))))
        self.assertIn("cut.pcap.gz", messages)

    def test_a_length_that_cannot_be_ends_the_file(self):
        octets = bytearray(captures.capture(count=2))
        at = len(captures.capture(count=1)) + 8
        octets[at:at + 4] = b"\xff\xff\xff\x7f"
        frames, _ = self.decode(self.file("absurd.pcap", bytes(octets)), expect=DAMAGED)
        self.assertEqual(len(frames), 1)

    def test_a_damaged_file_does_not_stop_the_others(self):
        cut = self.file("cut.pcap", captures.capture(count=2)[:-1])
        good = self.file("good.pcap", captures.capture(count=4))
        frames, _ = self.decode(cut, good, expect=DAMAGED)
        self.assertEqual([frame["tap"] for frame in frames].count("good"), 4)
        self.assertEqual([frame["tap"] for frame in frames].count("cut"), 1)

    def test_replay_reports_what_a_damaged_file_still_held(self):
        path = self.file("cut.pcap", captures.capture(count=3)[:-1])
        run = self.run_it("replay", path, "-o", "json", expect=DAMAGED)
        self.assertEqual(json.loads(run.stdout)["ledger"]["received"], "2")
        self.assertIn("cut.pcap", run.stderr)

    def test_a_missing_log_is_named(self):
        path = self.file("a.pcap", captures.capture())
        run = self.run_it("replay", path, "--nccl-logs", "/nonexistent/log", expect=UNREADABLE)
        self.assertIn("/nonexistent/log", run.stderr)


class Streams(CommandLine):
    def test_a_dash_is_standard_input(self):
        frames, _ = self.decode("-", input=captures.capture())
        self.assertEqual([frame["tap"] for frame in frames], ["stdin"] * 3)

    def test_frames_of_a_live_pipe_come_at_once(self):
        with subprocess.Popen([command_line.rocescope, "decode", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdin.write(captures.capture(count=1))
            process.stdin.flush()
            self.assertEqual(json.loads(process.stdout.readline())["psn"], 0)
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), SUCCESS)

    def test_a_reader_that_leaves_is_no_error(self):
        path = self.file("long.pcap", captures.capture(count=5000))
        for command in COMMANDS:
            read_end, write_end = os.pipe()
            os.close(read_end)
            run = subprocess.run([command_line.rocescope, command, path], stdout=write_end,
                                 stderr=subprocess.PIPE, timeout=60)
            os.close(write_end)
            self.assertEqual((run.returncode, run.stderr), (SUCCESS, b""), command)

    def test_a_full_disk_is_an_error(self):
        path = self.file("a.pcap", captures.capture())
        for words in (["decode", path], ["replay", path], ["--help"]):
            with open("/dev/full", "wb") as full:
                run = subprocess.run([command_line.rocescope, *words], stdout=full, stderr=subprocess.PIPE,
                                     timeout=60)
            self.assertEqual(run.returncode, OUTPUT, words)
            self.assertIn(b"standard output", run.stderr)

    def test_a_closed_standard_output_is_an_error(self):
        path = self.file("a.pcap", captures.capture())
        command = f'"{command_line.rocescope}" decode "{path}" >&-'
        run = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(run.returncode, OUTPUT)


class Replay(CommandLine):
    def cut_at(self, octets):
        """A report of three frames, each truncated to `octets` bytes."""
        frames = (captures.acknowledge(n) + bytes(100) for n in range(3))
        return self.report(self.file("cut.pcap", captures.header() + b"".join(
            captures.record(captures.FIRST_NS + n, frame[:octets], length=200)
            for n, frame in enumerate(frames))))

    def test_says_that_frames_were_cut_too_short(self):
        report = self.cut_at(60)
        self.assertEqual((report["totals"]["truncated_frames"], report["coverage"]["longest_truncated_frame_bytes"]), ("3", 60))
        self.assertIn("3 of 3 frames were truncated at 60 bytes: capture at least 96", report["notes"][0])

    def test_says_when_the_captures_were_taken_if_the_filters_leave_nothing(self):
        path = self.file("a.pcap", captures.capture(count=3))  # at 0, 2 and 4 s
        run = self.run_it("replay", path, "--qp", "99", expect=SUCCESS)
        self.assertIn("No frame passed the filters; the capture spans 2024-05-01 12:00:00.000 to "
                      "12:00:04.000 UTC", run.stdout)

    def test_the_text_is_short_unless_details_or_sections_are_requested(self):
        path = self.file("a.pcap", captures.capture(count=3))
        brief = self.run_it("replay", path, expect=SUCCESS).stdout
        self.assertLessEqual(len(brief.splitlines()), 40)
        self.assertTrue(brief.startswith("FAULTS: not diagnosed: no topology"), brief)
        self.assertIn("LEDGER: 3 frames received = 3 decoded + 0 filtered + 0 dropped", brief)
        self.assertIn("--details", brief)
        self.assertNotIn("FLOWS", brief)
        details = self.run_it("replay", path, "--details", expect=SUCCESS).stdout
        for heading in ("FAULTS", "LOSS AND CONGESTION", "CONNECTIONS", "FLOWS", "LEDGER"):
            self.assertIn(f"{heading}", details)
        flows = self.run_it("replay", path, "--section", "flows", expect=SUCCESS).stdout
        self.assertTrue(flows.startswith("FLOWS: "), flows)
        self.assertIn(flows.rstrip(), details)
        both = self.run_it("replay", path, "--section", "ledger", "--section", "flows",
                           expect=SUCCESS).stdout
        self.assertIn("\nLEDGER: ", both)
        self.assertTrue(both.startswith(flows.rstrip()), both)

    def test_an_unknown_section_is_refused_with_the_names(self):
        path = self.file("a.pcap", captures.capture(count=1))
        refused = self.run_it("replay", path, "--section", "flow", expect=USAGE)
        self.assertEqual(refused.stdout, "")
        self.assertIn('unknown section "flow"; sections: faults, summary, hotspots, ', refused.stderr)
        for words in (["-o", "json"], ["--details"], ["--faults"]):
            self.run_it("replay", path, "--section", "flows", *words, expect=USAGE)

    def test_tells_the_extent_of_what_a_window_leaves_out(self):
        report = self.report(self.file("a.pcap", captures.capture(count=3)), "--since", "+100")
        self.assertEqual(report["extent"], {"start_time": time_text(captures.FIRST_NS),
                                            "end_time": time_text(captures.FIRST_NS + 4 * 10**9)})


class Decode(CommandLine):
    def test_tells_what_it_drops(self):
        octets = captures.capture(count=1) + captures.record(captures.FIRST_NS + 5, captures.arp())
        frames, messages = self.decode(self.file("a.pcap", octets))
        self.assertEqual(frames[1], {"frame": 2, "ts_ns": str(captures.FIRST_NS + 5), "tap": "a",
                                     "caplen": 60, "wirelen": 60, "drop": "not_roce"})
        self.assertIn("dropped 1 (not_roce 1)", messages)

    def test_checks_the_icrc_only_if_asked(self):
        path = self.file("a.pcap", captures.capture(count=1))
        self.assertNotIn("icrc_ok", self.decode(path)[0][0])
        self.assertIs(self.decode(path, "--icrc")[0][0]["icrc_ok"], False)

    def test_merges_by_time_and_numbers_each_capture_for_itself(self):
        early = self.file("early.pcap", captures.capture(count=2))
        late = self.file("late.pcap", captures.capture(count=2, start=captures.FIRST_NS + 10**9))
        frames, _ = self.decode(late, "--tap", f"leaf1={early}")
        self.assertEqual([(frame["tap"], frame["frame"]) for frame in frames],
                         [("leaf1", 1), ("late", 1), ("leaf1", 2), ("late", 2)])

    def test_a_tap_takes_one_file_and_may_be_repeated(self):
        paths = [self.file(f"{n}.pcap", captures.capture(count=1, start=captures.FIRST_NS + n))
                 for n in range(3)]
        frames, _ = self.decode("--tap", f"a={paths[0]}", "--tap", f"b={paths[1]}", paths[2])
        self.assertEqual([frame["tap"] for frame in frames], ["a", "b", "2"])

    def test_filters_by_time(self):
        path = self.file("a.pcap", captures.capture(count=5))  # at 0, 2, 4, 6 and 8 s
        for since, until in (("1714564802", "1714564806"), ("+2", "+6"),
                             ("2024-05-01T12:00:02Z", "2024-05-01T14:00:05.5+02:00")):
            frames, messages = self.decode(path, "--since", since, "--until", until)
            self.assertEqual([frame["frame"] for frame in frames], [2, 3], (since, until))
            self.assertIn("filtered 3", messages)

    def test_filters_by_host_and_queue_pair(self):
        octets = captures.header() + b"".join(
            captures.record(captures.FIRST_NS + n, captures.acknowledge(n, **fields))
            for n, fields in enumerate(({"qpn": 5}, {"qpn": 6}, {"source": "0a000003", "qpn": 5})))
        octets += captures.record(captures.FIRST_NS + 9, captures.arp())
        path = self.file("a.pcap", octets)
        for words, psns in ((["--qp", "5"], [0, 2]), (["--qp", "5", "--qp", "0x6"], [0, 1, 2]),
                            (["--host", "10.0.0.3"], [2]), (["--host", "10.0.0.2"], [0, 1, 2]),
                            (["--host", "10.0.0.1", "--qp", "5"], [0])):
            frames, _ = self.decode(path, *words)
            self.assertEqual([frame["psn"] for frame in frames], psns, words)


if __name__ == "__main__":
    command_line.rocescope = sys.argv.pop(1)
    unittest.main()
