#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parts of testbeds/ovs_lab that change nothing on the machine.

usage: parts_test.py TESTBEDS [UNITTEST ARGUMENT...]
"""

import json
import pathlib
import random
import struct
import sys
import tempfile
import unittest
from unittest import mock

import sender
from shown_fabric import shown

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "ovs_lab"))

import batch_job  # noqa: E402
import build  # noqa: E402
import effects  # noqa: E402
import fabric as fabrics  # noqa: E402
import fault_kinds  # noqa: E402
import forwarding  # noqa: E402
import management  # noqa: E402
import paths  # noqa: E402
import recorder  # noqa: E402
import regression  # noqa: E402
import replay  # noqa: E402
import roce_packets  # noqa: E402
import score  # noqa: E402
import slurm  # noqa: E402
import slurm_jobs  # noqa: E402
import state as states  # noqa: E402
import system  # noqa: E402
import telemetry  # noqa: E402
import traffic  # noqa: E402
import truth  # noqa: E402
from fabric import Fabric  # noqa: E402
from paths import Count, FlowKey, Interval, PathRecorder  # noqa: E402
from problem import Problem  # noqa: E402
from relay import Delay  # noqa: E402

SECOND = 10**9


def names(ports):
    return [port.full_name for port in ports]


class FabricTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())

    def test_ports_have_numbers_that_are_unique_in_the_lab(self):
        indexes = [port.index for port in self.fabric.ports.values()]
        self.assertEqual(len(set(indexes)), len(indexes))
        self.assertEqual(self.fabric.ports["leaf1:Ethernet3"].index, 203)
        self.assertEqual(self.fabric.ports["host2:mlx5_0"].index, 10_003)

    def test_the_mac_address_of_a_host_follows_from_its_address(self):
        self.assertEqual(self.fabric.hosts["host3"].mac, "02:00:0a:00:00:04")

    def test_a_link_is_found_by_nodes_by_port_and_by_name(self):
        for place, sender in (("leaf0:spine1", "leaf0:Ethernet4"), ("spine1:leaf0", "spine1:Ethernet1"),
                              ("leaf0:Ethernet4", "leaf0:Ethernet4"),
                              ("spine1:Ethernet1-leaf0:Ethernet4", None)):
            link, found = self.fabric.link(place)
            self.assertEqual((link.name, found), ("leaf0:Ethernet4-spine1:Ethernet1", sender), place)

    def test_a_place_that_does_not_exist_is_a_problem(self):
        for place in ("leaf0:leaf1", "leaf0:Ethernet9", "nowhere", ""):
            with self.assertRaises(Problem):
                self.fabric.link(place)
        with self.assertRaises(Problem):
            self.fabric.switch("host0")
        with self.assertRaises(Problem):
            self.fabric.host("host0:mlx5_1")

    def test_a_leaf_reaches_another_one_over_all_spines(self):
        hops = self.fabric.next_hops()
        self.assertEqual(names(hops["leaf0", "leaf1"]), ["leaf0:Ethernet3", "leaf0:Ethernet4"])
        self.assertEqual(names(hops["spine0", "leaf1"]), ["spine0:Ethernet2"])

    def test_routes_avoid_a_link_of_another_switch_that_is_down(self):
        hops = self.fabric.next_hops({"leaf1:Ethernet3-spine0:Ethernet2"})
        self.assertEqual(names(hops["leaf0", "leaf1"]), ["leaf0:Ethernet4"])
        self.assertEqual(names(hops["leaf1", "leaf0"]), ["leaf1:Ethernet4"])
        self.assertEqual(hops["spine0", "leaf1"], [])

    def test_rewired_cables_exchange_their_far_ends(self):
        real = self.fabric.rewired([("leaf0:Ethernet3", "leaf1:Ethernet3")])
        self.assertEqual(real.ports["leaf0:Ethernet3"].peer, "spine0:Ethernet2")
        self.assertEqual(real.ports["spine0:Ethernet1"].peer, "leaf1:Ethernet3")
        self.assertEqual(real.link_of["leaf0:Ethernet3"].name, "leaf0:Ethernet3-spine0:Ethernet2")
        self.assertEqual(names(real.next_hops()["spine0", "leaf0"]), ["spine0:Ethernet2"])

    def test_hosts_with_several_nics_and_long_names_are_refused(self):
        fabric = shown()
        fabric["hosts"][0]["nics"] *= 2
        with self.assertRaisesRegex(Problem, "host0 has 2 NICs"):
            Fabric(fabric)
        fabric = json.loads(json.dumps(shown()).replace("spine0", "spine-with-long-name"))
        with self.assertRaisesRegex(Problem, "too long"):
            Fabric(fabric)

    def test_the_topology_file_has_the_numbers_of_the_interfaces(self):
        mirrors = telemetry.mirrors_of_topology(self.fabric)
        topology = fabrics.topology(self.fabric, "lab", mirrors)
        self.assertEqual(topology["switches"][0]["ports"][2], {"name": "Ethernet3", "number": 103})
        self.assertEqual(len(mirrors), 8)
        self.assertEqual(mirrors[0], {"switch": "leaf0", "session": 1, "direction": "ingress",
                                      "ports": ["Ethernet1"]})


class ForwardingTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())
        self.conditions = {"down": [], "swaps": [], "polarised": []}

    def test_a_group_has_a_bucket_for_each_path(self):
        line, = forwarding.groups(self.fabric)["leaf0"]
        self.assertIn("type=select,selection_method=hash", line)
        self.assertEqual(line.count("bucket="), 2)
        self.assertIn("watch_port:3,actions=output:3", line)

    def test_switches_hash_with_different_seeds(self):
        groups = forwarding.groups(self.fabric)
        self.assertIn("selection_method_param=1,", groups["leaf0"][0])
        self.assertIn("selection_method_param=2,", groups["leaf1"][0])

    def test_a_polarised_switch_uses_one_port(self):
        line, = forwarding.groups(self.fabric, self.conditions | {"polarised": ["leaf0"]})["leaf0"]
        self.assertEqual(line.count("bucket="), 1)

    def test_routes_follow_swapped_cables(self):
        swaps = [["leaf0:Ethernet3", "leaf1:Ethernet3"]]
        lines = forwarding.groups(self.fabric, self.conditions | {"swaps": swaps})["spine0"]
        self.assertIn("actions=output:2", next(line for line in lines if "group_id=1," in line))

    def test_a_switch_has_two_flows_for_each_host(self):
        lines = forwarding.flows(self.fabric, self.fabric.switches["leaf0"])
        self.assertIn("priority=200,udp,tp_dst=4791,nw_dst=10.0.0.1,actions=output:1", lines)
        self.assertIn("priority=100,ip,nw_dst=10.0.0.4,actions=group:2", lines)
        self.assertEqual(len(lines), 8)


class FaultKindsTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())

    def make(self, *words):
        return fault_kinds.make(None, self.fabric, *words)

    def test_ratios_rates_and_times(self):
        self.assertEqual(fault_kinds.ratio("0.5%"), 0.005)
        self.assertEqual(fault_kinds.rate("10M", 0), 10_000_000)
        self.assertEqual(fault_kinds.rate("10%", 100_000_000), 10_000_000)
        self.assertEqual(fault_kinds.seconds("500ms"), 0.5)
        for text in ("0", "0%", "101%", "-1", "x", "", "nan"):
            with self.assertRaises(Problem, msg=text):
                fault_kinds.ratio(text)
        for read, text in ((lambda text: fault_kinds.rate(text, 1), "0"), (fault_kinds.seconds, "10ms"),
                           (fault_kinds.mtu, "100"), (fault_kinds.mtu, "9216")):
            with self.assertRaises(Problem, msg=text):
                read(text)

    def test_a_loss_has_the_direction_of_its_place(self):
        effect = self.make("loss", "spine1:leaf0", "1%")
        self.assertEqual(names(effect.ports), ["spine1:Ethernet1"])
        self.assertEqual(effect.truth, {"kind": "gray_loss", "place": "leaf0:Ethernet4-spine1:Ethernet1",
                                        "direction": "spine1:Ethernet1"})
        both = self.make("loss", "leaf0:Ethernet4-spine1:Ethernet1", "1%")
        self.assertEqual(len(both.ports), 2)
        self.assertEqual(both.truth["direction"], "")

    def test_every_kind_has_a_place_and_a_truth(self):
        places = {"SWITCH": "leaf0", "HOST": "host1", "HOST:HOST": "host0:host3"}
        values = {"HOST": "host2", "other link": "leaf1:spine1"}
        for name, kind in fault_kinds.KINDS.items():
            effect = self.make(name, places.get(kind.place, "leaf0:spine0"), values.get(kind.value))
            self.assertIsInstance(effect, effects.Effect)
            self.assertEqual(effect.truth["kind"], kind.truth)
            self.assertTrue(effect.truth["place"], name)

    def test_swapped_cables_name_the_real_links(self):
        effect = self.make("swap", "leaf0:Ethernet3", "leaf1:Ethernet3")
        self.assertEqual(effect.truth["declared_links"],
                         ["leaf0:Ethernet3-spine0:Ethernet1", "leaf1:Ethernet3-spine0:Ethernet2"])
        self.assertEqual(effect.truth["real_links"],
                         ["leaf0:Ethernet3-spine0:Ethernet2", "leaf1:Ethernet3-spine0:Ethernet1"])

    def test_values_that_are_missing_or_useless_are_problems(self):
        for words in (("down", "leaf0:spine0", "5"), ("blackhole", "leaf0", None), ("loss", "leaf0", "1%"),
                      ("swap", "leaf0:spine0", "leaf0:Ethernet3")):
            with self.assertRaises(Problem, msg=words):
                self.make(*words)


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


class RelayTest(unittest.TestCase):
    def test_frames_are_sent_in_order_after_their_delay(self):
        delay = Delay(1.0, 2.0, False, iter([1.0, 0.0]).__next__)
        delay.add("a", 10)
        delay.add("b", 11)
        self.assertEqual(delay.next_due(), 13)
        self.assertEqual(list(delay.take_due(12.9)), [])
        self.assertEqual(list(delay.take_due(13)), ["a", "b"])

    def test_frames_may_overtake_each_other(self):
        delay = Delay(1.0, 2.0, True, iter([1.0, 0.0]).__next__)
        delay.add("a", 10)
        delay.add("b", 11)
        self.assertEqual(list(delay.take_due(12)), ["b"])
        self.assertEqual(list(delay.take_due(13)), ["a"])


class SlurmTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.fabric = Fabric(shown())
        self.state = mock.Mock(path=pathlib.Path("/state"), files=pathlib.Path("/state/run"))
        self.state.name = "lab"

    def test_each_host_is_a_node_with_a_gpu_and_a_management_address(self):
        text = slurm.configuration(self.state, self.fabric)
        self.assertEqual(text.count("NodeName="), 4)
        self.assertIn("NodeName=host3 NodeAddr=172.31.0.4 CPUs=4 RealMemory=100 Gres=gpu:1", text)
        self.assertRegex(text, r"SlurmctldHost=\S+\(172\.31\.255\.254\)")
        self.assertIn("Nodes=host0,host1,host2,host3 ", text)

    def test_management_addresses_differ_from_those_of_the_fabric(self):
        addresses = set(management.addresses(self.fabric).values())
        self.assertEqual(len(addresses | {management.CONTROLLER_ADDRESS}), 5)
        self.assertFalse(any(address.startswith(("10.", "172.16.")) for address in addresses))

    def test_a_job_runs_on_its_hosts_or_where_slurm_places_it(self):
        with_hosts = slurm_jobs.batch_command(self.state, 0, {"name": "a b", "hosts": "host[0-1],host3"}, "/endpoint")
        self.assertEqual(with_hosts[with_hosts.index("--nodes") + 1], 3)
        self.assertEqual(with_hosts[with_hosts.index("--nodelist") + 1], "host0,host1,host3")
        anywhere = slurm_jobs.batch_command(self.state, 1, {"name": "c", "nodes": 2}, "/endpoint")
        self.assertEqual(anywhere[anywhere.index("--nodes") + 1], 2)
        self.assertNotIn("--nodelist", anywhere)
        self.assertTrue(anywhere[-1].endswith("batch_job.py /state 1 /endpoint"), anywhere[-1])

    def test_only_slurm_chooses_hosts(self):
        traffic.check_jobs([{"name": "a", "nodes": 2}], True)
        with self.assertRaisesRegex(Problem, "job a: the key `hosts` is missing; only Slurm chooses"):
            traffic.check_jobs([{"name": "a", "nodes": 2}], False)
        with self.assertRaisesRegex(Problem, "and so is `nodes`"):
            traffic.check_jobs([{"name": "a"}], True)

    def test_ranks_keep_the_order_of_the_plan_if_its_hosts_are_allocated(self):
        job = {"name": "a", "id": 1, "hosts": "host2,host0", "queue_pairs": 2}
        self.assertEqual(batch_job.allocated(job, 107, ["host0", "host2"]), {**job, "id": 107})
        self.assertEqual(batch_job.allocated({"name": "a", "nodes": 2}, 107, ["host1", "host3"]),
                         {"name": "a", "id": 107, "hosts": "host1,host3"})

    def test_events_are_read_once_and_only_when_complete(self):
        path = pathlib.Path(self.folder.name) / "host0.jsonl"
        events = batch_job.Events(path)
        self.assertEqual(events.read(), [])
        path.write_text('{"event": "job_started"}\n{"event": "iter')
        self.assertEqual(events.read(), [{"event": "job_started"}])
        with open(path, "a") as file:
            file.write('ation"}\n')
        self.assertEqual(events.read(), [{"event": "iteration"}])
        self.assertEqual(events.read(), [])

    def test_a_job_ends_when_it_has_finished_on_all_hosts_or_failed_on_one(self):
        files = pathlib.Path(self.folder.name)
        (files / "endpoint").mkdir()
        step = mock.Mock(returncode=9)
        step.poll.side_effect = [None, None, 9]
        finished = (files / "endpoint/host0.jsonl")
        finished.write_text('{"event": "job_finished"}\n')
        with mock.patch.object(batch_job.time, "sleep"), mock.patch("builtins.print"):
            self.assertEqual(batch_job.outcome(step, files, ["host0", "host1"]), 9)  # the step has ended
            step.poll.side_effect = None
            step.poll.return_value = None
            (files / "endpoint/host1.jsonl").write_text('{"event": "job_finished"}\n')
            self.assertEqual(batch_job.outcome(step, files, ["host0", "host1"]), 0)
            finished.write_text('{"event": "job_failed"}\n')
            self.assertEqual(batch_job.outcome(step, files, ["host0", "host1"]), 1)


class MachineTest(unittest.TestCase):
    def check(self, message, user=0, missing=(), more=None):
        with mock.patch.object(system.os, "geteuid", lambda: user), \
                mock.patch.object(system.shutil, "which", lambda name: None if name in missing else name):
            with self.assertRaisesRegex(Problem, message):
                system.check_machine(more)

    def test_root_rights_are_required(self):
        self.check("run it as root", user=1000)

    def test_what_is_missing_is_named_with_its_package(self):
        self.check("missing: .*ovs-vswitchd.*apt-get install .*openvswitch-switch", missing=["ovs-vswitchd"])
        self.check("missing: .*clang.*apt-get install .*clang-19", missing=system.CLANGS)
        self.check("missing: .*munged.*slurmctld.*apt-get install .*munge.*slurm-wlm", missing=slurm.PROGRAMS,
                   more=slurm.PROGRAMS)
        self.check("missing: ovs-vswitchd;", missing=["ovs-vswitchd", *slurm.PROGRAMS])  # without --slurm


class StateTest(unittest.TestCase):
    def test_names_of_labs_are_restricted(self):
        for name in ("", "Lab", "../x", "a" * 17, "1", "x y"):
            with self.assertRaises(Problem, msg=name):
                states.State(name)


def pcap(*frames, magic=0xa1b2c3d4, link=1):
    """Frames of (time in us, bytes, original length)."""
    records = (struct.pack("<IIII", time // 10**6, time % 10**6, len(data), original) + data
               for time, data, original in frames)
    return struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, link) + b"".join(records)


class RocePacketsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.frame = sender.packet("192.0.2.1", "192.0.2.2", 50000, 17, 5, bytes(64))

    def write(self, content):
        path = pathlib.Path(self.folder.name, "capture.pcap")
        path.write_bytes(content)
        return path

    def read(self, *frames):
        return roce_packets.roce_packets(self.write(pcap(*((5, frame, len(frame)) for frame in frames))))

    def problem(self, content):
        with self.assertRaises(Problem) as raised:
            roce_packets.roce_packets(self.write(content))
        return str(raised.exception)

    def test_the_packet_with_other_addresses_is_the_one_that_these_hosts_send(self):
        (packet,), _ = self.read(self.frame)
        expected = sender.packet("10.0.0.1", "10.0.0.4", 50000, 17, 5, bytes(64))[14:]
        self.assertEqual(roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.4").data, expected)

    def test_a_wrong_icrc_stays_as_it_is(self):
        wrong = self.frame[:-1] + bytes([self.frame[-1] ^ 1])
        (packet,), _ = self.read(wrong)
        changed = roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.4")
        self.assertEqual(changed.data[-4:], wrong[-4:])
        self.assertFalse(changed.has_right_icrc)
        self.assertEqual(roce_packets.checksum(changed.data[:20]), 0)

    def test_a_udp_checksum_becomes_right(self):
        frame = self.frame[:40] + b"\1\2" + self.frame[42:]
        (packet,), _ = self.read(frame)
        data = roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.4").data
        pseudo = data[12:20] + struct.pack(">BBH", 0, 17, len(data) - 20)
        self.assertEqual(roce_packets.checksum(pseudo + data[20:]), 0)

    def test_vlan_tags_and_padding_are_removed_and_other_frames_counted(self):
        tagged = self.frame[:12] + b"\x81\0\0\x05" + self.frame[12:] + bytes(7)
        arp = self.frame[:12] + b"\x08\x06" + bytes(40)
        (packet,), others = self.read(tagged, arp)
        self.assertEqual((packet.data, others), (self.frame[14:], 1))
        self.assertEqual(packet.flow, ("192.0.2.1", "192.0.2.2", 50000, 17))

    def test_unusable_input_is_described(self):
        whole = pcap((5, self.frame, len(self.frame)))
        for content, words in ((b"text", "not a capture in pcap format"), (b"", "not a capture"),
                               (b"\x0a\x0d\x0d\x0a" + bytes(40), "editcap -F pcap"),
                               (whole[:-1], "ends within frame 1"), (whole + b"1", "ends within frame 2"),
                               (pcap(), "no RoCEv2 packets over IPv4 in 0 frames"),
                               (pcap((5, self.frame, 10), link=113), "link type is 113"),
                               (pcap((5, self.frame[:80], len(self.frame))),
                                f"frame 1 is truncated to 80 of {len(self.frame)} bytes")):
            self.assertIn(words, self.problem(content))
        with self.assertRaisesRegex(Problem, "No such file"):
            roce_packets.read_capture(pathlib.Path(self.folder.name, "missing"))

    def test_any_bytes_are_read_or_refused(self):
        dice = random.Random(1)
        for _ in range(2000):
            content = bytearray(pcap((5, self.frame, len(self.frame))))
            for _ in range(dice.randint(1, 5)):
                content[dice.randrange(len(content))] = dice.randrange(256)
            try:
                packets, _ = roce_packets.roce_packets(self.write(content[:dice.randint(0, len(content))]))
            except Problem:
                continue
            for packet in packets:
                roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.2")


class ReplayTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())
        frame = sender.packet("192.0.2.1", "192.0.2.2", 50000, 17, 5, bytes(64))
        self.packets = [roce_packets.Packet(0, frame[14:])]

    def map(self, *given):
        return {old: host.name for old, host in replay.map_addresses(self.fabric, self.packets, given).items()}

    def test_addresses_become_hosts_on_alternating_leaves(self):
        hosts = [host.name for host in replay.alternating(self.fabric)]
        self.assertEqual(sorted(hosts), sorted(self.fabric.hosts))
        self.assertNotEqual(self.fabric.leaf_of(hosts[0]), self.fabric.leaf_of(hosts[1]))
        self.assertEqual(self.map(), {"192.0.2.1": hosts[0], "192.0.2.2": hosts[1]})
        self.assertEqual(self.map(f"192.0.2.2={hosts[0]}"), {"192.0.2.2": hosts[0], "192.0.2.1": hosts[1]})

    def test_a_wrong_map_is_described(self):
        for given, words in ((["192.0.2.1"], "no such host"), (["x=host0"], "expected OLD=HOST"),
                             (["192.0.2.9=host0"], "no RoCEv2 packet has the address 192.0.2.9"),
                             (["192.0.2.1=host99"], "no such host"),
                             (["192.0.2.1=host0", "192.0.2.1=host1"], "mapped twice"),
                             (["192.0.2.1=host0", "192.0.2.2=host0"], "mapped to host0 already")):
            with self.assertRaisesRegex(Problem, words):
                self.map(*given)

    def test_too_few_hosts_are_described(self):
        frames = [sender.packet(f"192.0.2.{one}", "192.0.2.200", 50000, 17, 5, b"") for one in range(1, 20)]
        self.packets = [roce_packets.Packet(0, frame[14:]) for frame in frames]
        with self.assertRaisesRegex(Problem, "build a lab with --hosts 20"):
            self.map()


class RegressionTest(unittest.TestCase):
    FAULT = {"kind": "gray_loss", "place": "a:1-b:1", "start_ns": 10**9, "end_ns": 9 * 10**9, "visible_ns": 10**9}
    FOUND = {"kind": "gray_loss", "place": "a:1-b:1", "start_time": "1970-01-01T00:00:02Z",
             "detection_time": "1970-01-01T00:00:03Z", "confidence": 0.9}

    def differences(self, faults, findings):
        return regression.differences({"faults": faults}, {"findings": findings})

    def test_the_options_of_its_lab_are_complete(self):
        build.Options(**regression.SMALL, http=1, grpc=2, rocescope=None, endpoint=None)

    def test_a_run_is_right_only_with_the_right_findings(self):
        self.assertEqual(self.differences([], []), [])
        self.assertEqual(self.differences([self.FAULT], [self.FOUND]), [])
        self.assertEqual(self.differences([self.FAULT], []), ["gray_loss at a:1-b:1: missed; 0 frames affected"])
        self.assertEqual(self.differences([], [self.FOUND]), ["false finding: gray_loss at a:1-b:1, confidence 0.90"])
        self.assertIn("wrong place", self.differences([self.FAULT], [self.FOUND | {"place": "a:2-b:2"}])[0])


if __name__ == "__main__":
    unittest.main()
