# SPDX-License-Identifier: BSD-3-Clause
"""The command `regression`: captures a fixed set of runs, and checks that `rocescope replay` finds the fault of
each of them."""

import json
import pathlib
import socket
import subprocess
import time

import build
import capture
import score
import traffic
from problem import Problem, say
from system import check_machine, find_program

MISSED = 1
SECONDS = 30
PAUSE_SECONDS = 5  # between runs, until the traffic is steady again
MEGABYTE = 10**6
SMALL = {"leaves": 2, "spines": 2, "hosts": 4, "speed": "20000000", "sflow_rate": 64, "sflow_polling": 0, "window": 2,
         "jobs": None, "no_traffic": False}
# Onset and duration in seconds, kind, place and value of the fault of each run.
RUNS = {
    "healthy": [],
    "loss": [(8, 15, "loss", "leaf0:spine1", "5%")],
    "bit-errors": [(8, 15, "bit-errors", "leaf1:spine1", "10%")],
    "down": [(8, 15, "down", "leaf0:spine0", None)],
    "blackhole": [(8, 15, "blackhole", "spine0", "host3")],
}


def regression(state, folder, rocescope, endpoint):
    """Captures the runs that the directory lacks, and checks all of them. Returns 1 if a check fails."""
    folder = pathlib.Path(folder).resolve()
    program = find_program(rocescope, "rocescope", "appliance")
    if program is None:
        raise Problem("the program rocescope was not found; build it (ninja -C build/release rocescope), or name it "
                      "with --rocescope")
    if missing := [name for name in RUNS if not (folder / name / "run.json").exists()]:
        capture_runs(state, folder, missing, program, endpoint)
    failed = 0
    for name in RUNS:
        faults, size = check(program, folder / name)
        for fault in faults:
            print(f"{name:<12} WRONG: {fault}")
        if not faults:
            print(f"{name:<12} right ({size / MEGABYTE:.0f} MB)")
        failed += bool(faults)
    return MISSED if failed else 0


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def capture_runs(state, folder, names, program, endpoint):
    check_machine()
    state.refuse_existing()
    say(f"capturing {', '.join(names)}: about {len(names) * (SECONDS + PAUSE_SECONDS)} s")
    for name in names:
        capture.prepare(folder / name)
    build.up(state, build.Options(**SMALL, http=free_port(), grpc=free_port(), rocescope=program,
                                  endpoint=traffic.find_endpoint(endpoint)))
    try:
        for name in names:
            time.sleep(PAUSE_SECONDS)
            capture.capture(state, folder / name, SECONDS, list(RUNS[name]))
    finally:
        state.remove()


def check(program, run):
    """The errors of the analysis of a run, as sentences, and the size of the run in bytes."""
    first, second = (replayed(program, run) for _ in range(2))
    try:
        report = json.loads(first)
    except ValueError as error:
        raise Problem(f"{program} replay {run}: no report as JSON: {error}") from None
    try:
        truth = json.loads((run / "truth.json").read_text())
        wrong = differences(truth, report)
        if first != second:
            wrong.append("two replays have different output")
        if report["ledger"]["dropped"]:
            wrong.append(f"frames were not decoded: {report['ledger']['dropped']}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"{run}: truth.json or the report of `rocescope replay` is invalid ({error!r}); if truth.json is "
                      "damaged, delete the directory, and the same command captures the run again") from None
    return wrong, sum(path.stat().st_size for path in run.rglob("*") if path.is_file())


def replayed(program, run):
    done = subprocess.run([program, "replay", run, "-o", "json"], capture_output=True)
    if done.returncode != 0:
        raise Problem(f"rocescope replay {run}: exit code {done.returncode}: "
                      + done.stderr.decode(errors="replace").strip())
    return done.stdout


def differences(truth, report):
    """The faults of the ground truth that were not found with the right kind and place, and false findings."""
    injected = {number: {"truth": fault} for number, fault in enumerate(truth["faults"], 1)}
    rows, false = score.compare(injected, report["findings"], report.get("suspected_findings", ()))
    wrong = [f"{fault['truth']['kind']} at {fault['truth']['place']}: {result}" + found_instead(finding)
             + f"; {fault['truth'].get('affected_frames', 0)} frames affected"
             for _, fault, finding, result in rows if result != "right"]
    return wrong + [f"false finding: {one['kind']} at {one['place']}, confidence {one['confidence']:.2f}"
                    for one in false]


def found_instead(finding):
    return f" (found: {finding['kind']} at {finding['place']})" if finding else ""
