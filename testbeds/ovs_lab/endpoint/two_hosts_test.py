#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the endpoints of two hosts in network namespaces that a veth pair joins, captures their traffic
with tcpdump, and reads it with rocescope and tshark.

    two_hosts_test.py --endpoint PROGRAM --rocescope PROGRAM [unittest arguments]

Needs root, ip, tcpdump and tshark; exit code 77 if something is missing.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

PROGRAMS = None  # --endpoint and --rocescope
HOSTS = ("host0", "host1")
# Seconds until the jobs begin. Both endpoints must have opened their sockets by then, also on a busy machine.
LEAD = 2
SECONDS = 3

PLAN = """
topology: fabric.yaml
seed: 11
begin: {begin}
rate: 2000pps
{more}
jobs:
  - name: train
    id: 7
    hosts: host[0-1]
    phases: [{{name: dp, collective: ring, size: 256K, compute: 10ms}}]
"""


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True,
                          **options).stdout


class Lab:
    """Two namespaces, each with the interface eth0."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.names = [f"endpoint-test-{os.getpid()}-{host}" for host in HOSTS]
        self.processes = []

    def __enter__(self):
        for name in self.names:
            run("ip", "netns", "add", name)
        run("ip", "-n", self.names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns",
            self.names[1])
        for number, name in enumerate(self.names):
            run("ip", "-n", name, "link", "set", "eth0", "address", f"02:00:0a:00:00:{number + 1:02x}")
            run("ip", "-n", name, "address", "add", f"10.0.0.{number + 1}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
        (self.folder / "fabric.yaml").write_text(
            run(PROGRAMS.rocescope, "topology", "generate", "leaf-spine", "--hosts", 2, "--leaves", 1,
                "--spines", 1))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stderr.close()
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def write_plan(self, more):
        (self.folder / "plan.yaml").write_text(PLAN.format(begin=f"{time.time() + LEAD:.3f}", more=more))

    def start(self, number, *command):
        process = subprocess.Popen(["ip", "netns", "exec", self.names[number], *map(str, command)],
                                   stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def start_endpoint(self, number, *more, prefix=()):
        return self.start(number, *prefix, PROGRAMS.endpoint, self.folder / "plan.yaml", "--host", HOSTS[number],
                          "--interface", "eth0", "-d", self.folder / "run", *more)

    def lines(self, host):
        path = self.folder / "run" / "endpoint" / f"{host}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


def frames_of(path):
    """The frames of a pcap file of this machine's byte order."""
    data = path.read_bytes()
    at = 24
    while at + 16 <= len(data):
        _, _, captured, _ = struct.unpack_from("=IIII", data, at)
        yield data[at + 16:at + 16 + captured]
        at += 16 + captured


def has_right_icrc(frame):
    """IBTA vol. 1, annex A17.3.3, independently of dataplane/wire."""
    total, = struct.unpack_from(">H", frame, 16)
    packet = bytearray(frame[14:14 + total])
    for at in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, checksums, FECN and BECN
        packet[at] = 0xff
    crc = zlib.crc32(b"\xff" * 8 + bytes(packet[:-4]))
    return struct.pack("<I", crc) == bytes(packet[-4:])


class TwoHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.lab = Lab(cls.folder.name).__enter__()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.lab.__exit__)
        cls.capture = cls.lab.folder / "mirror.pcap"
        tcpdump = cls.lab.start(0, "tcpdump", "-i", "eth0", "--immediate-mode", "-U", "-B", 65536, "-w",
                                cls.capture, "udp port 4791")
        while "listening" not in (tcpdump.stderr.readline() or "listening"):
            pass
        cls.lab.write_plan(f"duration: {SECONDS}s")
        endpoints = [cls.lab.start_endpoint(number) for number in range(2)]
        cls.codes = [process.wait(timeout=SECONDS + 30) for process in endpoints]
        tcpdump.send_signal(signal.SIGINT)
        tcpdump.wait(timeout=30)
        cls.counters = [cls.lab.lines(host)[-1]["counters"] for host in HOSTS]

    def test_ends_with_the_plan(self):
        self.assertEqual(self.codes, [0, 0])

    def test_iterations_are_the_same_on_both_hosts(self):
        counts = []
        for host in HOSTS:
            iterations = [line for line in self.lab.lines(host) if line["event"] == "iteration"]
            self.assertEqual([line["iteration"] for line in iterations], list(range(len(iterations))))
            for line in iterations:
                self.assertLess(line["begin_ns"], line["end_ns"])
            counts.append(len(iterations))
        self.assertGreater(counts[0], 3)
        self.assertLessEqual(abs(counts[0] - counts[1]), 1)

    def test_there_are_no_errors(self):
        for counters in self.counters:
            self.assertGreater(counters["sent_packets"], 1000)
            for name in ("rx_icrc_encapsulated", "rx_malformed", "rx_unknown_queue_pair", "tx_errors",
                         "rx_socket_drops", "out_of_sequence", "req_transport_retries_exceeded"):
                self.assertEqual(counters[name], 0, name)
        # A host that ends first leaves packets of the other one unanswered.
        self.assertLessEqual(abs(self.counters[0]["sent_packets"] - self.counters[1]["received_packets"]), 50)

    def test_prometheus_file_has_the_counters(self):
        text = (self.lab.folder / "run/endpoint/host0.prom").read_text()
        self.assertIn('fabric_nic_out_of_sequence{node="host0",port="mlx5_0"} 0\n', text)
        self.assertIn('fabric_nic_link_up{node="host0",port="mlx5_0"} 1\n', text)
        sent = int(text.split('fabric_nic_tx_packets{node="host0",port="mlx5_0"} ')[1].split()[0])
        self.assertGreaterEqual(sent, self.counters[0]["sent_packets"])

    def replay(self, *options):
        return json.loads(run(PROGRAMS.rocescope, "replay", self.capture, "-o", "json", "--topology",
                              self.lab.folder / "fabric.yaml", *options))

    def check_connections(self, report):
        queue_pairs = {}
        for host in HOSTS:
            path = self.lab.folder / "run" / "rdma" / f"{host}.json"
            for row in json.loads(path.read_text()):
                if row["type"] == "RC":
                    queue_pairs[(f"10.0.0.{HOSTS.index(host) + 1}", row["lqpn"])] = row["rqpn"]
        self.assertEqual(len(queue_pairs), 4)
        connections = report["connections"]
        self.assertEqual(len(connections), 2)
        for connection in connections:
            self.assertEqual(connection["state"], "STATE_PAIRED")
            ends = [connection["a"], connection["b"]]
            for end, other in zip(ends, reversed(ends)):
                self.assertEqual(queue_pairs[(end["address"], int(end["qpn"]))], int(other["qpn"]))
                # Rank n runs on host n.
                self.assertEqual(int(end.get("rank", -1)), int(end["address"][-1]) - 1)
        job, = report["jobs"]
        self.assertEqual(int(job.get("rank_count", 2)), 2)

    def test_rocescope_finds_connections_and_ranks(self):
        self.check_connections(self.replay("--nccl-logs", self.lab.folder / "run/nccl", "--rdma",
                                           self.lab.folder / "run/rdma"))

    def test_rocescope_finds_connections_and_ranks_without_rdma(self):
        self.check_connections(self.replay("--nccl-logs", self.lab.folder / "run/nccl"))

    def test_every_icrc_is_right(self):
        frames = list(frames_of(self.capture))
        self.assertGreater(len(frames), 2000)
        self.assertTrue(all(has_right_icrc(frame) for frame in frames))

    def test_tshark_reads_every_packet(self):
        text = run("tshark", "-r", self.capture, "-T", "fields", "-e", "infiniband.bth.opcode", "-e",
                   "ip.dsfield.dscp", "-e", "ip.dsfield.ecn", "-e", "_ws.malformed", "-e",
                   "infiniband.aeth.syndrome.opcode", "-e", "ip.checksum.status", "-o", "ip.check_checksum:TRUE")
        packets = [line.split("\t") for line in text.splitlines()]
        self.assertGreater(len(packets), 2000)
        opcodes = {int(packet[0]) for packet in packets}
        # FIRST, MIDDLE, LAST with immediate, ONLY (clear-to-send), ACK
        self.assertEqual(opcodes, {6, 7, 9, 10, 17})
        for opcode, dscp, ecn, malformed, ack, checksum in packets:
            self.assertEqual((dscp, malformed, checksum), ("26", "", "1"))
            self.assertEqual(ecn, "0" if opcode == "17" else "2")
            self.assertEqual(ack, "0" if opcode == "17" else "")

    def test_the_kernel_sends_no_icmp(self):
        for name in self.lab.names:
            text = run("ip", "netns", "exec", name, "cat", "/proc/net/snmp")
            names, values = [line.split() for line in text.splitlines() if line.startswith("Icmp:")]
            self.assertEqual(values[names.index("OutDestUnreachs")], "0")


