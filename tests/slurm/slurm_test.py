#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that Slurm daemons register their jobs with a running appliance and never wait for it, and
that slurmctld accepts our topology.conf.

usage: slurm_test.py PATH/rocescope HOOKS [UNITTEST ARGUMENT...]
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import cluster

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import nanoseconds  # noqa: E402

ROCESCOPE = HOOKS = None
# Four hosts, two at each pair of rail leaves.
FABRIC = ["generate", "leaf-spine", "--hosts", "4", "--nics", "2", "--gpus", str(cluster.GPUS),
          "--rail-optimised", "--leaves", "4", "--spines", "2"]
# The maximum additional duration of a job with an unresponsive appliance. The scripts have a
# timeout of two seconds for a call, so a job that waits for it would exceed this.
LATER_AT_MOST = 1.0


class Appliance:
    def __init__(self, folder, topology):
        self.config = folder / "appliance.yaml"
        port, = cluster.free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self.config.write_text(json.dumps({  # JSON is YAML
            "topology": str(topology), "analysis_window": "200ms", "http": "none",
            "grpc": {"listen": [self.address]}, "udp": {"sflow": ["127.0.0.1:0"]},
            "jobs": {"file": str(folder / "jobs.json")}}))
        self.start()

    def start(self):
        self.process = subprocess.Popen([ROCESCOPE, "run", self.config], text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        heard = ""
        while "gRPC on" not in heard:
            line = self.process.stderr.readline()
            assert line, heard
            heard += line

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def jobs(self):
        """The appliance's jobs, by ID."""
        said = subprocess.run([ROCESCOPE, "job", "list", "--ended", "-o", "json", "--appliance",
                               self.address], capture_output=True, text=True, timeout=20)
        assert said.returncode == 0, said.stderr
        return {int(job["scheduler_job_id"]): job for job in json.loads(said.stdout)["registered_jobs"]}


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        folder = pathlib.Path(cls.temporary.name)
        topology = folder / "fabric.yaml"
        topology.write_text(cls.rocescope("topology", *FABRIC))
        cls.appliance = Appliance(folder, topology)
        cls.addClassCleanup(lambda: cls.appliance.kill())
        cls.hooks = folder / "hooks"
        shutil.copytree(HOOKS, cls.hooks)
        cls.log = folder / "hook.log"
        cls.settings = folder / "hooks" / "rocescope.conf"
        cls.slurm = cluster.Cluster(tempfile.mkdtemp(dir=folder), [f"host{i}" for i in range(4)],
                                    cls.rocescope("topology", "export", topology, "--format",
                                                  "slurm"), cls.hooks)
        cls.addClassCleanup(cls.slurm.stop)
        cls.slurm.start()

    @staticmethod
    def rocescope(*words):
        return subprocess.run([ROCESCOPE, *words], check=True, capture_output=True,
                              text=True).stdout

    @classmethod
    def call(cls, address):
        """Sets the address that the scripts call."""
        cls.settings.write_text(f"ROCESCOPE={ROCESCOPE}\nROCESCOPE_APPLIANCE={address}\n"
                                f"ROCESCOPE_LOG={cls.log}\nROCESCOPE_LOCKS={cls.log}.locks\n"
                                f"export SLURM_CONF={cls.slurm.folder}/slurm.conf\n")

    def setUp(self):
        self.call(self.appliance.address)

    def wait_until(self, condition, what):
        self.slurm.wait_for(condition, f"{what}; output of the scripts: {self.said()}")

    def said(self):
        return self.log.read_text() if self.log.exists() else ""

    def test_the_appliance_lists_a_job_while_it_runs_and_as_ended_after(self):
        job = self.slurm.submit("sleep 4", "-N", "2", "--exclusive", "-J", "pre train",
                                "--gres", f"gpu:{cluster.GPUS}")
        self.wait_until(lambda: job in self.appliance.jobs(), "the appliance to list the job")
        listed = self.appliance.jobs()[job]
        self.assertFalse(listed["ended"])
        self.assertEqual((listed["name"], listed["user"]), ("pre train", "root"))
        allocated = self.slurm.run("scontrol", "show", "hostnames", self.slurm.run(
            "squeue", "-h", "-j", str(job), "-o", "%N", check=True).stdout.strip(), check=True)
        self.assertEqual([node["node"] for node in listed["nodes"]], allocated.stdout.split())
        self.assertEqual(len(listed["nodes"]), 2)
        self.assertEqual(listed["nodes"][0]["gpu_indexes"], list(range(cluster.GPUS)))
        # The partition's limit is a minute.
        self.assertAlmostEqual(nanoseconds(listed["limit_time"]) / 1e9, nanoseconds(listed["start_time"]) / 1e9 + 60,
                               delta=5)
        self.assertEqual(self.slurm.state_of(job), "RUNNING")
        self.wait_until(lambda: self.appliance.jobs()[job]["ended"], "the appliance to list the job as ended")
        ended = self.appliance.jobs()[job]
        self.assertGreater(nanoseconds(ended["end_time"]), nanoseconds(ended["start_time"]))
        self.assertEqual(self.slurm.state_of(job), "COMPLETED")

    def test_a_job_has_the_gpus_that_slurm_gave_it(self):
        job = self.slurm.submit("sleep 3", "-w", "host1", "--gres", "gpu:2")
        self.wait_until(lambda: job in self.appliance.jobs(), "the appliance to list the job")
        node, = self.appliance.jobs()[job]["nodes"]
        given = self.slurm.run("scontrol", "-d", "show", "job", str(job), check=True).stdout
        indexes = node["gpu_indexes"]
        self.assertIn(f"IDX:{indexes[0]}-{indexes[-1]}", given)
        self.assertEqual(len(indexes), 2)

    def test_short_jobs_are_listed_as_ended(self):
        jobs = [self.slurm.submit("true") for _ in range(5)]
        self.wait_until(lambda: all(self.appliance.jobs().get(job, {}).get("ended") for job in jobs),
                        "all to have ended")

    def test_jobs_survive_a_restart_of_the_appliance(self):
        job = self.slurm.submit("sleep 5", "-w", "host3")
        self.wait_until(lambda: job in self.appliance.jobs(), "the appliance to list the job")
        time.sleep(1)  # up to one second of changes may be lost
        self.appliance.kill()
        self.appliance.start()
        listed = self.appliance.jobs()[job]
        self.assertFalse(listed["ended"])
        self.assertEqual([node["node"] for node in listed["nodes"]], ["host3"])
        self.wait_until(lambda: self.appliance.jobs()[job]["ended"], "the appliance to list the job as ended")

    def seconds_of_a_job(self):
        begin = time.monotonic()
        self.slurm.run("srun", "-N", "1", "true", check=True)
        return time.monotonic() - begin

    def test_no_job_waits_for_an_unresponsive_appliance(self):
        self.seconds_of_a_job()
        answered = min(self.seconds_of_a_job() for _ in range(3))
        self.appliance.process.send_signal(signal.SIGSTOP)
        try:
            stopped = min(self.seconds_of_a_job() for _ in range(3))
            self.wait_until(lambda: "no answer within 2.0 s" in self.said(), "a log message")
        finally:
            self.appliance.process.send_signal(signal.SIGCONT)
        self.call("192.0.2.1:50051")  # TEST-NET-1 (RFC 5737): packets are discarded
        nowhere = min(self.seconds_of_a_job() for _ in range(3))
        self.call("127.0.0.1:1")
        refused = min(self.seconds_of_a_job() for _ in range(3))
        print(f"a job takes {answered:.2f} s; {stopped:.2f} s with the appliance stopped, "
              f"{nowhere:.2f} s with it unreachable, {refused:.2f} s without it")
        for seconds in (stopped, nowhere, refused):
            self.assertLess(seconds, answered + LATER_AT_MOST)

    def test_slurmctld_accepts_the_exported_tree(self):
        shown = self.slurm.run("scontrol", "show", "topology", check=True).stdout
        switches = {}
        for line in shown.splitlines():
            words = dict(word.split("=", 1) for word in line.split())
            switches[words["SwitchName"]] = (int(words["Level"]), words["Nodes"])
        self.assertEqual(switches, {"rails-leaf0": (0, "host[0-1]"),
                                    "rails-leaf2": (0, "host[2-3]"), "spines": (1, "host[0-3]")})
        # The tree is used: Slurm allocates two neighbouring nodes.
        job = self.slurm.submit("true", "-N", "2", "-w", "host2", "--switches=1")
        self.wait_until(lambda: self.slurm.state_of(job) == "COMPLETED", "the job")
        shown = self.slurm.run("scontrol", "show", "job", str(job), check=True).stdout
        self.assertEqual(re.search(r" NodeList=(\S+)", shown).group(1), "host[2-3]")


if __name__ == "__main__":
    ROCESCOPE, HOOKS = (os.path.abspath(word) for word in sys.argv[1:3])
    del sys.argv[1:3]
    if why := cluster.missing():
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
