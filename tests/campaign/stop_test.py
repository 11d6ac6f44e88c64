#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a campaign stops with its child processes on request, and resumes when restarted. Scripts
replace the simulator and the program.

    stop_test.py CAMPAIGN
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

# A script with a FIFO writes its process ID to the FIFO and waits.
SIMULATOR = """#!/bin/sh
case $1 in
  draw) [ ! -p "$0.draws" ] || { echo $$ > "$0.draws"; exec sleep 600; }
    shift 6; for i in 1 2 3; do echo "name: s$i" > "$1/$i.yaml"; done ;;
  run) mkdir "$4"; [ ! -p "$0.runs" ] || { echo $$ > "$0.runs"; exec sleep 600; } ;;
esac
"""
PROGRAM = """#!/bin/sh
case "$*" in *--priors*) [ ! -p "$0.summary" ] || { echo $$ > "$0.summary"; exec sleep 600; } ;; esac
echo "{}"
"""


class Stage:
    def __init__(self, campaign, folder):
        self.folder = pathlib.Path(folder)
        self.simulator = self.script("sim/rocescope-sim", SIMULATOR)
        self.program = self.script("appliance/rocescope", PROGRAM)
        self.out = self.folder / "out"
        self.command = [campaign, "--count", "3", "--jobs", "1", "-d", self.out, "--build", folder]

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir()
        path.write_text(text)
        path.chmod(0o755)
        return path

    def stop(self, number, script, during):
        """Stops a campaign while a script runs. Returns code, messages, process ID of the script."""
        fifo = pathlib.Path(f"{script}.{during}")
        os.mkfifo(fifo)
        with subprocess.Popen(
                self.command, stderr=subprocess.PIPE, text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as running:
            process = int(fifo.read_text())
            running.send_signal(number)
            errors = running.communicate(timeout=30)[1]
        fifo.unlink()
        return running.returncode, errors, process


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory() as folder:
            stage = Stage(sys.argv[1], folder)
            for script, during in ((stage.simulator, "draws"), (stage.simulator, "runs"),
                                   (stage.program, "summary")):
                code, errors, process = stage.stop(number, script, during)
                assert code == 2, (during, code, errors)
                assert errors.endswith("campaign: stopped; run it with the same arguments to resume\n"), errors
                assert "Traceback" not in errors, errors
                assert not is_alive(process), f"{script} outlives its campaign"
                assert not list(stage.out.glob("run-*")), "runs must be deleted"
                assert during == "summary" or not list(stage.out.glob("scores/*")), \
                    "a stopped run must have no score"
            again = subprocess.run(stage.command, capture_output=True, text=True)
            assert again.returncode == 0, again.stderr
            assert len(list(stage.out.glob("scores/*.score.json"))) == 3

    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(sys.argv[1], folder)
        stage.simulator.write_text("#!/bin/sh\necho no such luck >&2\nexit 4\n")
        drawn = subprocess.run(stage.command, capture_output=True, text=True)
        assert drawn.returncode == 2 and "no such luck" in drawn.stderr, drawn.stderr
        for words in (["--count", "0"], ["--jobs", "0"]):
            assert subprocess.run(stage.command + words, capture_output=True).returncode == 2


if __name__ == "__main__":
    main()
