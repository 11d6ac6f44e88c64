#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small lab from start to end.

usage: lab_test.py PATH/rocescope TESTBEDS [--endpoint PATH] [UNITTEST ARGUMENT...]

--endpoint: rocescope-lab-endpoint; without it, the test with jobs is skipped.

Exit code 77 (skipped) without ROCESCOPE_LAB_TEST in the environment, root privileges, Open vSwitch or clang.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tshark"))

import capture_file  # noqa: E402
import sender  # noqa: E402

SKIPPED = 77
NAME = f"t{os.getpid()}"
SENDER = HERE / "endpoint"
SMALL = ["--leaves", "2", "--spines", "2", "--hosts", "4", "--window", "1"]

rocescope = lab_program = endpoint = None


def lab(command, *words, expect=0, timeout=120):
    done = subprocess.run([lab_program, command, "--name", NAME, *map(str, words)], capture_output=True,
                          text=True, timeout=timeout)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"lab {command} {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_until(check, seconds=30):
    end = time.monotonic() + seconds
    while not (value := check()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


def what_is_left():
    """Namespaces and processes of the lab, and its state."""
    mark = f"/rocescope-lab/{NAME}".encode()
    left = [path.name for path in pathlib.Path("/run/netns").glob(f"{NAME}-*")]
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes():
                    left.append((entry / "cmdline").read_bytes().decode(errors="replace"))
            except OSError:
                continue
    return left + [str(path) for path in (pathlib.Path("/run/rocescope-lab") / NAME,) if path.exists()]


def program_of(pid):
    """None if the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return None


def leaves_of_hosts(topology):
    shown = json.loads(subprocess.run([rocescope, "topology", "show", topology, "-o", "json"], check=True,
                                      capture_output=True).stdout)
    return {host["name"]: host["nics"][0]["peer"].partition(":")[0] for host in shown["hosts"]}


class Lab(unittest.TestCase):
    def setUp(self):
        self.http, self.grpc = free_port(), free_port()
        self.state = pathlib.Path("/run/rocescope-lab") / NAME
        self.addCleanup(lab, "down")

    def up_command(self, program=SENDER):
        return ["up", *SMALL, "--http", self.http, "--grpc", self.grpc, "--rocescope", rocescope,
                "--endpoint", program]

    def up(self):
        return lab(*self.up_command())

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/api/v1/{path}", timeout=20) as answer:
            return json.load(answer)

    def source(self, name):
        return next(one for one in self.get("sources")["sources"] if one["name"] == name)

    def counts(self):
        """Of all senders together."""
        read = [json.loads(path.read_text()) for path in (self.state / "run/endpoint").glob("*.counts")]
        return {key: sum(one[key] for one in read) for key in read[0]}

    def mirrored(self):
        line = next(one for one in lab("status").splitlines() if "Mirrored packets" in one)
        return int(line.partition(": ")[2].split()[0])

    def test_a_lab_from_start_to_end(self):
        self.assertIn(f"http://127.0.0.1:{self.http}/", self.up())
        self.assertIn("exists", lab("up", "--rocescope", rocescope, "--no-traffic", expect=3))
        self.check_findings()
        self.check_capture()
        self.check_ledgers()
        lab("down")
        self.assertEqual(what_is_left(), [])

    def check_findings(self):
        self.assertTrue(wait_until(lambda: int(self.source("eth0")["ledger"]["received"]) > 5000))
        self.assertIn("no findings", lab("score"))
        self.assertIn("no such link", lab("fault", "loss", "leaf0:leaf1", "1%", expect=3))
        self.assertIn("link_down at leaf0:Ethernet3-spine0:Ethernet1", lab("fault", "down", "leaf0:spine0"))
        self.assertTrue(wait_until(lambda: "right" in lab("score", expect=None)), lab("score", expect=None))
        self.assertIn("fault 1", lab("heal"))
        self.assertIn("ended", lab("status"))

    def check_capture(self):
        with tempfile.TemporaryDirectory() as folder:
            lab("capture", "-d", folder, "--seconds", 16, "--fault", "6 6 bit-errors leaf1:spine1 10%")
            report = json.loads(subprocess.run([rocescope, "replay", folder, "-o", "json"], check=True,
                                               capture_output=True).stdout)
            self.assertEqual(report["ledger"]["dropped"], [])
            truth = json.loads((pathlib.Path(folder) / "truth.json").read_text())
            fault, = truth["faults"]
            self.assertEqual((fault["kind"], fault["direction"]), ("bit_errors", "leaf1:Ethernet4"))
            self.assertGreater(fault["affected_frames"], 10)
            found, = (one for one in report["findings"] if one["kind"] == "bit_errors")
            self.assertEqual(found["place"], fault["place"])
            scored = lab("score", folder, expect=None)
            self.assertIn("detection recall", scored)

    def check_ledgers(self):
        """When nothing is sent any more, all counts agree."""
        lab("traffic", "stop")
        time.sleep(1)
        counts = self.counts()
        self.assertEqual(counts["wrong_icrc"], 0)
        self.assertGreater(counts["received"], 0.9 * counts["sent"])
        self.check_mirrors()

    def check_mirrors(self):
        # Open vSwitch updates the statistics of its mirrors every 5 s.
        received = lambda: int(self.source("eth0")["ledger"]["received"])  # noqa: E731
        self.assertTrue(wait_until(lambda: self.mirrored() == received()),
                        f"mirrored: {self.mirrored()}; received: {received()}; {self.source('eth0')}")
        for name in ("eth0", "udp", "scrape"):
            ledger = self.source(name)["ledger"]
            # The endpoint exports counters of its own, which the appliance does not use.
            filtered = int(ledger["filtered"]) if name == "scrape" else 0
            self.assertEqual((int(ledger["received"]), ledger["dropped"]), (int(ledger["decoded"]) + filtered, []), name)
        doctor = subprocess.run([rocescope, "doctor", f"http://127.0.0.1:{self.http}"], capture_output=True,
                                text=True)
        for word in ("unknown", "missing from the topology", "lost"):
            self.assertNotIn(word, doctor.stdout)

    def test_jobs_ranks_and_paths_are_right(self):
        if not endpoint:
            self.skipTest("no --endpoint")
        lab(*self.up_command(endpoint))
        jobs = wait_until(lambda: [one for one in self.get("jobs")["jobs"] if one["identity"] == "IDENTITY_NCCL_LOG"])
        self.assertEqual(len(jobs), 2)
        with tempfile.TemporaryDirectory() as folder:
            lab("capture", "-d", folder, "--seconds", 20)
            scored = json.loads(subprocess.run(
                [rocescope, "score", folder, "--view", "leaves", "-o", "json"], capture_output=True).stdout)
            measures = {one["name"]: one for one in scored["views"][0]["measures"]}
            for name in ("pair_precision", "pair_recall", "ranks", "jobs"):
                self.assertEqual(measures[name]["right"], measures[name]["of"], name)
            self.assertGreater(measures["path"]["right"], 0.98 * measures["path"]["of"])
            truth = json.loads((pathlib.Path(folder) / "truth.json").read_text())
            self.assertEqual(len(truth["connections"]), 2 * 2 * 2)
        self.assertIn("no findings", lab("score"))

    def test_slurm_runs_the_jobs(self):
        if reason := why_no_slurm():
            self.skipTest(reason)
        lab(*self.up_command(endpoint), "--slurm")
        self.check_registered_jobs()
        self.check_tree()
        self.assertIn("no findings", lab("score"))
        inside = self.processes_inside()
        self.assertEqual({"slurmctld", "slurmd", "slurmstepd"},
                         {name for name in inside.values() if name.startswith("slurm")})
        lab("traffic", "stop")
        self.assertEqual(lab("slurm", "squeue", "-h"), "")
        self.assertTrue(wait_until(lambda: not self.registered()), self.registered())
        self.check_mirrors()
        lab("down")
        self.assertEqual(what_is_left(), [])
        self.assertEqual([pid for pid in inside if program_of(pid)], [])

    def check_registered_jobs(self):
        """The appliance has the numbers, hosts and GPUs of Slurm."""
        shown = lab("slurm", "squeue", "-h", "-o", "%A %j %T %N").splitlines()
        self.assertEqual(sorted(shown), ["101 pretrain RUNNING host[0,2]", "102 finetune RUNNING host[1,3]"])
        self.assertTrue(wait_until(lambda: len(self.registered()) == 2))
        for number, name, hosts in (("101", "pretrain", ["host0", "host2"]), ("102", "finetune", ["host1", "host3"])):
            job = self.registered()[number]
            self.assertEqual((job["name"], [node["node"] for node in job["nodes"]],
                              [node["gpu_indexes"] for node in job["nodes"]]), (name, hosts, [[0], [0]]))
        self.assertIn("101             pretrain    RUNNING", lab("status"))

    def registered(self):
        """The jobs that have not ended, by number."""
        return {job["scheduler_job_id"]: job for job in self.get("registered-jobs")["registered_jobs"]
                if not job.get("ended")}

    def check_tree(self):
        """Slurm and the appliance use the same names."""
        tree = lab("slurm", "scontrol", "show", "topology")
        self.assertIn("SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=host[2-3]", tree)
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
            subprocess.run([rocescope, "topology", "convert", self.state / "run/slurm/topology.conf"], check=True,
                           stdout=file, stderr=subprocess.DEVNULL)
            converted = leaves_of_hosts(file.name)
        self.assertEqual(converted, leaves_of_hosts(self.state / "run/topology.yaml"))
        self.assertEqual(converted["host3"], "leaf1")

    def processes_inside(self):
        """The programs in the namespaces of the lab by process number, also those without its mark."""
        found = {}
        for namespace in pathlib.Path("/run/netns").glob(f"{NAME}-*"):
            pids = subprocess.run(["ip", "netns", "pids", namespace.name], capture_output=True, text=True).stdout
            for pid in pids.split():
                if program := program_of(pid):
                    found[pid] = program.removesuffix("-wlm")  # Debian's names
        return found

    def test_nothing_of_slurm_is_left_after_a_crash(self):
        if reason := why_no_slurm():
            self.skipTest(reason)
        process = subprocess.Popen([lab_program, "up", "--name", NAME, *map(str, self.up_command(endpoint)[1:]),
                                    "--slurm"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(lambda: "slurmstepd" in self.processes_inside().values(), 120))
        process.kill()
        process.wait()
        inside = self.processes_inside()
        lab("down")
        self.assertEqual(what_is_left(), [])
        self.assertEqual([pid for pid in inside if program_of(pid)], [])

    def test_a_replayed_capture_arrives_and_is_mirrored(self):
        lab("up", *SMALL, "--http", self.http, "--grpc", self.grpc, "--rocescope", rocescope, "--no-traffic")
        frames = [(10**6 * number, sender.packet("192.0.2.1", "192.0.2.2", 50000, 17, number, bytes(64)))
                  for number in range(20)]
        frames[-1] = frames[-1][0], frames[-1][1][:-1] + b"?"  # an invalid iCRC
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "capture.pcap")
            capture_file.write(path, 1, frames)
            shown = lab("replay", path, "--map", "192.0.2.2=host3", "--speed", "0.1")
        self.assertIn("192.0.2.2 is host3", shown)
        self.assertIn("1 packets have an invalid iCRC", shown)
        self.assertIn("Sent 20 packets of 1 flows; 20 arrived; 40 of 40 copies were mirrored", shown)
        self.assertIn("The appliance received 40 mirrored packets", shown)
        self.assertIn("rocescope finds 1 flows", shown)
        copies = subprocess.run([rocescope, "decode", "--icrc", self.state / "run/replay.pcap"], check=True,
                                capture_output=True, text=True).stdout.splitlines()
        self.assertEqual([json.loads(one)["icrc_ok"] for one in copies].count(False), 2)
        self.assertIn("not a capture in pcap format", lab("replay", __file__, expect=3))

    def test_nothing_is_left_after_a_crash(self):
        for how, seconds in ((signal.SIGKILL, 0.5), (signal.SIGKILL, 1.5), (signal.SIGTERM, 1.0)):
            process = subprocess.Popen([lab_program, "up", "--name", NAME, *map(str, self.up_command()[1:])],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(seconds)
            process.send_signal(how)
            process.wait()
            lab("down")
            self.assertEqual(what_is_left(), [])

    def test_a_foreign_namespace_is_neither_used_nor_removed(self):
        foreign = f"{NAME}-host1"
        subprocess.run(["ip", "netns", "add", foreign], check=True)
        try:
            self.assertIn(f"namespace {foreign} exists", lab(*self.up_command(), expect=3))
            self.assertEqual(what_is_left(), [foreign])
        finally:
            subprocess.run(["ip", "netns", "del", foreign], check=True)


def why_no_slurm():
    programs = ("munged", "slurmctld", "slurmd", "sbatch")
    missing = [name for name in programs if not shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")]
    if missing:
        return f"missing: {', '.join(missing)} (Debian: slurm-wlm, munge)"
    return None if endpoint else "no --endpoint"


def why_not():
    if not os.environ.get("ROCESCOPE_LAB_TEST"):
        return "its times depend on the load of the machine; set ROCESCOPE_LAB_TEST=1 to run it"
    if os.geteuid() != 0:
        return "only root can create network namespaces"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [name for name in ("ovs-vswitchd", "ovsdb-server", "tc", "tcpdump")
               if not shutil.which(name, path=path)]
    if not any(shutil.which(name) for name in ("clang", "clang-19", "clang-14")):
        missing.append("clang")
    if missing:
        return f"missing: {', '.join(missing)} (docker/install_packages lab)"
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
        return "network namespaces cannot be created here"
    return None


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    rocescope = str(pathlib.Path(sys.argv.pop(1)).resolve())
    lab_program = pathlib.Path(sys.argv.pop(1)).resolve() / "lab"
    if sys.argv[1:2] == ["--endpoint"]:
        endpoint = sys.argv[2]
        del sys.argv[1:3]
    unittest.main()
