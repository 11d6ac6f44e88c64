# SPDX-License-Identifier: BSD-3-Clause
"""Group `simulator`: CPU time, frame-hops and memory of the cases that simulators are compared by.

CPU seconds are also converted to REFERENCE_GHZ, because the speed of a shared machine varies: the
program times dependent additions in each run."""

import json
import os
import subprocess

import measure

REFERENCE_GHZ = 2.6


def run(settings, *arguments):
    program = measure.built(settings.build, "simulator")
    command = [str(program), *arguments]
    measure.say("Simulator: " + " ".join(arguments))
    read, write = os.pipe()
    process = subprocess.Popen(command, stdout=write)
    os.close(write)
    with os.fdopen(read) as output:
        text = output.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise measure.Unavailable(f"{' '.join(command)}: status {status}")
    found = json.loads(text)
    found["memory_mb"] = usage.ru_maxrss / 1024
    found["cpu_at_reference"] = found["cpu_s"] * found["gigahertz"] / REFERENCE_GHZ
    return found


def median(runs, key):
    return sorted(one[key] for one in runs)[len(runs) // 2]


def tap(settings):
    """Nanoseconds for a complete frame with 4096 bytes of payload, including its iCRC."""
    program = settings.build / "sim" / "emit" / "sim_emit_bench"
    if not program.exists():
        return None
    done = subprocess.run([str(program), "--benchmark_format=json"], capture_output=True,
                          text=True, check=True)
    for row in json.loads(done.stdout)["benchmarks"]:
        if row["name"] == "BenchmarkMirror/0":
            return row["cpu_time"], row["name"]
    return None


def bars(settings):
    if not (settings.build / "tests" / "perf" / "simulator").exists():
        measure.say("Built without the simulator: skipping its benchmarks.")
        return []
    rounds = range(1, min(5, settings.rounds) + 1)
    permutation = [run(settings, "permutation", "--seed", str(seed)) for seed in rounds]
    busy = [run(settings, "busy", "--seed", str(seed)) for seed in list(rounds)[:3]]
    speed = {"gigahertz": [one["gigahertz"] for one in permutation]}
    found = [
        measure.Bar(name="permutation_cpu", value=median(permutation, "cpu_s"), unit="CPU-s",
                    goal=0.9, at_most=True,
                    reference={"name": f"at {REFERENCE_GHZ} GHz",
                               "value": median(permutation, "cpu_at_reference"), "unit": "CPU-s"},
                    details=speed),
        measure.Bar(name="permutation_frame_hops",
                    value=sorted(one["hops"] / one["cpu_s"] for one in permutation)[
                        len(permutation) // 2],
                    unit="hops/CPU-s", goal=2e6,
                    reference={"name": f"at {REFERENCE_GHZ} GHz",
                               "value": sorted(one["hops"] / one["cpu_at_reference"]
                                               for one in permutation)[len(permutation) // 2],
                               "unit": "hops/CPU-s"}, details=speed),
        measure.Bar(name="busy_10ms_cpu", value=median(busy, "cpu_s"), unit="CPU-s", goal=12,
                    at_most=True,
                    reference={"name": f"at {REFERENCE_GHZ} GHz",
                               "value": median(busy, "cpu_at_reference"), "unit": "CPU-s"}),
        measure.Bar(name="memory_128_hosts",
                    value=max(one["memory_mb"] for one in permutation + busy), unit="MB", goal=150,
                    at_most=True),
    ]
    if (tapped := tap(settings)) is not None:
        found.append(measure.Bar(name="tap_whole_frame", value=tapped[0], unit="ns/frame",
                                 goal=1000, at_most=True, details={"benchmark": tapped[1]}))
    return found
