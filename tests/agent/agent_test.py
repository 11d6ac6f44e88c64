#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests an agent and an appliance as two processes: the appliance's knowledge of a host while logs are
rotated and the appliance is killed and restarted.

usage: agent_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROCESCOPE = ""
DEADLINE = 20  # seconds
RANKS = 4


def nccl_lines(rank):
    """NCCL 2.20 log lines of a rank's communicator (init.cc)."""
    frame = f"gpu-7:{4100 + rank}:{4100 + rank} [{rank}] NCCL INFO "
    comm = (f"comm 0x10{rank} rank {rank} nranks {RANKS} cudaDev {rank} nvmlDev {rank} "
            f"busId {0x1b + rank:x}000 commId 0xabc - Init ")
    return f"step {rank}: loss 3.1\n{frame}{comm}START\n{frame}{comm}COMPLETE\n"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class AgentAndAppliance(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.grpc = f"127.0.0.1:{free_port()}"
        port = self.folder / "sys/class/infiniband/mlx5_0/ports/1"
        for name, text in {"link_layer": "Ethernet", "state": "4: ACTIVE",
                           "rate": "400 Gb/sec (4X NDR)", "counters/port_rcv_packets": "7",
                           "gids/0": "0000:0000:0000:0000:0000:ffff:c000:020b"}.items():
            (port / name).parent.mkdir(parents=True, exist_ok=True)
            (port / name).write_text(text + "\n")
        self.log = self.folder / "log/nccl.log"
        self.log.parent.mkdir()
        self.log.write_text(nccl_lines(0))
        (self.folder / "appliance.yaml").write_text(json.dumps({  # JSON is YAML
            "analysis_window": "50ms", "http": "127.0.0.1:0", "grpc": {"listen": [self.grpc]},
            "udp": {"sflow": ["127.0.0.1:0"]}, "agents": {"silent_after": "1s"}}))
        (self.folder / "agent.yaml").write_text(json.dumps({
            "appliance": self.grpc, "host": "gpu-7", "nccl_logs": ["log/*.log*"], "root": ".",
            "log_period": "50ms", "counter_period": "100ms", "queue_pair_period": "100ms"}))

    def start(self, *words, until):
        process = subprocess.Popen([ROCESCOPE, *words], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        heard = ""
        while not (found := re.search(until, heard)):
            line = process.stderr.readline()
            self.assertTrue(line, heard)
            heard += line
        return process, found

    def start_appliance(self):
        self.appliance, page = self.start("run", self.folder / "appliance.yaml", until=r"(http://\S+/)[^$]*gRPC on")
        self.page = page.group(1)

    def start_agent(self, *words):
        self.agent, _ = self.start("agent", self.folder / "agent.yaml", *words, until="reporting")

    def ask(self, path):
        try:
            with urllib.request.urlopen(f"{self.page}api/v1/{path}", timeout=DEADLINE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 503, path)  # no answer yet
            return {}

    def wait_for(self, what):
        """Polls until the function returns a true value. Returns the last value."""
        end = time.monotonic() + DEADLINE
        while True:
            value, holds = what()
            if holds or time.monotonic() > end:
                return value
            time.sleep(0.05)

    def ranks(self):
        jobs = self.ask("jobs").get("jobs", [])
        return [rank.get("rank") for job in jobs
                for rank in self.ask(f"jobs/{job['job_id']}").get("job", {}).get("ranks", [])]

    def host(self):
        agents = [agent for source in self.ask("sources")["sources"] for agent in source["agents"]]
        return agents[0] if agents else {}

    def assert_ranks(self, expected):
        found = self.wait_for(lambda: (ranks := self.ranks(), ranks == expected))
        self.assertEqual(found, expected)

    def test_ranks_and_counters_survive_rotation_and_a_killed_appliance(self):
        self.start_appliance()
        self.start_agent()
        self.assert_ranks([0])
        with self.log.open("a") as log:  # rotated while it grows
            log.write(nccl_lines(1))
            self.log.rename(self.log.with_suffix(".log.1"))
            log.write(nccl_lines(2)[:-20])
            log.flush()
            self.log.write_text("")
            log.write(nccl_lines(2)[-20:])
        self.assert_ranks([0, 1, 2])
        self.appliance.send_signal(signal.SIGKILL)
        self.appliance.wait(DEADLINE)
        self.log.with_suffix(".log.1").unlink()  # the agent has already read it
        self.log.write_text(nccl_lines(3))
        self.start_appliance()
        self.assert_ranks([0, 1, 2, 3])
        taken = self.host()["batches"]
        host = self.wait_for(lambda: (one := self.host(), int(one["batches"]) > int(taken)))
        self.assertGreater(int(host["batches"]), int(taken), "counters continue")
        self.assertEqual((host["host"], host["connected"], host["lost_batches"],
                          host["log_lines"], host["in_topology"]),
                         ("gpu-7", True, "0", str(2 * RANKS), False))
        source = next(one for one in self.ask("sources")["sources"] if one["kind"] == "KIND_AGENTS")
        ledger = source["ledger"]
        self.assertEqual(int(ledger["received"]), int(ledger["decoded"]))
        self.assertGreater(int(ledger["decoded"]), 0)

    def test_silence_is_reported_unless_announced(self):
        self.start_appliance()
        self.start_agent()
        self.wait_for(lambda: (one := self.host(), bool(one)))
        self.agent.send_signal(signal.SIGTERM)
        self.agent.wait(DEADLINE)
        self.assertEqual(self.agent.returncode, 0)
        self.assertTrue(self.wait_for(lambda: (one := self.host(), one["stopped"]))["stopped"])
        self.start_agent()
        self.wait_for(lambda: (one := self.host(), one["connected"]))
        self.agent.send_signal(signal.SIGKILL)
        self.agent.wait(DEADLINE)
        troubles = self.wait_for(
            lambda: (found := self.ask("health").get("external_problems", []), len(found) > 0))
        self.assertRegex(" ".join(troubles), r"agent of gpu-7: no message for \d+ s")

    @unittest.skipIf(os.environ.get("ROCESCOPE_SANITIZE"), "sanitizers keep freed memory")
    def test_it_uses_little_memory(self):
        self.start_appliance()
        self.log.write_text("".join(nccl_lines(0) for _ in range(2000)))
        self.start_agent()
        self.wait_for(lambda: (one := self.host(), one.get("log_lines") == "4000"))
        status = pathlib.Path(f"/proc/{self.agent.pid}/status").read_text()
        anonymous, = re.findall(r"RssAnon:\s+(\d+) kB", status)
        self.assertLess(int(anonymous), 30_000, status)

    def test_errors_are_reported(self):
        for words, what in ((["--appliance", "nowhere"], 'invalid appliance address "nowhere"'),
                            (["/nowhere/agent.yaml"], "/nowhere/agent.yaml")):
            done = subprocess.run([ROCESCOPE, "agent", *words], capture_output=True, text=True,
                                  timeout=DEADLINE)
            self.assertEqual(done.returncode, 3)
            self.assertIn(what, done.stderr)
        (self.folder / "agent.yaml").write_text("nccl_log: [a]\n")
        done = subprocess.run([ROCESCOPE, "agent", self.folder / "agent.yaml"],
                              capture_output=True, text=True, timeout=DEADLINE)
        self.assertIn('agent.yaml:1:1', done.stderr)
        self.assertIn('did you mean "nccl_logs"?', done.stderr)

    def test_settings_that_match_nothing_are_reported_at_the_start(self):
        (self.folder / "agent.yaml").write_text(json.dumps({
            "appliance": self.grpc, "nccl_logs": ["logs/*.log"], "root": "rot"}))
        _, found = self.start("agent", self.folder / "agent.yaml", until=r"([^$]*)reporting")
        self.assertRegex(found.group(1), r"WARN.* agent: `root`: the directory \S+/rot contains neither")
        self.assertRegex(found.group(1), r"WARN.* agent: `nccl_logs`: no file matches \S+/logs/\*\.log;")

    def test_a_dump_round_trips(self):
        dump = subprocess.run([ROCESCOPE, "agent", "--dump"], capture_output=True, text=True,
                              check=True).stdout
        (self.folder / "agent.yaml").write_text(dump)
        again = subprocess.run([ROCESCOPE, "agent", "--dump", self.folder / "agent.yaml"],
                               capture_output=True, text=True, check=True).stdout
        self.assertEqual(again, dump)

    def test_the_example_configuration_is_valid(self):
        sample = pathlib.Path(__file__).parents[2] / "testbeds/agent.yaml"
        dump = subprocess.run([ROCESCOPE, "agent", "--dump", sample], capture_output=True,
                              text=True, check=True).stdout
        self.assertIn('nccl_logs: ["/var/log/nccl/*.log*"]', dump)


if __name__ == "__main__":
    ROCESCOPE = sys.argv.pop(1)
    unittest.main()
