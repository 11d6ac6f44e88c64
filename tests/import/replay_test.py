#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Imported runs are replayed: every reading is used, in both forms.

usage: replay_test.py PATH/import_counters PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import importing
from importing import MAPPING, UNUSABLE, Importing

ROCESCOPE = ""
GIGA = 10**9
HEADER = "time,device,port,in,errors\n"


class Replay(Importing):
    def imported(self, mapping, *exports, form="columns", more=(), **options):
        if self.run_directory.exists():
            shutil.rmtree(self.run_directory)
        return self.run_import(mapping, *exports, words=("--form", form, "--rocescope", ROCESCOPE, *more),
                               **options)

    def replay(self, *words):
        done = subprocess.run([ROCESCOPE, "replay", self.run_directory, "-o", "json", *words],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_the_examples_are_imported_and_replayed(self):
        examples = pathlib.Path(importing.tool).parent / "example"
        for name, readings in (("wide", 6), ("long", 2)):
            told = self.imported((examples / f"{name}.yaml").read_text(), examples / f"{name}.csv")
            self.assertNotIn("dropped", told)
            ledger = self.replay()["telemetry"]["counter_line_ledger"]
            self.assertEqual((ledger["received"], ledger["decoded"]), (str(readings), str(readings)))

    def test_long_names_are_cut_between_characters(self):
        for name, cut in ((130 * "x", 128 * "x"), ("x" + 64 * "\u00fc", "x" + 63 * "\u00fc")):
            self.imported(MAPPING, HEADER + "5,leaf1,E1,1,0\n", more=("--name", name))
            manifest = json.loads((self.run_directory / "run.json").read_text())
            self.assertEqual(manifest["scenario"], cut)
            self.replay()

    def test_both_forms_give_the_same_report(self):
        rows = "".join(f"{n * 30},leaf{d},E{p},{n * GIGA * p},{n // 10 * d}\n"
                       for n in range(60) for d in range(3) for p in range(8))
        reports = []
        for form in ("columns", "lines"):
            self.imported(MAPPING, HEADER + rows, form=form)
            reports.append(self.replay())
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0]["telemetry"]["counter_line_ledger"]["decoded"], str(60 * 3 * 8))
        self.assertEqual(reports[0]["notes"], [])
        written = subprocess.run([ROCESCOPE, "counters", "convert", self.run_directory / "counters.jsonl",
                                  "-"], check=True, capture_output=True).stdout
        self.assertEqual(written, (self.run_directory / "counters.jsonl").read_bytes(),
                         "the lines are those that rocescope writes")

    def topology(self):
        return self.file("fabric.yaml", subprocess.run(
            [ROCESCOPE, "topology", "generate", "leaf-spine", "--hosts", "2", "--leaves", "2", "--spines",
             "1"], check=True, capture_output=True).stdout)

    def test_a_topology_of_the_user(self):
        # leaf0: host0 and the spine; leaf1: host1 and the spine. Ports count from 1.
        rows = "".join(f"{n * 30},leaf{d}.dc.example,Ethernet{p},{n * GIGA},0\n"
                       for n in range(10) for d in range(2) for p in (1, 2))
        told = self.imported(MAPPING, HEADER + rows, more=("--topology", self.topology()))
        self.assertNotIn("not in", told)
        report = self.replay()
        self.assertEqual(report["notes"], [])
        coverage = report["diagnosis_coverage"]
        self.assertGreater(int(coverage["window_count"]), 5)

    def test_ports_that_the_topology_lacks_are_named(self):
        told = self.imported(MAPPING, HEADER + "5,leaf0,Ethernet1,1,0\n5,leaf9,Ethernet1,1,0\n",
                             more=("--topology", self.topology()))
        self.assertIn("1 of 2 ports are not in ", told)
        self.assertIn("so that replay ignores their counters: leaf9:Ethernet1", told)

    def test_nics_of_hosts(self):
        told = self.imported(MAPPING + "kind: nic\n", HEADER + "5,host0,mlx5_0,1,0\n35,host0,mlx5_0,9,0\n",
                             more=("--topology", self.topology()))
        self.assertNotIn("not in", told)
        self.assertEqual(self.replay()["notes"], [])

    def test_an_invalid_topology_is_an_error(self):
        told = self.imported(MAPPING, HEADER + "5,leaf0,Ethernet1,1,0\n", expect=UNUSABLE,
                             more=("--topology", self.file("bad.yaml", "nam: x\n")))
        self.assertIn("bad.yaml is not a valid topology:", told)
        self.assertIn('unknown key "nam"', told)

    def broken_conversion(self, export, first=":"):
        """The program closes its standard input, runs the command `first`, and fails."""
        broken = self.file("broken", f"#!/bin/sh\nexec 0<&-\n{first}\necho no space left >&2\nexit 4\n")
        broken.chmod(0o755)
        return self.run_import(MAPPING, export, expect=UNUSABLE, words=("--rocescope", str(broken)))

    def test_a_failed_conversion_is_an_error(self):
        for rows in (1, 50_000):  # less and more than the buffers of the pipe
            told = self.broken_conversion(HEADER + "".join(f"{n},leaf0,Ethernet1,1,0\n" for n in range(rows)))
            self.assertEqual(told, "import_counters: rocescope counters convert: no space left\n")

    def test_an_invalid_row_is_named_although_the_conversion_has_ended(self):
        rows = self.file("rows.csv", HEADER + "".join(f"{n},leaf0,Ethernet1,1,0\n" for n in (5, 6, 4)))
        export = self.folder / "export.csv"
        os.mkfifo(export)  # the rows arrive after the program has closed its standard input
        told = self.broken_conversion(export, f"cat {rows} > {export}")
        self.assertIn("export.csv:4: column 1 (time): the time is before that of line 3", told)


if __name__ == "__main__":
    importing.tool, ROCESCOPE = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
