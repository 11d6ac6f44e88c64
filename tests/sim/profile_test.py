#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `rocescope-sim profile`: a run is recorded, collected with each included profile, and replayed.

    profile_test.py ROCESCOPE_SIM ROCESCOPE
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SCENARIO = """
name: small
duration: 12ms
fabric: {generate: {shape: leaf-spine, hosts: 8, leaves: 4, spines: 2, host_speed: 25G, fabric_speed: 25G}}
jobs: [{name: train, hosts: 'host[0-7]', phases: [{collective: ring, size: 1M, compute: 100us}]}]
faults:
  - {kind: gray_loss, sender: 'leaf0:Ethernet3', onset: 4ms, probability: 0.05}
  - {kind: bit_errors, sender: 'leaf3:Ethernet2', onset: 4ms, probability: 0.05}
telemetry: {mirror: leaf}
"""



def read_lines(path):
    """Returns the metrics of each reading."""
    readings = map(json.loads, path.read_text().splitlines())
    return {(line["time_ns"], line["kind"], json.dumps(line["entity"])): line["metrics"]
            for line in readings}


PROFILES = ["as-deployed", "counters-only", "gnmi-10s", "gnmi-1s", "lab", "leaf-mirror-sampled",
            "snmp-30s"]


def main():
    simulator, program = sys.argv[1:]

    def run(*arguments):
        return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=False)

    def simulate(*arguments):
        return run(simulator, *arguments)

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "small.yaml").write_text(SCENARIO)
        exact = directory / "exact"
        done = simulate("run", directory / "small.yaml", "-d", exact, "--record")
        assert done.returncode == 0, done.stderr

        listed = simulate("list").stdout
        for profile in PROFILES:
            assert f"\n{profile} " in listed, listed
            to = directory / profile
            done = simulate("profile", exact, "--profile", profile, "-d", to)
            assert done.returncode == 0, done.stderr
            assert f"with the profile {profile}, seed 1" in done.stdout, done.stdout
            fault = json.loads((to / "truth.json").read_text())["faults"][0]
            assert fault["detection_limit_frames"] >= 1, fault
            for file in to.iterdir():
                shows = profile.encode() in file.read_bytes() if file.is_file() else False
                assert shows == (file.name == "truth.json"), f"{file} names the profile"
            replayed = run(program, "replay", to, "-o", "json")
            assert replayed.returncode == 0, replayed.stderr
            assert json.loads(replayed.stdout)["jobs"] or profile == "counters-only"

        # A dilated run has the same counters at longer times.
        dilated = directory / "dilated"
        done = simulate("run", directory / "small.yaml", "-d", dilated, "--dilate", 1000, "--record")
        assert done.returncode == 0, done.stderr
        to = directory / "dilated-lab"
        assert simulate("profile", dilated, "--profile", "lab", "-d", to).returncode == 0
        lines = directory / "lab.jsonl"
        done = run(program, "counters", "convert", to / "counters.columns", lines)
        assert done.returncode == 0, done.stderr
        expected = read_lines(dilated / "counters.jsonl")
        assert len(expected) > 500 and read_lines(lines) == expected

        # Readings that arrive three windows later detect the fault three windows later.
        to = directory / "counters-only"
        text = directory / "counters.jsonl"
        assert run(program, "counters", "convert", to / "counters.columns", text).returncode == 0
        (to / "counters.columns").unlink()
        window = json.loads((to / "run.json").read_text())["analysis_window_ns"]
        delays = []
        for later in (0, 3):
            with (to / "counters.jsonl").open("w") as out:
                for line in map(json.loads, text.read_text().splitlines()):
                    line["arrival_ns"] = line.get("arrival_ns", line["time_ns"]) + later * window
                    out.write(json.dumps(line) + "\n")
            scored = run(program, "score", to, "--view", "all", "-o", "json")
            assert scored.returncode == 3, scored.stderr  # no goal applies
            fault = json.loads(scored.stdout)["views"][0]["findings"]["faults"][1]
            assert fault["detected"], fault
            delays.append(fault["delay_windows"])
        assert delays[0] > 0 and abs(delays[1] - delays[0] - 3) < 1e-6, delays

        # A user's own profile, and errors.
        own = directory / "own.yaml"
        own.write_text("name: own\npoll: {switches: {period: 5s, jiter: 1s}}\n")
        bad = simulate("profile", exact, "--profile", own, "-d", directory / "x")
        assert bad.returncode == 3 and "own.yaml:2:31: " in bad.stderr, bad.stderr
        assert 'did you mean "jitter"?' in bad.stderr, bad.stderr
        own.write_text("name: own\npoll: {switches: {period: 5s, jitter: 1s}}\n")
        assert simulate("profile", exact, "--profile", own, "-d", directory / "x").returncode == 0
        own.write_text("name: own\npoll: {switches: {period: 1s, refresh: {least: 1s, most: 60s}}}\n")
        slow = simulate("profile", exact, "--profile", own, "-d", directory / "x")
        assert slow.returncode == 3 and "is longer than the run" in slow.stderr, slow.stderr
        unknown = simulate("profile", exact, "--profile", "gnmi-1", "-d", directory / "x")
        assert unknown.returncode == 3 and 'did you mean "gnmi-1s"?' in unknown.stderr, unknown.stderr
        missing = simulate("profile", directory, "--profile", "lab", "-d", directory / "x")
        assert missing.returncode == 3 and "run.json" in missing.stderr, missing.stderr
        assert simulate("profile", exact, "--profile", "lab", "-d", "/dev/null/x").returncode == 4
        assert simulate("profile", exact, "-d", directory / "x").returncode == 2
        done = simulate("run", directory / "small.yaml", "--stream", "--record")
        assert done.returncode == 2, done.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
