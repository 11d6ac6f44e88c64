# SPDX-License-Identifier: BSD-3-Clause
"""Group `counters`: a day of 8,000 ports with 12 metrics, read every 30 s, in counters.columns; the
reference is counters.jsonl in the same run."""

import json
import subprocess
import tempfile

import measure
from simulator import REFERENCE_GHZ


def record(settings, *words):
    with tempfile.TemporaryDirectory(dir=measure.CACHE) as folder:
        command = [str(measure.built(settings.build, "counter_recording")), folder, *words]
        measure.say("Counters: a day of 8,000 ports " + " ".join(words))
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise measure.Unavailable(f"{' '.join(command)}: status {done.returncode}")
    return json.loads(done.stdout)


def per_line(found, key):
    return found[key] / found["lines_readings"]


def bars(settings):
    measure.CACHE.mkdir(parents=True, exist_ok=True)
    found = []
    for name, words in (("", ()), ("_polled", ("--polled",))):
        run = record(settings, *words)
        to_reference = run["gigahertz"] / REFERENCE_GHZ
        lines_mb = per_line(run, "lines_bytes") * run["readings"] / 1e6
        lines = {"name": "counters.jsonl", "unit": "readings/CPU-s",
                 "value": 1 / per_line(run, "lines_read_s")}
        found += [
            measure.Bar(name=f"write_day{name}", value=run["write_s"] * to_reference, unit="CPU-s",
                        goal=60, at_most=True, details=run,
                        reference={"name": "counters.jsonl", "unit": "CPU-s",
                                   "value": per_line(run, "lines_write_s") * run["readings"]
                                   * to_reference}),
            measure.Bar(name=f"size_of_day{name}", value=run["bytes"] / 1e6, unit="MB", goal=600,
                        at_most=True, details=run,
                        reference={"name": "counters.jsonl", "value": lines_mb, "unit": "MB"}),
            measure.Bar(name=f"writer_memory{name}", value=run["writer_peak_bytes"] / 1e6, unit="MB",
                        goal=100, at_most=True, details=run),
            measure.Bar(name=f"read_columns{name}", value=run["readings"] / run["read_s"],
                        unit="readings/CPU-s", goal=1e6, details=run, reference=lines),
            measure.Bar(name=f"read_records{name}", value=run["readings"] / run["records_s"],
                        unit="readings/CPU-s", goal=1e6, details=run, reference=lines)]
    return found
