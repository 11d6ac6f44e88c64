#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs, checks of the machine and state of testbeds/ovs_lab. jobs_test.py TESTBEDS [UNITTEST ARGUMENT...]"""

import pathlib
import tempfile
import unittest
from unittest import mock

import lab_modules  # noqa: F401 (the modules of the lab, below, need it)
from shown_fabric import shown

import batch_job
import management
import slurm
import slurm_jobs
import state as states
import system
import traffic
from fabric import Fabric
from problem import Problem


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
        job = {"name": "a", "nodes": 2, "phases": [{"collective": "ring"}]}
        traffic.check_jobs([job], True, self.fabric.hosts)
        with self.assertRaisesRegex(Problem, "job a: the key `hosts` is missing; only Slurm chooses"):
            traffic.check_jobs([job], False, self.fabric.hosts)
        for nodes in (None, 0, 5, "2"):
            with self.assertRaisesRegex(Problem, "job a: expected the key `hosts`, or `nodes`.* from 1 to 4"):
                traffic.check_jobs([job | {"nodes": nodes}], True, self.fabric.hosts)

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


if __name__ == "__main__":
    unittest.main()
