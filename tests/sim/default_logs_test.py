#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Simulated jobs whose NCCL logs contain no queue pairs: the ranks of their connections and the number of jobs,
compared with the truth of the run.

usage: default_logs_test.py PATH/rocescope-sim PATH/rocescope [UNITTEST ARGUMENT...]
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SIMULATOR = ROCESCOPE = ""
ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASES = ("2.14", "2.20", "2.30")
FABRIC = """
name: default-logs
seed: 5
duration: 12ms
record_interval: 1ms
analysis_window: 1ms
fabric:
  generate: {shape: leaf-spine, leaves: 2, spines: 2, hosts: 8, nics: 2, gpus: 2, host_speed: 100G, fabric_speed: 100G}
"""
PHASES = "phases: [{name: dp, collective: ring, size: 300K, compute: 200us, groups: rails}]"
SUCCESSION = FABRIC + f"""
jobs:
  - {{name: first, id: 11, hosts: "host[0-3]", start: 50us, end: 5ms, {PHASES}}}
  - {{name: second, id: 12, hosts: "host[0-3]", start: 6ms, {PHASES}}}
telemetry: {{mirror: leaf, nccl: "2.20", nccl_queue_pairs: false}}
"""
RESTART = FABRIC + f"""
jobs:
  - {{name: train, id: 11, hosts: "host[0-3]", start: 50us, restarts: [{{at: 5ms, downtime: 1ms}}], {PHASES}}}
telemetry: {{mirror: leaf, nccl: "RELEASE", nccl_queue_pairs: QUEUE_PAIRS}}
"""
STORAGE = FABRIC + f"""
jobs:
  - name: train
    hosts: "host[0-3]"
    checkpoint: {{every: 2, size: 200K, to: "host6:mlx5_0,host7:mlx5_1"}}
    {PHASES}
telemetry: {{mirror: leaf, nccl: "2.20", nccl_queue_pairs: false, rdma: true}}
"""
SCENARIO = """
name: default-logs
seed: 5
duration: 10ms
record_interval: 1ms
analysis_window: 1ms
fabric:
  generate: {{shape: leaf-spine, leaves: 2, spines: 2, hosts: 8, nics: 2, gpus: {gpus},
             host_speed: 100G, fabric_speed: 100G}}
jobs:
  - name: first
    hosts: "host[0,2,4,6]"
    gpus: {gpus}
    start: 50us
    phases: [{{name: dp, collective: all_to_all, size: 300K, compute: 200us}}]
  - name: second
    hosts: "host[1,3,5,7]"
    gpus: {gpus}
    start: 90us
    queue_pairs: 2
    split_data: true
    phases: [{{name: dp, collective: ring, size: 200K, compute: 300us, groups: rails}}]
streams:
  - {{from: "host0:mlx5_0", to: "host2:mlx5_0", verb: write, message: 64K, load: 0.05}}
telemetry: {{mirror: leaf, nccl: "{release}", nccl_queue_pairs: {queue_pairs}}}
"""


def comparison():
    path = str(ROOT / "testbeds/rank_attribution")
    loader = importlib.machinery.SourceFileLoader("rank_attribution", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("rank_attribution", loader))
    loader.exec_module(module)
    return module


