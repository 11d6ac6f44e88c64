#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dependencies of the demo's job at one switch: text and JSON agree with its topology, and
invalid queries give errors.

usage: dependency_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import command

# The demo's three hosts have a GPU and a NIC each; node3 is idle.
FABRIC = """
name: demo
defaults: {speed: 25G}
switches:
  - {name: tor, tier: leaf}
hosts:
  - name: node[0-3]
    nics: [{device: mlx5_0, port: eth1, addresses: "192.0.2.[11-14]"}]
    gpus: [{number: 0, pci: "0000:1b:00.0", nic: mlx5_0}]
links:
  - ["node[0-3]:eth1", "tor:E[1-4]"]
"""
JOB = "nccl-5eed0fa11ce50000"
USAGE = 2


class Dependency(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.captures = command.make_demo(cls.scratch.name)
        cls.logs = [path.with_suffix(".log") for path in cls.captures]
        cls.fabric = pathlib.Path(cls.scratch.name, "fabric.yaml")
        cls.fabric.write_text(FABRIC)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def ask(self, *words, topology=True, logs=True, expect=0):
        given = [*self.captures, *words]
        if topology:
            given += ["--topology", self.fabric]
        if logs:
            given += ["--nccl-logs", *self.logs]
        run = subprocess.run([command.rocescope, "replay", *map(str, given)], capture_output=True,
                             timeout=60)
        self.assertEqual(run.returncode, expect, run.stderr.decode())
        if expect != 0:
            self.assertEqual(run.stdout, b"")
            return run.stderr.decode()
        return run.stdout.decode()

    def answers(self, *words):
        """Returns the names by kind, for each answer."""
        told = json.loads(self.ask(*words, "-o", "json"))
        return [{row["kind"].removeprefix("ELEMENT_KIND_").lower(): [element["name"] for element in row["elements"]]
                 for row in answer["elements"]} for answer in told["answers"]]

    def ranks(self, *numbers):
        return [f"{JOB}:rank:{number}" for number in numbers]

    def test_a_switch_carries_all_that_its_ports_do(self):
        radius, = self.answers("--blast-radius", "tor")
        self.assertEqual(radius["job"], [JOB])
        self.assertEqual(radius["rank"], self.ranks(0, 1, 2))
        self.assertEqual(radius["nic"], [f"node{n}:mlx5_0" for n in range(4)])
        self.assertEqual(sorted(radius["port"]), sorted([f"node{n}:eth1" for n in range(4)] +
                                                        [f"tor:E{n}" for n in range(1, 5)]))
        self.assertEqual(len(radius["link"]), 4)
        self.assertNotIn("host", radius)

    def test_a_gpu_and_a_nic_hit_those_who_use_them(self):
        for element in ("node1:gpu:0", "node1:mlx5_0", "192.0.2.12"):
            radius, = self.answers("--blast-radius", element)
            self.assertEqual((radius["job"], radius["rank"]), ([JOB], self.ranks(1)), element)

    def test_what_has_nothing_to_do_hits_nobody(self):
        self.assertEqual(self.answers("--blast-radius", "node3:gpu:0"), [{}])
        text = self.ask("--blast-radius", "node3:gpu:0")
        self.assertTrue(text.startswith("BLAST RADIUS of node3:gpu:0 (gpu): no known element"))

    def test_a_rank_needs_its_way_down_to_the_switch(self):
        needs, = self.answers("--needs", f"{JOB}:rank:2")
        self.assertEqual(needs["gpu"], ["node2:gpu:0"])
        self.assertEqual(needs["host"], ["node2"])
        self.assertEqual(needs["nic"], ["node2:mlx5_0"])
        self.assertEqual(needs["switch"], ["tor"])
        self.assertIn("node2:eth1-tor:E3", needs["link"])

    def test_one_replay_answers_several_questions(self):
        radius, needs = self.answers("--needs", JOB, "--blast-radius", "tor:E1")
        self.assertIn("link", radius)
        self.assertEqual(needs["rank"], self.ranks(0, 1, 2))

    def test_text_leads_with_the_work(self):
        text = self.ask("--blast-radius", "tor", "--needs", JOB)
        self.assertTrue(text.startswith(
            "BLAST RADIUS of tor (switch): 3 ranks of 1 job, on 3 GPUs of 3 hosts\n"), text)
        self.assertIn(f"DEPENDENCIES of {JOB} (job): 1 communicator, 3 ranks, 3 GPUs, 3 hosts, 3 NICs, "
                      "6 ports, 3 links, 1 switch\n", text)
        self.assertIn(f"{JOB}:rank:[0-2]", text)

    def test_without_logs_nics_in_step_are_a_job(self):
        text = self.ask("--blast-radius", "tor:E1", logs=False)
        self.assertTrue(text.startswith(
            "BLAST RADIUS of tor:E1 (port): 1 rank of 1 job, on 1 host\n"), text)

    def test_without_jobs_nobody_is_called_hit(self):
        text = self.ask("--blast-radius", "tor:E1", "--host", "192.0.2.99", logs=False)
        self.assertTrue(text.startswith("BLAST RADIUS of tor:E1 (port): no known job\n"),
                        text)
        self.assertIn("no job traffic was observed", text)

    def test_an_element_that_is_not_there_is_told_with_the_nearest(self):
        told = self.ask("--blast-radius", "tro", "--needs", "node1:gpu:7", expect=USAGE)
        self.assertIn('--blast-radius: unknown element "tro"; did you mean "tor"?', told)
        self.assertIn('--needs: unknown element "node1:gpu:7"; did you mean "node1:gpu:0"?',
                      told)
        self.assertIn("HOST:gpu:NUMBER", told)
        self.assertIn(f"known jobs: {JOB}", told)
        self.ask("--blast-radius", "", expect=USAGE)

    def test_without_a_topology_there_is_nothing_to_ask_about(self):
        told = self.ask("--needs", "tor", topology=False, expect=USAGE)
        self.assertIn("--needs: requires a topology: use --topology FILE", told)


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    unittest.main()
