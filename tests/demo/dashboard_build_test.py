#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a build without its dashboard reports this and how to fix it. Stub programs replace npm
and dpkg.

usage: dashboard_build_test.py REPOSITORY [UNITTEST ARGUMENT...]
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = None


class DashboardBuild(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.programs = self.folder / "bin"
        self.programs.mkdir()

    def program(self, name, text):
        (self.programs / name).write_text("#!/bin/sh\n" + text)
        (self.programs / name).chmod(0o755)

    def run_it(self, *words, path=None):
        path = path or f"{self.programs}:{os.environ['PATH']}"
        return subprocess.run(words, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "PATH": path})

    def build(self):
        dashboard = REPOSITORY / "appliance/dashboard"
        messages = self.folder / "messages.ts"
        messages.write_text("export type Int64 = string;\n")
        return self.run_it("cmake", "-D", f"SOURCE={dashboard}", "-D", f"MESSAGES={messages}",
                           "-D", f"WORK={self.folder / 'work'}",
                           "-D", f"PLAIN={REPOSITORY / 'appliance/daemon/web/plain/index.html'}",
                           "-P", REPOSITORY / "cmake/build_dashboard.cmake")

    def test_without_the_registry_there_is_a_plain_page_and_a_warning(self):
        self.program("npm", "echo 'npm ERR! code ENOTFOUND' >&2; exit 1\n")
        built = self.build()
        self.assertEqual(built.returncode, 0, built.stderr)
        said = " ".join(built.stderr.split())
        self.assertIn("CMake Warning", said)
        self.assertIn("npm could not fetch the dashboard's packages", said)
        self.assertIn("Once npm reaches its registry (npm ping), remove", said)
        dist = self.folder / "work/dist"
        self.assertIn("built without the dashboard", (dist / "index.html").read_text())
        self.assertEqual((dist / "app.js").read_text(), "")  # testbeds/demo checks this
        self.assertTrue((self.folder / "work/source/api/messages.ts").exists())

    def test_a_mismatched_lock_file_fails_the_build(self):
        self.program("npm", "echo 'npm ERR! code EUSAGE' >&2; exit 1\n")
        built = self.build()
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("do not agree", " ".join(built.stderr.split()))

    def missing(self, *here):
        """The missing packages that install_packages reports on a Debian with only these programs."""
        self.program("dpkg-query", "exit 0\n")
        self.program("id", "echo 1000\n")
        for name in here:
            self.program(name, "exit 0\n")
        for name in ("bash", "dirname", "awk", "sed", "sort", "comm", "grep"):
            (self.programs / name).symlink_to(f"/usr/bin/{name}")
        done = self.run_it("/bin/bash", REPOSITORY / "docker/install_packages", "dashboard",
                           path=str(self.programs))
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.splitlines()[1].split()

    def test_debians_node_is_installed_if_there_is_none(self):
        self.assertEqual(self.missing(), ["ca-certificates", "nodejs", "npm"])

    def test_another_node_is_kept(self):
        self.assertEqual(self.missing("node", "npm"), ["ca-certificates"])


if __name__ == "__main__":
    REPOSITORY = pathlib.Path(sys.argv.pop(1))
    unittest.main()