class Ends(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lab = Lab(folder.name).__enter__()
        self.addCleanup(self.lab.__exit__)
        self.lab.write_plan("network: {ack_timeout: 20ms}")

    def fails(self, process, code, message):
        self.assertEqual(process.wait(timeout=30), code)
        self.assertIn(message, process.stderr.read())

    def test_a_signal_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            endpoint = self.lab.start_endpoint(0)
            time.sleep(0.5)
            endpoint.send_signal(number)
            self.assertEqual(endpoint.wait(timeout=10), 0)
            self.assertEqual(self.lab.lines("host0")[-1]["event"], "counters")

    def test_a_killed_peer_fails_the_job(self):
        endpoints = [self.lab.start_endpoint(number) for number in range(2)]
        time.sleep(LEAD + 1)
        endpoints[1].kill()
        time.sleep(1.5)
        endpoints[0].terminate()
        self.assertEqual(endpoints[0].wait(timeout=10), 0)
        failed, = [line for line in self.lab.lines("host0") if line["event"] == "job_failed"]
        self.assertEqual((failed["reason"], failed["peer_host"]), ("retries exceeded", "host1"))
        log = (self.lab.folder / "run/nccl/host0.log").read_text()
        self.assertIn("Got completion from peer 10.0.0.2<43210> with status=12", log)
        counters = self.lab.lines("host0")[-1]["counters"]
        self.assertGreaterEqual(counters["local_ack_timeout_err"], 8)

    def test_an_unknown_host_is_refused(self):
        self.fails(self.lab.start(0, PROGRAMS.endpoint, self.lab.folder / "plan.yaml", "--host", "hots0",
                                  "--interface", "eth0", "-d", self.lab.folder), 2, 'no host "hots0"')

    def test_an_unknown_interface_is_refused(self):
        self.fails(self.lab.start(0, PROGRAMS.endpoint, self.lab.folder / "plan.yaml", "--host", "host0",
                                  "--interface", "eth7", "-d", self.lab.folder), 2,
                   "eth7: there is no such interface")

    def test_a_small_mtu_is_refused(self):
        run("ip", "-n", self.lab.names[0], "link", "set", "eth0", "mtu", "1000")
        self.fails(self.lab.start_endpoint(0), 3, "eth0: its MTU is 1000")

    def test_missing_privileges_are_named(self):
        endpoint = self.lab.start_endpoint(0, prefix=("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"))
        self.fails(endpoint, 3, "CAP_NET_RAW")

    def test_an_invalid_plan_is_refused(self):
        (self.lab.folder / "plan.yaml").write_text("topology: fabric.yaml\njobs: []\nfaults: []\n")
        self.fails(self.lab.start_endpoint(0), 3, 'plan.yaml:3:9: the key "faults"')


def main():
    global PROGRAMS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--rocescope", required=True)
    PROGRAMS, rest = parser.parse_known_args()
    missing = [name for name in ("ip", "tcpdump", "tshark", "setpriv") if not shutil.which(name)]
    if os.geteuid() != 0:
        missing.append("root")
    elif not missing and subprocess.run(["unshare", "--net", "true"], check=False).returncode != 0:
        missing.append("the right to create network namespaces")
    if missing:
        print("skipped, because this is missing:", ", ".join(missing))
        return 77
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
