#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the package rocescope-agent for arm64 that `cmake --workflow --preset agent-arm64` has built.

usage: arm64_test.py BUILD_DIRECTORY VERSION SYSROOT [UNITTEST ARGUMENT...]

Builds nothing. Runs the program with qemu and the libraries of SYSROOT.
"""

import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, VERSION, SYSROOT = pathlib.Path(), "", pathlib.Path()
QEMU = "qemu-aarch64-static"
TOOLS = ["aarch64-linux-gnu-g++", QEMU, "readelf", "dpkg-deb", "ninja"]
# The C++ runtime, and libraries that receive security updates. gRPC and Protocol Buffers are static.
NEEDED = {"ld-linux-aarch64.so.1", "libc.so.6", "libcrypto.so.3", "libfmt.so.9", "libgcc_s.so.1",
          "libm.so.6", "libpcap.so.0.8", "libssl.so.3", "libstdc++.so.6", "libyaml-cpp.so.0.7",
          "libz.so.1", "libzstd.so.1"}
GLIBC_AT_MOST = (2, 34)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True,
                          timeout=120).stdout


def package():
    return next((BUILD / "packages").glob(f"rocescope-agent_{VERSION}_arm64.deb"), None)


def newest_source():
    """The time of the last change of a source or header that the build has compiled."""
    paths = {line.strip() for line in run("ninja", "-C", BUILD, "-t", "deps").splitlines()
             if line.startswith("    ")}
    return max((BUILD / path).stat().st_mtime for path in paths if (BUILD / path).exists())


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        run("dpkg-deb", "-x", package(), cls.root)
        cls.program = cls.root / "usr/bin/rocescope-agent"

    def agent(self, *words):
        return run(QEMU, "-L", SYSROOT, self.program, *words)

    def test_the_package_is_for_arm64(self):
        fields = run("dpkg-deb", "-f", package(), "Package", "Version", "Architecture").splitlines()
        self.assertEqual(sorted(fields), ["Architecture: arm64", "Package: rocescope-agent",
                                          f"Version: {VERSION}"])

    def test_it_depends_on_the_packages_of_the_shared_libraries(self):
        depends = run("dpkg-deb", "-f", package(), "Depends").strip().split(", ")
        names = {depend.split()[0] for depend in depends}
        self.assertEqual(names, {"libc6", "libfmt9", "libgcc-s1", "libpcap0.8", "libseccomp2", "libssl3",
                                 "libstdc++6", "libyaml-cpp0.7", "libzstd1", "zlib1g"})

    def test_it_has_the_unit_the_configuration_and_the_man_page(self):
        for name in ("etc/rocescope/agent.yaml", "lib/systemd/system/rocescope-agent.service",
                     "usr/share/bash-completion/completions/rocescope-agent"):
            self.assertTrue((self.root / name).is_file(), name)
        page = self.root / "usr/share/man/man1/rocescope-agent.1.gz"
        self.assertIn(r"\-\-nccl\-logs", gzip.decompress(page.read_bytes()).decode())

    def test_the_program_is_for_arm64_and_has_no_debug_information(self):
        self.assertRegex(run("readelf", "-h", self.program), r"Machine: +AArch64\n")
        self.assertNotIn(".debug_info", run("readelf", "-SW", self.program))

    def test_the_program_needs_only_libraries_that_receive_security_updates(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", self.program))
        self.assertIn("libc.so.6", needed)
        self.assertEqual(set(needed) - NEEDED, set())

    def test_the_program_runs_with_glibc_2_34(self):
        versions = {tuple(map(int, version.split(".")))
                    for version in re.findall(r"GLIBC_([\d.]+)", run("readelf", "-VW", self.program))}
        self.assertTrue(versions)
        self.assertLessEqual(max(versions), GLIBC_AT_MOST)

    def test_the_program_runs(self):
        self.assertEqual(self.agent("--version"), f"rocescope-agent {VERSION}\n")
        self.assertIn("--nccl-logs", self.agent("--help"))
        self.assertRegex(self.agent("--dump"), r"(?m)^\w+:")


def main():
    global BUILD, VERSION, SYSROOT
    BUILD, VERSION, SYSROOT = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    for tool in TOOLS:
        if not shutil.which(tool):
            skip(f"{tool} is not installed (docker/install_packages arm64)")
    if not (SYSROOT / "packages").is_file():
        skip(f"{SYSROOT} does not exist (docker/make_arm64_sysroot)")
    if not package():
        skip(f"{BUILD} has no package (cmake --workflow --preset agent-arm64)")
    if package().stat().st_mtime < newest_source():
        skip(f"{package()} is older than the sources (cmake --workflow --preset agent-arm64)")
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])


if __name__ == "__main__":
    main()
