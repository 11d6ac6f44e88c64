#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the hardening of the programs that the packages install, as `readelf` shows it.

usage: hardening_test.py --objects FILE[;FILE...] PROGRAM...

OBJECTS are object files of the programs. Their notes show branch protection (IBT and SHSTK on x86-64, BTI
and PAC on arm64). The notes of a program show it only if all objects of the C library have it, which is
not the case in Debian 12.
"""

import platform
import re
import shutil
import subprocess
import sys
import unittest

PROGRAMS, OBJECTS = [], []
BRANCH_PROTECTION = {"x86_64": "IBT, SHSTK", "aarch64": "BTI, PAC"}


def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], capture_output=True, text=True, check=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


class Hardening(unittest.TestCase):
    def check(self, options, pattern):
        for program in PROGRAMS:
            with self.subTest(program=program):
                self.assertRegex(readelf(options, program), pattern)

    def test_the_address_is_random(self):
        self.check("-h", r"Type:\s+DYN")
        self.check("-d", r"FLAGS_1\).*\bPIE\b")

    def test_addresses_of_functions_are_read_only(self):
        self.check("-l", r"GNU_RELRO")
        self.check("-d", r"\(FLAGS\).*\bBIND_NOW\b")

    def test_the_stack_is_not_executable(self):
        self.check("-l", r"GNU_STACK .* RW +0x")

    def test_no_segment_is_writable_and_executable(self):
        for program in PROGRAMS:
            segments = re.findall(r"^\s+LOAD\s+(?:0x\w+\s+){5}(.{3})", readelf("-l", program), re.M)
            self.assertGreater(len(segments), 1)
            self.assertFalse([flags for flags in segments if "W" in flags and "E" in flags], program)

    def test_a_stack_overflow_is_detected(self):
        self.check("--dyn-syms", r"\b__stack_chk_fail@")

    def test_a_buffer_overflow_is_detected(self):
        # FORTIFY_SOURCE replaces functions of the C library by checked ones.
        self.check("--dyn-syms", r"\b__(memcpy|snprintf|vsnprintf)_chk@")

    def test_indirect_branches_are_protected(self):
        wanted = BRANCH_PROTECTION.get(platform.machine())
        if wanted is None:
            self.skipTest(f"{platform.machine()} has no branch protection")
        self.assertTrue(OBJECTS)
        for file in OBJECTS:
            self.assertIn(wanted, readelf("-n", file), file)


if __name__ == "__main__":
    if not shutil.which("readelf"):
        print("skipped: readelf is not installed (Debian: binutils)")
        sys.exit(77)
    OBJECTS, PROGRAMS = [name for name in sys.argv[2].split(";") if name], sys.argv[3:]
    unittest.main(argv=[sys.argv[0]])
