#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests which build folder the scripts of testbeds/ use. build_folder_test.py TESTBEDS"""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

TESTBEDS = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(TESTBEDS))
import build_folder  # noqa: E402


class BuildFolder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.builds = pathlib.Path(temporary.name)

    def build(self, name, age, programs=(build_folder.ROCESCOPE, build_folder.SIMULATOR)):
        for program in programs:
            path = self.builds / name / program
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            os.utime(path, (1_000_000 - age, 1_000_000 - age))
        return self.builds / name

    def found(self, given=None, **more):
        return build_folder.build_folder(given, builds=self.builds, **more)

    def error(self, given=None):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as ended:
            self.found(given)
        self.assertEqual(ended.exception.code, 2)
        return errors.getvalue()

    def test_the_newest_folder_with_both_programs_is_used(self):
        self.build("release", 30)
        lab = self.build("lab", 20)
        asan = self.build("asan", 10, [build_folder.ROCESCOPE])
        self.assertEqual(self.found(), lab)
        self.assertEqual(self.found(programs=[build_folder.ROCESCOPE]), asan)

    def test_a_folder_that_is_named_is_used(self):
        release = self.build("release", 30)
        self.build("lab", 20)
        self.assertEqual(self.found(release), release)

    def test_missing_programs_are_an_error(self):
        self.assertIn("cmake --build --preset lab", self.error())
        self.assertIn("lab/appliance/rocescope does not exist", self.error(self.builds / "lab"))


unittest.main(argv=sys.argv[:1])
