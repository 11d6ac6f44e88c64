# SPDX-License-Identifier: BSD-3-Clause
"""Runs rocescope and checks its exit code and ledger."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

SUCCESS, DAMAGED, USAGE, UNREADABLE, OUTPUT = range(5)
COMMANDS = ("decode", "replay")

rocescope = ""


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def file(self, name, octets):
        path = pathlib.Path(self.scratch.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(octets)
        return str(path)

    def run_it(self, *words, expect, **options):
        run = subprocess.run([rocescope, *words], capture_output=True, timeout=60, **options)
        run.stdout, run.stderr = run.stdout.decode(), run.stderr.decode()
        self.assertEqual(run.returncode, expect, f"{words}\n{run.stdout}\n{run.stderr}")
        return run

    def decode(self, *words, expect=SUCCESS, **options):
        """Returns the frames and standard error; the ledger must balance."""
        run = self.run_it("decode", *words, expect=expect, **options)
        ledger = re.search(r"ledger: received (\d+) = decoded (\d+) \+ filtered (\d+) \+ dropped (\d+)",
                           run.stderr)
        received, decoded, filtered, dropped = map(int, ledger.groups())
        self.assertEqual(received, decoded + filtered + dropped)
        return [json.loads(line) for line in run.stdout.splitlines()], run.stderr

    def report(self, *words, expect=SUCCESS, **options):
        return json.loads(self.run_it("replay", *words, "-o", "json", expect=expect,
                                      **options).stdout)
