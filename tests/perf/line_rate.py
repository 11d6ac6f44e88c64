# SPDX-License-Identifier: BSD-3-Clause
"""Group `line_rate`: packets per CPU second of one core. The frames are in memory, with all state and
records. The reference is a lean loop with the same frames in the same run, so that the goals are ratios,
which hold on any machine."""

import json
import subprocess

import line_rate_port
import measure

COLD_10K = ["--qps", "10000", "--frames", "2000000", "--laps", "1"]
COLD_1M = ["--qps", "1000000", "--frames", "4000000", "--laps", "1"]
# A pool of frames that stays in the cache, as the buffers that a NIC fills do.
RECYCLED = ["--frames", "8192", "--laps", "256"]

# Name, arguments of line_rate_memory, goal as a ratio to the lean loop (None: only reported).
MEMORY = [
    ("plain_10k_qps_nccl", [*COLD_10K, "--nccl"], 0.60),
    ("plain_10k_qps", COLD_10K, 0.50),
    ("plain_1m_qps", COLD_1M, 0.40),
    ("erspan_10k_qps", [*COLD_10K, "--erspan"], 0.42),
    ("erspan_1m_qps", [*COLD_1M, "--erspan"], 0.32),
    ("plain_recycled", ["--qps", "10000", *RECYCLED], None),
    ("plain_recycled_nccl", ["--qps", "10000", *RECYCLED, "--nccl"], None),
]


def cost(rate, ticks):
    return {"packets_per_cpu_second": rate, "nanoseconds": round(1e9 / rate, 1), "cycles": round(ticks / rate, 1)}


def from_memory(settings, name, arguments, goal):
    program = measure.built(settings.build, "line_rate_memory")
    measure.say(f"Frames in memory: {name}")
    command = [str(program), "--rounds", str(settings.rounds), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise measure.Unavailable(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    found = json.loads(run.stdout)
    ticks = found["ticks_per_second"]
    return found, measure.Bar(
        name=f"memory_{name}", value=round(found["state_rate"] / found["lean_rate"], 3), unit="of the lean loop",
        goal=goal,
        reference={"name": "lean loop", "value": found["lean_rate"], "unit": "packets/CPU-s"},
        details={"product": cost(found["state_rate"], ticks), "lean loop": cost(found["lean_rate"], ticks),
                 "parse alone": cost(found["decode_rate"], ticks), "flows": found["flows"]})


def bars(settings):
    runs = [from_memory(settings, *row) for row in MEMORY]
    found = [run for run, _ in runs]
    packets = sum(run["lap_packets"] for run in found)
    return [bar for _, bar in runs] + [
        measure.Bar(name="bytes_per_flow_entry", value=found[0]["entry_bytes"], unit="bytes",
                    goal=256, at_most=True),
        measure.Bar(name="allocations_per_packet",
                    value=sum(run["lap_allocations"] for run in found) / packets,
                    unit="allocations", goal=0, exactly=True,
                    details={"packets": packets,
                             "allocations": [run["lap_allocations"] for run in found]}),
    ] + line_rate_port.bars(settings)
