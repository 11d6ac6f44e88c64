#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Simulates and replays every scenario of the library: the first and only finding is the fault of the
scenario, with its place and time, and healthy fabrics have no finding. Kinds and places come from the
scenarios and the ground truth of the runs.

usage: library_test.py PATH/rocescope-sim PATH/rocescope SCENARIOS
"""

import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import nanoseconds  # noqa: E402

# Each detectable fault kind has a scenario; a new kind needs one.
KINDS = 24
# How much earlier than its fault a finding may start: the window in which the fault starts, and the
# reading before it.
EARLY_WINDOWS = 2
# Scenarios that are repeated with less telemetry because it changes the diagnosis: without NIC
# counters, corruption is diagnosed from rejected packets.
LESS = {"corruption": "leaf-mirror,switch-counters,nccl"}


def link(place):
    """The two ends of a link have no order."""
    return frozenset(place.split("-")) if place.count(":") == 2 and "-" in place else place


def replay(rocescope, run, *words):
    answer = subprocess.run([rocescope, "replay", run, "--faults", "-o", "json", *words],
                            capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def is_right(finding, fault, window):
    places = {link(place) for place in fault["declared_links"] or [fault["place"]]}
    direction = finding["direction"]
    return (finding["kind"] == fault["kind"] and link(finding["place"]) in places and
            set(finding["loop_ports"]) == set(fault["loop_ports"]) and
            (fault["direction"] in ("", direction) or direction == "") and
            nanoseconds(finding["start_time"]) >= int(fault["start_ns"]) - EARLY_WINDOWS * window and
            nanoseconds(finding["detection_time"]) >= int(fault["start_ns"]))


def complaint(report, faults, window):
    """Returns None if the report is correct."""
    findings = report["findings"]
    if int(report["diagnosis_coverage"]["window_count"]) == 0:
        return "no counters were evaluated"
    if len(findings) != len(faults) or not all(map(is_right, findings, faults, [window] * len(faults))):
        said = [(one["kind"], one["place"], one["direction"], one["start_time"], one["detection_time"])
                for one in findings]
        true = [(one["kind"], one["place"], one["direction"], one["start_ns"]) for one in faults]
        return f"found {said}, expected {true}"
    return None


def try_one(simulator, rocescope, scenario):
    kinds = re.findall(r"^  - \{kind: (\w+),", scenario.read_text(), flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, "run")
        subprocess.run([simulator, "run", scenario, "-d", run], capture_output=True, check=True)
        faults = json.loads((run / "truth.json").read_text())["faults"]
        window = json.loads((run / "run.json").read_text())["analysis_window_ns"]
        assert [fault["kind"] for fault in faults] == kinds, f"{scenario.stem}: truth differs"
        errors = [complaint(replay(rocescope, run), faults, int(window))]
        if scenario.stem in LESS:
            report = replay(rocescope, run, "--only", LESS[scenario.stem])
            errors.append(complaint(report, faults, int(window)))
    return kinds, [f"{scenario.stem}: {error}" for error in errors if error]


def main():
    simulator, rocescope, folder = sys.argv[1:]
    # Not those of the flow model, which last for a day.
    scenarios = sorted(path for path in pathlib.Path(folder).glob("*.yaml")
                       if "\nmodel: flow\n" not in path.read_text())
    kinds, errors = set(), []
    healthy = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for of_one, wrong in pool.map(lambda one: try_one(simulator, rocescope, one), scenarios):
            kinds.update(of_one)
            healthy += not of_one
            errors += wrong
    print("\n".join(errors))
    assert len(kinds) == KINDS, f"{len(kinds)} kinds of faults: {sorted(kinds)}"
    assert healthy > 0
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
