#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that systemd accepts the units, and that rocescope accepts the command lines in them.

usage: units_test.py PATH/rocescope PATH/packaging PATH/testbeds [UNITTEST ARGUMENT...]
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROCESCOPE, UNITS, TESTBEDS = "", pathlib.Path(), pathlib.Path()
# 0 to 10. What remains is needed: the network of the host, CAP_NET_RAW of the appliance, CAP_SYS_PTRACE
# and CAP_DAC_READ_SEARCH of the agent.
MOST_EXPOSED = 2.0


class Units(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.units = []
        for template in sorted(UNITS.glob("*.service.in")):
            text = template.read_text().replace("@PACKAGE_BINDIR@/rocescope-agent", f"{ROCESCOPE} agent")
            unit = self.folder / template.stem
            unit.write_text(text.replace("@PACKAGE_BINDIR@/rocescope", ROCESCOPE))
            self.units.append(unit)
        self.assertEqual(len(self.units), 2)

    def test_systemd_accepts_every_line(self):
        for unit in self.units:
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], text=True,
                                  capture_output=True, timeout=30)
            # Ignore warnings about other units whose programs are not installed.
            ours = [line for line in done.stderr.splitlines() if "rocescope" in line]
            self.assertEqual(ours, [])

    def test_the_units_are_sandboxed(self):
        for unit in self.units:
            done = subprocess.run(
                ["systemd-analyze", "security", "--offline=true", "--no-pager",
                 f"--threshold={int(MOST_EXPOSED * 10)}", unit],
                text=True, capture_output=True, timeout=30)
            if "unrecognized option" in done.stderr:
                self.skipTest("this version of systemd-analyze cannot check files")
            self.assertEqual(done.returncode, 0, done.stdout[-300:])

    def test_the_units_limit_system_calls_and_memory(self):
        for unit in self.units:
            text = unit.read_text()
            for key in ("SystemCallFilter=@system-service", "MemoryMax=", "NoNewPrivileges=yes"):
                self.assertRegex(text, rf"(?m)^{key}", unit.name)

    def test_each_command_line_is_valid(self):
        for unit in self.units:
            for line in re.findall(r"^Exec\w+=(?:-)?(\S+rocescope .*)$", unit.read_text(), re.M):
                words = line.split()
                self.assertEqual(words[0], ROCESCOPE)
                command = [word for word in words[1:] if not word.startswith("/")]
                done = subprocess.run([ROCESCOPE, *command, "--help"], capture_output=True,
                                      text=True, timeout=30)
                self.assertEqual(done.returncode, 0, line)
                self.assertIn(" ".join(command), done.stdout)

    def test_the_example_configurations_are_valid(self):
        done = subprocess.run([ROCESCOPE, "config", "check", TESTBEDS / "appliance.yaml"],
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([ROCESCOPE, "agent", "--dump", TESTBEDS / "agent.yaml"],
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is not installed (Debian: systemd)")
        sys.exit(77)
    ROCESCOPE = sys.argv[1]
    UNITS, TESTBEDS = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