class DefaultLogs(unittest.TestCase):
    def compare(self, gpus, release, queue_pairs=False):
        """Returns the counts of testbeds/rank_attribution and the report."""
        with tempfile.TemporaryDirectory() as folder:
            scenario = pathlib.Path(folder, "scenario.yaml")
            scenario.write_text(SCENARIO.format(gpus=gpus, release=release,
                                                queue_pairs=str(queue_pairs).lower()))
            run = pathlib.Path(folder, "run")
            subprocess.run([SIMULATOR, "run", scenario, "-d", run], check=True, capture_output=True)
            logs = "".join(log.read_text() for log in run.glob("nccl/*.log"))
            self.assertEqual("NET/IB: " in logs, queue_pairs)
            replayed = subprocess.run([ROCESCOPE, "replay", run, "--only", "leaf-mirror,nccl", "-o", "json"],
                                      check=False, capture_output=True)
            report = json.loads(replayed.stdout)
            truth = json.loads((run / "truth.json").read_text())
            if gpus == 2 and release == RELEASES[0]:
                score = subprocess.run([ROCESCOPE, "score", run, "--view", "leaves", "-o", "json"],
                                       check=False, capture_output=True)
                self.assert_complete(json.loads(score.stdout), "ranks")
            counts, misses = comparison().compare(truth, report)
            return counts, misses, report

    def assert_complete(self, score, measure):
        view, = score["views"]
        found, = (m for m in view["measures"] if m["name"] == measure)
        self.assertGreater(found["of"], 0)
        self.assertEqual(found["right"], found["of"])

    def test_where_each_nic_has_one_rank_all_are_found(self):
        for release in RELEASES:
            with self.subTest(release=release):
                counts, misses, report = self.compare(2, release)
                self.assertGreater(counts["ends"], 100)
                self.assertEqual((counts["right"], misses), (counts["ends"], []))
                self.assertEqual((counts["foreign"], counts["foreign_named"]), (2, 0))
                self.assertEqual((counts["one_job"], counts["jobs"]), (2, 2))
                sources = {end["rank_source"] for c in report["connections"] for end in (c["a"], c["b"])
                           if "rank" in end}
                self.assertEqual(sources, {"RANK_SOURCE_CHANNEL"})

    def test_where_ranks_share_nics_none_is_wrong_and_the_jobs_are_known(self):
        for release in RELEASES:
            with self.subTest(release=release):
                counts, _, _ = self.compare(4, release)
                self.assertGreater(counts["ends"], 100)
                self.assertEqual((counts["wrong"], counts["foreign_named"]), (0, 0))
                self.assertGreater(counts["none"], 0)
                self.assertEqual((counts["one_job"], counts["jobs"]), (2, 2))

    def test_logs_with_queue_pairs_are_not_affected(self):
        counts, _, report = self.compare(4, "2.20", queue_pairs=True)
        self.assertEqual((counts["wrong"], counts["none"]), (0, 0))
        self.assertNotIn("RANK_SOURCE_CHANNEL", json.dumps(report))


class Jobs(unittest.TestCase):
    """The jobs of reports that use all telemetry of a run."""

    def replay(self, scenario_text):
        with tempfile.TemporaryDirectory() as folder:
            scenario = pathlib.Path(folder, "scenario.yaml")
            scenario.write_text(scenario_text)
            run = pathlib.Path(folder, "run")
            subprocess.run([SIMULATOR, "run", scenario, "-d", run], check=True, capture_output=True)
            replayed = subprocess.run([ROCESCOPE, "replay", run, "-o", "json"], check=False, capture_output=True)
            truth = json.loads((run / "truth.json").read_text())
        report = json.loads(replayed.stdout)
        counts, misses = comparison().compare(truth, report)
        return report["jobs"], counts, misses

    def assert_complete(self, counts, misses, jobs):
        self.assertGreater(counts["ends"], 10)
        self.assertEqual((counts["right"], misses), (counts["ends"], []))
        self.assertEqual((counts["one_job"], counts["jobs"]), (jobs, jobs))

    def test_jobs_in_succession_have_their_ranks_and_allocations(self):
        jobs, counts, misses = self.replay(SUCCESSION)
        self.assert_complete(counts, misses, 2)
        self.assertEqual(sorted(job["allocation"]["name"] for job in jobs), ["first", "second"])
        for job in jobs:
            self.assertEqual(len(job["ranks"]), 8)
            self.assertGreater(len(job["edges"]), 0)

    def test_each_start_of_a_restarted_job_is_one_job(self):
        for release in ("2.14", "2.20"):
            for queue_pairs in ("false", "true"):
                with self.subTest(release=release, queue_pairs=queue_pairs):
                    scenario = RESTART.replace("RELEASE", release).replace("QUEUE_PAIRS", queue_pairs)
                    jobs, counts, misses = self.replay(scenario)
                    self.assertEqual([len(job["ranks"]) for job in jobs], [8, 8])
                    self.assert_complete(counts, misses, 2)

    def test_pairs_of_storage_processes_are_one_entry(self):
        jobs, counts, misses = self.replay(STORAGE)
        self.assertEqual(sorted(job["job_id"].split("-")[0] for job in jobs), ["nccl", "other"])
        self.assertIn("other-storage", [job["job_id"] for job in jobs])
        self.assertEqual(counts["right"], counts["ends"])


if __name__ == "__main__":
    SIMULATOR, ROCESCOPE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
