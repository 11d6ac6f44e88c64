#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rocescope run` and `rocescope config` as their users see them.

usage: run_test.py PATH/rocescope
"""

import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

ROCESCOPE = None
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "testbeds/appliance.yaml"
# Version 5, agent 192.0.2.1, no samples.
SFLOW = bytes([0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 1]) + bytes(7) + b"\x09" + bytes(8)


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def config(self, text):
        path = pathlib.Path(self.folder.name, "box.yaml")
        path.write_text(text)
        return path

    def done(self, *words):
        return subprocess.run([ROCESCOPE, *words], capture_output=True, text=True, timeout=50)

    def test_the_sample_is_well(self):
        self.assertEqual(self.done("config", "check", SAMPLE).returncode, 0)

    def test_what_is_dumped_can_be_read(self):
        for words in ([], [SAMPLE]):
            dumped = self.done("config", "dump", *words)
            self.assertEqual(dumped.returncode, 0)
            again = self.done("config", "dump", self.config(dumped.stdout))
            self.assertEqual(again.stdout, dumped.stdout)

    def test_a_mistake_has_its_place(self):
        path = self.config("udp:\n  sflo: []\n")
        for command in (["config", "check"], ["config", "dump"], ["run"]):
            checked = self.done(*command, path)
            self.assertEqual(checked.returncode, 3)
            self.assertIn(f'{path}:2:3: unknown key "sflo" of udp; did you mean "sflow"?',
                          checked.stderr)

    def test_without_a_source_there_is_nothing_to_run(self):
        run = self.done("run", self.config("analysis_window: 1s\n"))
        self.assertEqual(run.returncode, 3)
        self.assertIn("names nothing to receive from", run.stderr)

    def test_an_interface_that_is_not_there_is_told(self):
        run = self.done("run", self.config("interfaces: [{name: nosuch0}]\n"))
        self.assertEqual(run.returncode, 3)
        self.assertIn("interface nosuch0: ", run.stderr)

    def test_receives_until_a_signal_and_accounts_for_all(self):
        path = self.config('analysis_window: 100ms\nudp: {sflow: ["127.0.0.1:0"]}\n')
        with subprocess.Popen([ROCESCOPE, "run", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            port = int(re.search(r"sFlow on UDP 127\.0\.0\.1:(\d+)", run.stderr.readline()).group(1))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for datagram in (SFLOW, SFLOW, b"no sFlow"):
                    sender.sendto(datagram, ("127.0.0.1", port))
            run.send_signal(signal.SIGTERM)
            out, err = run.communicate(timeout=50)
        self.assertEqual(run.returncode, 0, err)
        self.assertEqual(out, "")
        self.assertIn("udp: received 3 = decoded 3 + filtered 0 + dropped 0; 0 missed", err)


if __name__ == "__main__":
    ROCESCOPE = sys.argv.pop(1)
    unittest.main()
