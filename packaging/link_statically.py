#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a link command with gRPC, Protocol Buffers and what they need as static libraries.

usage: link_statically.py COMPILER ARGUMENT...

CMake's targets of Debian's gRPC name the shared libraries. This script removes them from the command
and appends the archives of the same libraries. Where an archive is missing, the command stays as it is.
OpenSSL, zlib and the C library stay shared, because they receive security updates.
"""

import pathlib
import re
import subprocess
import sys

REPLACED = r"(?:grpc\+\+|grpc|gpr|protobuf|address_sorting|re2|upb|cares|absl_\w+)"
SHARED = re.compile(rf"(?:.*/lib|-l)({REPLACED})(?:\.so[\d.]*|\.a)?$")


def main():
    command = sys.argv[1:]
    done = subprocess.run(["pkg-config", "--static", "--libs", "grpc++", "protobuf"],
                          capture_output=True, text=True)
    wanted = {match[1] for word in done.stdout.split() if (match := SHARED.match(word))}
    wanted |= {match[1] for word in command if (match := SHARED.match(word))}
    sysroot = [word for word in command if word.startswith("--sysroot=")]
    archives = []
    for name in sorted(wanted):
        found = subprocess.run([command[0], *sysroot, f"-print-file-name=lib{name}.a"],
                               capture_output=True, text=True).stdout.strip()
        if not pathlib.Path(found).is_absolute():
            print(f"lib{name}.a is missing: linking gRPC as shared libraries", file=sys.stderr)
            break
        archives.append(found)
    else:
        if wanted and done.returncode == 0:
            command = [word for word in command if not SHARED.match(word)]
            command += ["-Wl,--start-group", *archives, "-Wl,--end-group", "-Wl,--exclude-libs,ALL",
                        "-lssl", "-lcrypto", "-lz", "-lrt", "-ldl", "-pthread"]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
