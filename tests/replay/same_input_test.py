#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same capture gives the same report, byte for byte, however it is compressed and passed.

usage: same_input_test.py PATH/rocescope [UNITTEST ARGUMENT...]

Uses the demo's captures and, if available, the real ones. Compressors that are not installed are
skipped by name.
"""

import gzip
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import command


class SameInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.runs = [command.make_demo(cls.folder)]  # captures, each with its log next to it
        if command.NCCL_TREE.is_dir():
            cls.runs.append(sorted(command.NCCL_TREE.glob("*.pcap")))

    def with_logs(self, captures, files, **options):
        """Returns a report in which the n-th tap is called tap<n>."""
        logs = [path.with_suffix(".log") for path in captures]
        taps = [word for n, path in enumerate(files) for word in ("--tap", f"tap{n}={path}")]
        return command.replay(*taps, "--nccl-logs", *logs, **options)

    def packed(self, captures, suffix, pack):
        """Returns the captures compressed by `pack(path, packed path)`."""
        files = []
        for n, path in enumerate(captures):
            files.append(self.folder / f"packed{n}{suffix}")
            pack(path, files[-1])
        return files

    def same(self, suffix, pack):
        for captures in self.runs:
            with self.subTest(captures=captures[0].name):
                files = self.packed(captures, suffix, pack)
                self.assertEqual(self.with_logs(captures, files),
                                 self.with_logs(captures, captures))

    def packed_by(self, suffix, program, *words):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")
        self.same(suffix, lambda path, to: subprocess.run(
            [program, *(str(w).format(path=path, to=to) for w in words)], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def test_the_reports_say_something(self):
        for captures in self.runs:
            report = json.loads(self.with_logs(captures, captures))
            self.assertEqual(len(report["taps"]), len(captures))
            self.assertTrue(report["jobs"][0]["edges"])

    def test_twice(self):
        for captures in self.runs:
            self.assertEqual(self.with_logs(captures, captures), self.with_logs(captures, captures))

    def test_gzip(self):
        self.same(".pcap.gz", lambda path, to: to.write_bytes(gzip.compress(path.read_bytes())))

    def test_zstd(self):
        self.packed_by(".pcap.zst", "zstd", "-qf", "{path}", "-o", "{to}")

    def test_pcapng(self):
        self.packed_by(".pcapng", "editcap", "-F", "pcapng", "{path}", "{to}")

    def test_nanosecond_pcap(self):  # the demo's captures already have this format
        self.packed_by(".nsec.pcap", "editcap", "-F", "nsecpcap", "{path}", "{to}")

    def test_standard_input(self):
        for captures in self.runs:
            octets = captures[0].read_bytes()
            named = command.replay("--tap", f"stdin={captures[0]}")
            self.assertEqual(command.replay("-", stdin=octets), named)
            self.assertEqual(command.replay("-", stdin=gzip.compress(octets)), named)

    def test_the_order_of_the_logs_changes_nothing(self):
        for captures in self.runs:
            logs = [path.with_suffix(".log") for path in captures]
            self.assertEqual(command.replay(*captures, "--nccl-logs", *logs),
                             command.replay(*captures, "--nccl-logs", *reversed(logs)))

    def test_the_order_of_the_captures_changes_no_answer(self):
        for captures in self.runs:
            logs = [path.with_suffix(".log") for path in captures]
            there = command.report(*captures, "--nccl-logs", *logs)
            back = command.report(*reversed(captures), "--nccl-logs", *logs)
            for edge in there["jobs"][0]["edges"] + back["jobs"][0]["edges"]:
                del edge["first_seen_time"], edge["last_seen_time"]  # according to the clock of one tap
            for key in ("ledger", "jobs"):
                self.assertEqual(there[key], back[key])


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    unittest.main()
