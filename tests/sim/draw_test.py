#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `rocescope-sim draw`: the same seed writes the same files, bad input has its exit code, and
`list` reads the drawn scenarios.

    draw_test.py ROCESCOPE_SIM
"""

import pathlib
import subprocess
import sys
import tempfile


def main():
    program = sys.argv[1]

    def run(*arguments):
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              check=False)

    def draw(folder, *arguments):
        done = run("draw", "-d", folder, *arguments)
        assert done.returncode == 0, done.stderr
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        ten = draw(directory / "ten", "--count", 10, "--seed", 3)
        assert len(ten) == 10
        assert sum("healthy" in file for file in ten) == 3, sorted(ten)
        assert draw(directory / "again", "--count", 10, "--seed", 3) == ten
        four = draw(directory / "four", "--count", 4, "--seed", 3)
        assert four.items() <= ten.items(), "a scenario depends on the count"
        other = draw(directory / "other", "--count", 10, "--seed", 4)
        assert not set(other.values()) & set(ten.values())

        done = run("draw", "--count", 1, "--seed", 4, "-d", directory / "ten")
        assert done.returncode == 4 and "already contains scenarios" in done.stderr, done.stderr
        assert len(list((directory / "ten").iterdir())) == 10

        done = run("list", "--scenarios", directory / "ten")
        assert done.returncode == 0, done.stderr
        assert all(file in done.stdout for file in ten)

        field = ["--seed", 3, "--max-faults", 4, "--benign", "--windows", 40]
        several = draw(directory / "several", "--count", 12, *field)
        assert draw(directory / "several-again", "--count", 12, *field) == several
        assert all(b"duration: 40000us" in text and b"\nbenign:" in text
                   for text in several.values())
        assert max(text.count(b"{kind: ") for text in several.values()) > 1
        done = run("list", "--scenarios", directory / "several")
        assert done.returncode == 0, done.stderr
        flow = ["--seed", 3, "--model", "flow"]
        hours = draw(directory / "hours", "--count", 8, *flow)
        assert draw(directory / "hours-again", "--count", 8, *flow) == hours
        assert all(b"\nmodel: flow\n" in text and b"\nbenign:" in text for text in hours.values())
        done = run("list", "--scenarios", directory / "hours")
        assert done.returncode == 0, done.stderr

        for wrong in (["--max-faults", 5], ["--max-faults", 0], ["--windows", 1001],
                      ["--windows", 5], ["--model", "guess"]):
            assert run("draw", "-d", directory, "--count", 1, *wrong).returncode == 2, wrong

        assert run("draw", "-d", directory, "--count", 0).returncode == 2
        assert run("draw", "-d", directory, "--count", 1, "--healthy", 1.5).returncode == 2
        assert run("draw", "--count", 1).returncode == 2
        missing = run("draw", "-d", directory, "--count", 1, "--priors", directory / "none")
        assert missing.returncode == 3 and "--priors" in missing.stderr
        (directory / "bad.yaml").write_text("kinds: {flop: 1}\nloss_rates: []\n")
        bad = run("draw", "-d", directory, "--count", 1, "--priors", directory / "bad.yaml")
        assert bad.returncode == 3 and "bad.yaml:1:9" in bad.stderr, bad.stderr
        assert run("draw", "-d", "/dev/null/x", "--count", 1).returncode == 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
