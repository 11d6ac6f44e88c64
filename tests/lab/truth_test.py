#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Paths, ground truth, readings and scores of testbeds/ovs_lab. truth_test.py TESTBEDS [UNITTEST ARGUMENT...]"""

import json
import pathlib
import tempfile
import unittest

import lab_modules  # noqa: F401 (the modules of the lab, below, need it)
from shown_fabric import shown

import paths
import recorder
import score
import truth
from fabric import Fabric
from paths import Count, FlowKey, Interval, PathRecorder

SECOND = 10**9


class PathsTest(unittest.TestCase):
    FLOW = FlowKey("10.0.0.1", "10.0.0.4", 17, 50_000)

    def setUp(self):
        self.fabric = Fabric(shown())

    def counts(self, data_bytes, *ports):
        return {(self.fabric.ports[port].index, self.FLOW): Count(10, data_bytes) for port in ports}

    def over(self, data_bytes, spine):
        port = f"leaf0:Ethernet{3 + spine}"
        return self.counts(data_bytes, "host0:mlx5_0", port, f"spine{spine}:Ethernet2", "leaf1:Ethernet2")

    def test_a_path_consists_of_the_ports_that_sent_the_flow(self):
        recorder = PathRecorder()
        recorder.take(self.fabric, {}, 0, 1)
        recorder.take(self.fabric, self.over(500, 1), 1, 2)
        self.assertEqual(recorder.intervals[self.FLOW], [
            Interval(1, 2, ["leaf0:Ethernet4", "spine1:Ethernet2", "leaf1:Ethernet2"], 500)])

    def test_the_same_path_is_one_interval(self):
        recorder = PathRecorder()
        recorder.take(self.fabric, {}, 0, 1)
        flows = self.over(500, 1)
        recorder.take(self.fabric, flows, 1, 2)
        flows = {key: Count(20, 900) for key in flows}
        recorder.take(self.fabric, flows, 2, 3)
        self.assertEqual([(one.start_ns, one.end_ns, one.bytes) for one in recorder.intervals[self.FLOW]],
                         [(1, 3, 900)])

    def test_a_flow_that_changes_its_path_has_two_paths(self):
        counts = {end: count for (end, _), count in (self.over(500, 1) | self.over(300, 0)).items()}
        found = paths.walk(self.fabric, counts, self.fabric.hosts["host0"])
        self.assertEqual(sorted((ports[0], data) for ports, data in found),
                         [("leaf0:Ethernet3", 300), ("leaf0:Ethernet4", 500)])

    def test_a_flow_that_does_not_arrive_has_no_path(self):
        counts = {end: count for (end, _), count in self.counts(500, "host0:mlx5_0", "leaf0:Ethernet3").items()}
        self.assertEqual(paths.walk(self.fabric, counts, self.fabric.hosts["host0"]), [])


class TruthTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("rdma", "endpoint"):
            (self.folder / name).mkdir()
        self.write("rdma/host0.json", [{"lqpn": 1, "type": "GSI"}, {"lqpn": 20, "rqpn": 30, "pid": 700}])
        self.write("rdma/host2.json", [{"lqpn": 30, "rqpn": 20, "pid": 800}])
        self.plan = {"jobs": [{"name": "train", "id": 7, "hosts": "host[0,2]",
                               "phases": [{"name": "dp", "collective": "ring"}]}]}

    def write(self, name, content):
        (self.folder / name).write_text(json.dumps(content))

    def build(self, intervals, faults=None):
        recorder = PathRecorder()
        recorder.intervals.update(intervals)
        return truth.build("lab", self.fabric, self.plan, self.folder, recorder, faults or {}, 100, 900, 64)

    def flows(self):
        there = ["leaf0:Ethernet3", "spine0:Ethernet2", "leaf1:Ethernet1"]
        back = ["leaf1:Ethernet4", "spine1:Ethernet1", "leaf0:Ethernet1"]
        return {FlowKey("10.0.0.1", "10.0.0.3", 30, 50_001): [Interval(100, 900, there, 5000)],
                FlowKey("10.0.0.3", "10.0.0.1", 20, 50_002): [Interval(100, 900, back, 0)]}

    def test_the_end_that_sends_data_is_the_first_one(self):
        connection, = self.build(self.flows())["connections"]
        self.assertEqual(connection["first"], {"host": "host0", "device": "mlx5_0", "address": "10.0.0.1",
                                               "qpn": 20, "udp_source_port": 50_001})
        self.assertEqual(connection["second"]["udp_source_port"], 50_002)
        self.assertEqual((connection["job"], connection["from_rank"], connection["to_rank"]), ("train", 0, 1))
        self.assertEqual(connection["forward"][0]["bytes"], 5000)

    def test_jobs_have_ranks_processes_and_iterations(self):
        for host, begin, end in (("host0", 200, 300), ("host2", 210, 310)):
            line = {"event": "iteration", "job": "train", "iteration": 3, "begin_ns": begin, "end_ns": end}
            (self.folder / f"endpoint/{host}.jsonl").write_text(json.dumps(line) + "\n" + "half a li")
        job, = self.build({})["jobs"]
        self.assertEqual([(rank["host"], rank["process_id"]) for rank in job["ranks"]],
                         [("host0", 700), ("host2", 800)])
        self.assertEqual(job["iterations"], [{"start_ns": 200, "end_ns": 310}])

    def test_connections_of_both_starts_of_a_job(self):
        earlier = self.folder / "earlier/1"
        for name in ("rdma", "endpoint"):
            (earlier / name).mkdir(parents=True)
        (earlier / "rdma/host0.json").write_text(json.dumps([{"lqpn": 21, "rqpn": 31, "pid": 500}]))
        (earlier / "rdma/host2.json").write_text(json.dumps([{"lqpn": 31, "rqpn": 21, "pid": 600}]))
        lines = [{"event": "job_started", "job": "train", "time_ns": 450},
                 {"event": "iteration", "job": "train", "iteration": 0, "begin_ns": 500, "end_ns": 600}]
        (self.folder / "endpoint/host0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        line = {"event": "iteration", "job": "train", "iteration": 0, "begin_ns": 150, "end_ns": 250}
        (earlier / "endpoint/host0.jsonl").write_text(json.dumps(line) + "\n")
        before = {FlowKey("10.0.0.1", "10.0.0.3", 31, 50_003): [Interval(100, 300, ["leaf0:Ethernet3"], 4000)],
                  FlowKey("10.0.0.3", "10.0.0.1", 21, 50_004): [Interval(100, 300, ["leaf1:Ethernet4"], 0)]}
        (earlier / "stopped_ns").write_text("400\n")
        content = self.build(self.flows() | before)
        self.assertEqual([(one["incarnation"], one["first"]["qpn"]) for one in content["connections"]],
                         [(1, 20), (0, 21)])
        job, = content["jobs"]
        self.assertEqual([rank["process_id"] for rank in job["ranks"]], [500, 600])
        self.assertEqual(job["restarts"], [{"stop_ns": 400, "start_ns": 450, "process_ids": [700, 800]}])
        self.assertEqual([one["start_ns"] for one in job["iterations"]], [150, 500])
        (earlier / "stopped_ns").write_text("50\n")
        content = self.build(self.flows() | before)
        self.assertEqual([one["first"]["qpn"] for one in content["connections"]], [20])
        self.assertEqual(content["jobs"][0]["restarts"], [])

    def test_faults_outside_the_capture_are_left_out_and_longer_ones_end_with_it(self):
        def fault(start, end, benign=False):
            times = {"start_ns": start, **({"end_ns": end} if end else {}), "visible_ns": start}
            return {"benign": benign, "truth": {"kind": "gray_loss", "place": "leaf0:Ethernet3-spine0:Ethernet1",
                                                **times}}
        content = self.build(self.flows(), {1: fault(10, 50), 2: fault(200, None), 3: fault(300, 400, True)})
        found, = content["faults"]
        self.assertEqual((found["start_ns"], found["end_ns"], found["exposed_jobs"]), (200, 900, ["train"]))
        self.assertEqual(content["benign"][0]["start_ns"], 300)

    def test_ranges_of_hosts(self):
        self.assertEqual(truth.expand("host[0-2,07],login1"), ["host0", "host1", "host2", "host07", "login1"])


class RecorderTest(unittest.TestCase):
    TEXT = ('fabric_port_rx_bytes{node="leaf0",port="Ethernet1"} 5 1000\n'
            'fabric_port_rx_packets{node="leaf0",port="Ethernet1"} 2 1000\n'
            'fabric_port_ecn_marked{node="leaf0",port="Ethernet1",priority="3"} 1 1000\n'
            'fabric_port_no_metric_of_rocescope{node="leaf0",port="Ethernet1"} 2 1000\n'
            'lab_other{node="leaf0"} 1 1000\n')

    def test_metrics_of_one_entity_are_one_reading(self):
        lines = list(recorder.readings(self.TEXT, 9, {}))
        self.assertEqual(lines[0], {"time_ns": SECOND, "arrival_ns": 9, "kind": "port",
                                    "entity": {"node": "leaf0", "port": "Ethernet1"},
                                    "metrics": {"rx_bytes": 5, "rx_packets": 2}})
        self.assertEqual(lines[1]["entity"]["priority"], 3)
        self.assertEqual(len(lines), 2)

    def test_a_reading_that_did_not_change_is_written_once(self):
        known = {}
        self.assertEqual(len(list(recorder.readings(self.TEXT, 9, known))), 2)
        self.assertEqual(list(recorder.readings(self.TEXT, 10, known)), [])


class ScoreTest(unittest.TestCase):
    START = 1_750_000_000 * SECOND

    def finding(self, kind="gray_loss", place="spine0:Ethernet1-leaf0:Ethernet3"):
        return {"kind": kind, "place": place, "confidence": 0.9, "start_time": "2025-06-15T15:06:41.5Z",
                "detection_time": "2025-06-15T15:06:44.000000001Z"}

    def compare(self, *findings, **truth_fields):
        fault = {"benign": False, "truth": {
            "kind": "gray_loss", "place": "leaf0:Ethernet3-spine0:Ethernet1", "start_ns": self.START,
            "visible_ns": self.START, **truth_fields}}
        rows, false = score.compare({1: fault}, findings)
        return rows[0][3], len(false)

    def test_times(self):
        self.assertEqual(score.nanoseconds("2025-06-15T15:06:44.000000001Z"), 1_750_000_004 * SECOND + 1)

    def test_a_finding_is_right_if_kind_and_place_agree(self):
        self.assertEqual(self.compare(self.finding()), ("right", 0))
        self.assertEqual(self.compare(self.finding(kind="flap")), ("wrong kind", 0))
        self.assertEqual(self.compare(self.finding(place="leaf1:Ethernet3-spine0:Ethernet2")), ("wrong place", 0))
        self.assertEqual(self.compare(), ("missed", 0))
        self.assertEqual(self.compare(self.finding("flap", "leaf1")), ("missed", 1))

    def test_a_suspected_fault_is_neither_right_nor_missed(self):
        truth = {"kind": "gray_loss", "place": "leaf0:Ethernet3-spine0:Ethernet1", "start_ns": self.START,
                 "visible_ns": self.START}
        rows, false = score.compare({1: {"benign": False, "truth": truth}}, [], [self.finding()])
        self.assertEqual((rows[0][3], false), ("suspected", []))

    def test_what_was_detected_before_the_fault_is_not_its_finding(self):
        self.assertEqual(self.compare(self.finding(), start_ns=self.START + 5 * SECOND), ("active before", 0))
        other = self.finding(place="leaf1:Ethernet3-spine0:Ethernet2")
        self.assertEqual(self.compare(other, start_ns=self.START + 5 * SECOND), ("missed", 1))

    def test_an_invisible_fault_is_not_missed(self):
        self.assertEqual(self.compare(visible_ns=0), ("invisible", 0))


if __name__ == "__main__":
    unittest.main()
