#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests a topology without links, removed one by one and all together: the run is replayed to the end,
and no finding blames a node that is missing in the topology.

usage: incomplete_topology_test.py PATH/rocescope-sim PATH/rocescope
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

SCENARIO = """
name: incomplete
about: "all telemetry of a small healthy fabric"
seed: 1
duration: 10ms
fabric:
  generate: {shape: leaf-spine, hosts: 4, nics: 2, gpus: 2, leaves: 2, spines: 2,
             host_speed: 100G, fabric_speed: 100G, host_delay: 500ns, fabric_delay: 500ns}
jobs:
  - name: train
    hosts: host[0-3]
    queue_pairs: 1
    phases:
      - {name: dp, collective: ring, size: 512K, compute: 1200us, groups: rails}
telemetry: {mirror: all, nccl: "2.20", rdma: true, slurm: true, int_exponent: 2, sflow_rate: 100}
"""
ROW = re.compile(r"^  - \[.*\]\n", re.M)


def findings(rocescope, run, *words):
    done = subprocess.run([rocescope, "replay", run, "-o", "json", *words],
                          capture_output=True, text=True)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
    return [(one["kind"], one["place"]) for one in json.loads(done.stdout)["findings"]]


def main():
    simulator, rocescope = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "scenario.yaml")
        scenario.write_text(SCENARIO)
        run = pathlib.Path(folder, "run")
        subprocess.run([simulator, "run", scenario, "-d", run], capture_output=True, check=True)
        assert not findings(rocescope, run)
        topology = run / "topology.yaml"
        whole = topology.read_text()
        rows = ROW.findall(whole)
        assert len(rows) == 6, rows
        for row in rows:
            topology.write_text(whole.replace(row, ""))
            for only in ([], ["--only", "counters"], ["--only", "int"], ["--only", "sflow"]):
                said = findings(rocescope, run, *only)
                missing = set(re.findall(r"(?:leaf|spine|host)\d", row))
                accused = [one for one in said if one[0] not in ("swapped_cables",)]
                assert not accused, f"without {row.strip()} {only}: {said}; it blames {missing}"
        for links in ("links: []\n", ""):
            topology.write_text(re.sub(r"^links:\n(  - .*\n)+", links, whole, flags=re.M))
            findings(rocescope, run)


if __name__ == "__main__":
    main()
