# SPDX-License-Identifier: BSD-3-Clause
"""Group `engine`: the analytics engine in steady state with 16,384 GPUs, by number of queue pairs, as
a table on standard error and as targets; and loading a fabric of 65,536 hosts."""

import json
import subprocess

import measure
from simulator import REFERENCE_GHZ, median

QUEUE_PAIRS = [10_000, 100_000, 1_000_000]
RECORDS_PER_SECOND = 2e6
BYTES_PER_QUEUE_PAIR = 1024
QUERY_MS = 1
UNCHANGED_SHARE = 0.1  # share of the time to publish everything, if 1 % changed
FABRIC_SECONDS = 2
FABRIC_MEGABYTES = 500

COLUMNS = [("queue pairs", "queue_pairs", 1, "{:,.0f}"),
           ("records/s", "records_per_s", 1, "{:,.0f}"),
           ("hash table/s", "reference_per_s", 1, "{:,.0f}"),
           ("state B/QP", "state_bytes_per_qp", 1, "{:,.0f}"),
           ("with snapshot", "bytes_per_qp", 1, "{:,.0f}"),
           ("publish all ms", "publish_all_s", 1e3, "{:,.1f}"),
           ("1 % in a job", "publish_job_s", 1e3, "{:,.1f}"),
           ("1 % spread", "publish_spread_s", 1e3, "{:,.1f}"),
           ("nothing", "publish_none_s", 1e3, "{:,.4f}"),
           ("path query us", "query_s", 1e6, "{:,.2f}"),
           ("paired", "paired", 1, "{:,.0f}")]


def run(settings, program, *options):
    command = [str(measure.built(settings.build, program)), *map(str, options)]
    measure.say("Engine: " + " ".join(map(str, (program, *options))))
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise measure.Unavailable(f"{' '.join(command)}: status {done.returncode}")
    return json.loads(done.stdout)


def say_table(runs):
    rows = [[name for name, *_ in COLUMNS]]
    rows += [[form.format(found[key] * factor) for _, key, factor, form in COLUMNS]
             for found in runs]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        measure.say("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def scaled(found, key):
    """Converts a time (or the inverse of a rate) to the reference speed."""
    return found[key] * found["gigahertz"] / REFERENCE_GHZ


def fabric_bars(settings):
    runs = [run(settings, "large_fabric", "ranges", "--largest")
            for _ in range(min(3, settings.rounds))]
    for found in runs:
        found["at_reference"] = scaled(found, "cpu_s")
    return [measure.Bar(name="load_65536_hosts", value=median(runs, "cpu_s"), unit="CPU-s",
                        goal=FABRIC_SECONDS, at_most=True, details=runs[0],
                        reference={"name": f"at {REFERENCE_GHZ} GHz", "unit": "CPU-s",
                                   "value": median(runs, "at_reference")}),
            measure.Bar(name="load_65536_hosts_memory", value=runs[0]["peak_bytes"] / 1e6,
                        unit="MB", goal=FABRIC_MEGABYTES, at_most=True,
                        reference={"name": "kept", "unit": "MB",
                                   "value": runs[0]["memory_bytes"] / 1e6})]


def bars(settings):
    runs = [run(settings, "engine_scale", "--queue-pairs", count) for count in QUEUE_PAIRS]
    say_table(runs)
    least, most = runs[0], runs[-1]
    # The machine's speed may change by half within a minute, so both are compared with the growth
    # of a plain hash table, which has the same cache misses.
    growth = least["records_per_s"] / most["records_per_s"]
    found = [
        measure.Bar(name="engine_records", value=most["records_per_s"], unit="records/CPU-s",
                    goal=RECORDS_PER_SECOND, details=most,
                    reference={"name": "plain hash table, same keys", "unit": "records/CPU-s",
                               "value": most["reference_per_s"]}),
        measure.Bar(name="engine_memory", value=most["state_bytes_per_qp"], unit="bytes/QP",
                    goal=BYTES_PER_QUEUE_PAIR, at_most=True, details=most,
                    reference={"name": "with a snapshot", "unit": "bytes/QP",
                               "value": most["bytes_per_qp"]}),
        measure.Bar(name="engine_growth", value=growth, unit="x per record, 10^4 to 10^6",
                    goal=least["reference_per_s"] / most["reference_per_s"], at_most=True,
                    reference={"name": "plain hash table", "unit": "x",
                               "value": least["reference_per_s"] / most["reference_per_s"]}),
        measure.Bar(name="publish_nothing", value=most["publish_none_s"] * 1e3, unit="CPU-ms",
                    goal=1, at_most=True),
        measure.Bar(name="publish_1_percent", value=most["publish_job_s"] / most["publish_all_s"],
                    unit="of all", goal=UNCHANGED_SHARE, at_most=True, details=most,
                    reference={"name": "all", "unit": "CPU-s", "value": most["publish_all_s"]}),
        measure.Bar(name="publish_1_percent_spread",
                    value=most["publish_spread_s"] / most["publish_all_s"], unit="of all",
                    reference={"name": "all", "unit": "CPU-s", "value": most["publish_all_s"]}),
        measure.Bar(name="path_query", value=most["query_s"] * 1e3, unit="CPU-ms", goal=QUERY_MS,
                    at_most=True),
    ]
    return found + fabric_bars(settings)
