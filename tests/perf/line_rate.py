# SPDX-License-Identifier: BSD-3-Clause
"""Group `line_rate`: packets per CPU second of one core. The frames are in memory, with all state and
records; the reference only reads them, in the same run."""

import json
import subprocess

import line_rate_port
import measure

# Name, arguments of line_rate_memory, goal in packets per CPU second.
MEMORY = [
    ("plain_10k_qps", ["--qps", "10000", "--frames", "2000000"], 60e6),
    ("plain_1m_qps", ["--qps", "1000000", "--frames", "4000000"], 30e6),
    ("erspan_10k_qps", ["--qps", "10000", "--frames", "2000000", "--erspan"], 45e6),
    ("erspan_1m_qps", ["--qps", "1000000", "--frames", "4000000", "--erspan"], 25e6),
]


def from_memory(settings, name, arguments, goal):
    program = measure.built(settings.build, "line_rate_memory")
    measure.say(f"Frames in memory: {name}")
    command = [str(program), "--rounds", str(settings.rounds), "--laps", "1", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise measure.Unavailable(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    found = json.loads(run.stdout)
    return found, measure.Bar(
        name=f"memory_{name}", value=found["state_rate"], unit="packets/CPU-s", goal=goal,
        reference={"name": "parse alone", "value": found["decode_rate"],
                   "unit": "packets/CPU-s"},
        details={"ratio": round(found["state_rate"] / found["decode_rate"], 3),
                 "flows": found["flows"]})


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
