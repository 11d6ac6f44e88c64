# SPDX-License-Identifier: BSD-3-Clause
"""Runs testbeds/import/import_counters in a scratch folder."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SUCCESS, DROPPED, USAGE, UNUSABLE = range(4)

tool = ""

MAPPING = """\
time: {column: time, format: seconds}
device: device
port: port
counters: totals
metrics:
  in: rx_bytes
  errors: rx_errors
"""


class Importing(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.run_directory = self.folder / "run"

    def file(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run_import(self, mapping, *exports, expect=SUCCESS, words=("--form", "lines")):
        """Returns standard error. `exports` are texts of CSV files a.csv, b.csv ..., or paths."""
        files = [text if isinstance(text, pathlib.Path) else self.file(f"{'abcdef'[at]}.csv", text)
                 for at, text in enumerate(exports)]
        existed = self.run_directory.exists()
        done = subprocess.run([sys.executable, "-B", tool, self.file("mapping.yaml", mapping), *files,
                               "-d", self.run_directory, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertNotIn("Traceback", done.stderr)
        if expect in (USAGE, UNUSABLE):
            left = list(self.run_directory.iterdir()) if self.run_directory.exists() else []
            self.assertEqual(left, [])
            self.assertEqual(self.run_directory.exists(), existed)
        return done.stderr

    def lines(self):
        return [json.loads(line) for line in
                (self.run_directory / "counters.jsonl").read_text().splitlines()]

    def readings(self):
        """(seconds, "device:port", metrics) of each line."""
        return [(line["time_ns"] / 1e9, f"{line['entity']['node']}:{line['entity']['port']}",
                 line["metrics"]) for line in self.lines()]
