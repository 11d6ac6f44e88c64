#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that `run`, `agent`, `replay` and `decode` restrict themselves, as the kernel reports it.

usage: sandbox_test.py PATH/rocescope
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from running_appliance import hear

ROCESCOPE = None
LANDLOCK_CREATE_RULESET = 444  # number of the system call, the same on all architectures
NCCL_LOG = "gpu1:7:7 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>\n"


def landlock_version():
    """0 if the kernel has no Landlock."""
    return max(0, ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1))


def threads(process):
    """The attributes of each thread in /proc, by thread."""
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread ended
            text = (task / "status").read_text()
            yield dict(re.findall(r"^(\w+):\s*(\S*)", text, re.M))


class Sandbox(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "logs").mkdir()
        (self.folder / "logs/a.log").write_text(NCCL_LOG)

    @contextlib.contextmanager
    def appliance(self, text=""):
        """Yields the process and the URL of its dashboard."""
        path = self.folder / "appliance.yaml"
        path.write_text('udp: {sflow: ["127.0.0.1:0"]}\nhttp: "127.0.0.1:0"\n'
                        'grpc: {listen: ["127.0.0.1:0"]}\nhost_files: {nccl_logs: [logs]}\n'
                        "analysis_window: 100ms\n" + text)
        with subprocess.Popen([ROCESCOPE, "run", path], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE) as run:
            try:
                heard = hear(self, run, "gRPC on")
                yield run, re.search(r"http://[\d.:]+/", heard)[0]
            finally:
                run.kill()

    def is_restricted(self, process, alone=False):
        found = list(threads(process))
        self.assertGreater(len(found), 0 if alone else 3)
        for thread in found:
            self.assertEqual((thread["NoNewPrivs"], thread["Seccomp"]), ("1", "2"), thread["Name"])
            if os.geteuid() == 0:
                # CAP_NET_BIND_SERVICE, CAP_SYS_NICE, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, and the
                # agent's CAP_SYS_PTRACE
                self.assertEqual(int(thread["CapEff"], 16) & ~0x880406, 0, thread["Name"])
                self.assertEqual(int(thread["CapAmb"], 16), 0)

    def get(self, url):
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read().decode()

    def reload(self, run, words):
        run.send_signal(signal.SIGHUP)
        return hear(self, run, words)

    def test_every_thread_of_the_appliance(self):
        with self.appliance(f"history: {{file: {self.folder}/history.db}}\n") as (run, url):
            self.get(url)
            time.sleep(0.5)  # threads that start late
            self.is_restricted(run)
            if os.geteuid() == 0:
                for thread in threads(run):
                    self.assertEqual(int(thread["CapBnd"], 16), 0, thread["Name"])
            self.assertRegex(self.get(url + "metrics"), r"(?m)^rocescope_denied_system_calls_total 0$")
            health = json.loads(self.get(url + "api/v1/health"))
            if landlock_version() > 0:
                self.assertEqual(health.get("external_problems", []), [])

    def test_it_can_be_disabled(self):
        with self.appliance("sandbox: off\n") as (run, url):
            self.get(url)
            for thread in threads(run):
                self.assertEqual((thread["NoNewPrivs"], thread["Seccomp"]), ("0", "0"))

    def test_files_can_be_replaced_and_read_again(self):
        with self.appliance() as (run, _):
            new = self.folder / "logs/new"
            new.write_text(NCCL_LOG * 2)
            new.rename(self.folder / "logs/a.log")
            (self.folder / "logs/b.log").write_text(NCCL_LOG)
            self.reload(run, "host_files were reloaded")

    def test_a_link_cannot_lead_to_a_foreign_file(self):
        if landlock_version() == 0:
            self.skipTest("the kernel has no Landlock")
        with tempfile.TemporaryDirectory() as elsewhere:
            foreign = pathlib.Path(elsewhere, "foreign.log")
            foreign.write_text(NCCL_LOG)
            with self.appliance() as (run, url):
                (self.folder / "logs/link.log").symlink_to(foreign)
                heard = self.reload(run, "previous contents stay in effect")
                self.assertIn("Permission denied", heard)
                deadline = time.monotonic() + 20  # the problem is stored after it is logged
                problems = []
                while not problems and time.monotonic() < deadline:
                    problems = json.loads(self.get(url + "api/v1/health")).get("problems", [])
                self.assertIn("link.log", problems[0])

    def test_the_history_can_be_replaced(self):
        history = self.folder / "history.db"
        with self.appliance(f"history: {{file: {history}}}\n") as (run, url):
            for part in self.folder.glob("history.db*"):
                if not part.name.endswith(".lock"):
                    part.unlink()
            deadline = time.monotonic() + 60
            while not history.exists() and time.monotonic() < deadline:
                time.sleep(0.2)
            self.assertTrue(history.exists())
            self.assertIn("rocescope_denied_system_calls_total 0\n", self.get(url + "metrics"))
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(timeout=30), 0)

    def test_the_agent(self):
        with subprocess.Popen(
                [ROCESCOPE, "agent", "--appliance", "127.0.0.1:1", "--nccl-logs",
                 f"{self.folder}/logs/*.log"], stderr=subprocess.PIPE, text=True) as agent:
            try:
                hear(self, agent, "reporting to the appliance")
                time.sleep(1)
                self.is_restricted(agent)
                agent.send_signal(signal.SIGTERM)
                self.assertNotIn("denied system calls", agent.communicate(timeout=30)[1])
            finally:
                agent.kill()

    def test_commands_that_read_captures(self):
        # A capture without packets (pcap, Ethernet) that does not end.
        head = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        for command in (["decode", "-"], ["replay", "-"], ["replay", "-", "-o", "html"]):
            with subprocess.Popen([ROCESCOPE, *command], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                try:
                    process.stdin.write(head)
                    process.stdin.flush()
                    deadline = time.monotonic() + 20
                    while (next(threads(process))["Seccomp"] != "2" and
                           time.monotonic() < deadline):
                        time.sleep(0.01)
                    self.is_restricted(process, alone=True)
                    out, err = process.communicate(timeout=30)
                    self.assertEqual(process.returncode, 0, err)
                finally:
                    process.kill()


if __name__ == "__main__":
    ROCESCOPE = sys.argv[1]
    if os.environ.get("ROCESCOPE_SANITIZE"):
        print("skipped: a build with sanitizers has no sandbox")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
