#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every file has a licence line and a bounded length, and the comments of protos.

    tests/checks/files.py

Checks the files that git tracks. Prints one line per violation; exit code 1 if there are any.
"""
import pathlib
import re
import subprocess
import sys

LINES_AT_MOST = 800
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
CODE = {".h", ".cc", ".py", ".sh", ".cmake", ".proto", ".ts", ".tsx"}
CODE_NAMES = {"CMakeLists.txt", "Dockerfile", ".clang-format", ".clang-tidy"}


def is_code(name, text):
    path = pathlib.PurePosixPath(name)
    return path.suffix in CODE or path.name in CODE_NAMES or text.startswith("#!")


def check_text(name, text):
    if not is_code(name, text):
        return
    lines = text.splitlines()
    if not any(LICENCE in line for line in lines[:3]):
        yield f"{name}: the first three lines must contain \"{LICENCE}\""
    if len(lines) > LINES_AT_MOST:
        yield f"{name}: {len(lines)} lines; the limit is {LINES_AT_MOST}"
    if name.endswith(".proto"):
        yield from check_comments(name, lines)


def check_comments(name, lines):
    """Finds comments behind a declaration that continue: protoc attaches only their first line."""
    for number, (line, after) in enumerate(zip(lines, lines[1:]), start=2):
        behind = re.match(r"\s*[^/\s][^/]*//", line)
        alone = re.match(r"\s*//", after)
        if behind and alone and alone.end() == behind.end():
            yield (f"{name}:{number}: protoc drops this continuation of a comment; "
                   "move the comment above the declaration")


def main():
    root = pathlib.Path(__file__).parents[2]
    tracked = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True,
                             text=True).stdout.splitlines()
    found = []
    for name in tracked:
        try:
            found += check_text(name, (root / name).read_text())
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # a binary file, or a removal that is not committed yet
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
