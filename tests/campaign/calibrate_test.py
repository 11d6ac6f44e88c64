#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the calibration of confidences. calibrate_test.py TESTBEDS"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CALIBRATE = pathlib.Path(sys.argv[1]) / "calibrate"


def judged(detector, readings, confidence, right):
    return {"detector": detector, "readings": readings, "uncalibrated_confidence": confidence,
            "suspected": confidence < 0.5, "right": right}


class Calibrate(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def campaign(self, name, findings):
        folder = self.folder / name
        (folder / "scores").mkdir(parents=True)
        (folder / "campaign.json").write_text(json.dumps({"count": 1, "seed": 7, "profiles": ["gnmi-1s"]}))
        score = {"views": [{"view": "all", "findings": {"judged": findings}}, {"view": "paths"}]}
        (folder / "scores/0001.gnmi-1s.score.json").write_text(json.dumps(score))
        return folder

    def run_on(self, *words):
        out = self.folder / "table.inc"
        done = subprocess.run([CALIBRATE, *words, "-o", out], capture_output=True, text=True)
        return done, out.read_text() if out.exists() else ""

    def shifts(self, text):
        return {(found[1], found[2] or None): float(found[3])
                for found in re.finditer(r"^(?:ROW|POOLED)\((\w+)(?:, (k\w+))?, (-?[\d.]+)\)", text, re.M)}

    def test_overconfident_findings_are_shifted_down_and_others_up(self):
        many = [judged("pause", "each_window", 0.95, i % 2 == 0) for i in range(200)] + \
               [judged("hashing", "each_window", 0.6, True) for i in range(200)]
        done, text = self.run_on(self.campaign("a", many))
        self.assertEqual(done.returncode, 0, done.stderr)
        shifts = self.shifts(text)
        # From odds of 19 to about 1: -ln(19) = -2.94, a little less because of the prior.
        self.assertAlmostEqual(shifts["pause", "kEachWindow"], -2.94, delta=0.1)
        self.assertGreater(shifts["hashing", "kEachWindow"], 2)
        self.assertIn("// packet model, seed 7, gnmi-1s: 1 runs, 400 findings\n", text)
        self.assertIn("// 100 of 200 right, stated 0.95\n", text)

    def test_few_findings_change_little(self):
        few = [judged("pause", "each_window", 0.9, False)]
        shift = self.shifts(self.run_on(self.campaign("a", few))[1])["pause", None]
        confidence = 1 / (1 + (1 / 9) * 2.718281828 ** -shift)
        self.assertAlmostEqual(confidence, 10 * 0.9 / 11, delta=0.01)

    def test_few_findings_raise_nothing(self):
        for count, raises in ((99, False), (100, True)):
            right = [judged("pause", "each_window", 0.6, True) for _ in range(count)]
            self.assertEqual(self.shifts(self.run_on(self.campaign(f"of{count}", right))[1])["pause", None] > 0, raises)

    def test_a_class_with_few_findings_gets_the_pooled_value(self):
        findings = [judged("pause", "each_window", 0.9, i % 2 == 0) for i in range(100)] + \
                   [judged("pause", "simultaneous", 0.9, True)]
        shifts = self.shifts(self.run_on(self.campaign("a", findings))[1])
        self.assertAlmostEqual(shifts["pause", "kSimultaneous"], shifts["pause", None], delta=0.5)
        self.assertGreater(shifts["pause", "kSimultaneous"], shifts["pause", None])

    def test_findings_that_were_right_as_often_as_stated_stay(self):
        right = [judged("pause", "sparse", 0.8, i % 5 != 0) for i in range(50)]
        self.assertEqual(self.shifts(self.run_on(self.campaign("a", right))[1])["pause", "kSparse"], 0)

    def test_the_same_input_gives_the_same_table(self):
        folder = self.campaign("a", [judged("pause", "", 0.7, i % 3 == 0) for i in range(9)])
        self.assertEqual(self.run_on(folder)[1], self.run_on(folder)[1])

    def test_other_campaigns_test_the_table_and_do_not_change_it(self):
        tuned = self.campaign("a", [judged("pause", "each_window", 0.95, i % 2 == 0) for i in range(200)])
        other = self.campaign("b", [judged("pause", "each_window", 0.95, i % 2 == 0) for i in range(10)])
        alone = self.run_on(tuned)[1]
        done, text = self.run_on(tuned, "--test", other)
        self.assertEqual(text, alone)
        test = done.stdout.split("TEST")[1]
        self.assertRegex(test, r"pause +10 +0\.50 +0\.95 +0\.5\d")

    def test_scores_without_judged_findings_are_an_error(self):
        done, text = self.run_on(self.campaign("a", []))
        self.assertEqual((done.returncode, text), (2, ""))
        self.assertIn("contain no finding", done.stderr)
        folder = self.campaign("b", [{"detector": "pause"}])
        self.assertIn("is not a score of this version", self.run_on(folder)[0].stderr)
        (folder / "scores/0001.gnmi-1s.score.json").unlink()
        self.assertIn("contains no scores", self.run_on(folder)[0].stderr)


unittest.main(argv=sys.argv[:1])
