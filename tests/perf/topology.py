# SPDX-License-Identifier: BSD-3-Clause
"""Group `topology`: loading a fabric of 8,192 hosts in three tiers, and computing path sets in it."""

import json
import subprocess

import measure
from simulator import REFERENCE_GHZ, median


def run(settings, case):
    command = [str(measure.built(settings.build, "large_fabric")), case]
    measure.say("Topology: " + case)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise measure.Unavailable(f"{' '.join(command)}: status {done.returncode}")
    found = json.loads(done.stdout)
    found["cpu_at_reference"] = found["cpu_s"] * found["gigahertz"] / REFERENCE_GHZ
    return found


def bar(settings, name, case, goal, unit, factor):
    runs = [run(settings, case) for _ in range(min(5, settings.rounds))]
    return measure.Bar(name=name, value=median(runs, "cpu_s") * factor, unit=unit, goal=goal,
                       at_most=True,
                       reference={"name": f"at {REFERENCE_GHZ} GHz",
                                  "value": median(runs, "cpu_at_reference") * factor,
                                  "unit": unit},
                       details=runs[0])


def bars(settings):
    return [bar(settings, "load_8192_hosts", "ranges", 1, "CPU-s", 1),
            bar(settings, "load_8192_hosts_listed", "listed", 1, "CPU-s", 1),
            bar(settings, "path_set", "paths", 1, "CPU-ms", 1000)]
