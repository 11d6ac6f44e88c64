#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that nfdump's sfcapd and pmacct's sfacctd read the sFlow of our writer, over loopback.

usage: readers_test.py PATH/generate [UNITTEST ARGUMENT...]

Exit code 77 if neither tool is installed. A test is skipped if its tool is missing.
"""

import csv
import io
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = {"sfcapd": "nfdump-sflow", "nfdump": "nfdump", "sfacctd": "pmacct"}  # the tools and their packages
RATE = 1000
SAMPLES = 30
generate = ""


def expected():
    """The flow samples of generate.cc, by source address."""
    return {f"10.0.0.{n + 1}": {"destination": f"10.0.1.{n + 1}", "input": 100 + n,
                                "output": 200 + n, "frame_length": 1000 + n}
            for n in range(SAMPLES)}


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(holds, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


def listens(port):
    """True if a process has bound the UDP port, according to /proc."""
    tables = [pathlib.Path("/proc/net", name).read_text() for name in ("udp", "udp6")]
    return any(f":{port:04X} " in line.split("rem_address")[0] and f":{port:04X}" in line.split()[1]
               for table in tables for line in table.splitlines()[1:])


class Reader(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.port = free_port()

    def need(self, *tools):
        for tool in tools:
            if shutil.which(tool) is None:
                self.skipTest(f"{tool} is missing: apt-get install {TOOLS[tool]}")

    def send_to(self, *command):
        """Starts `command`, sends it all datagrams, stops it, and returns its output."""
        datagrams = subprocess.run([generate], check=True, capture_output=True,
                                   text=True).stdout.split()
        log = pathlib.Path(self.folder.name, "log")
        with log.open("w") as messages:
            process = subprocess.Popen(command, stdout=messages, stderr=messages,
                                       stdin=subprocess.DEVNULL)
        try:
            self.assertTrue(wait_until(lambda: listens(self.port) or process.poll() is not None))
            self.assertIsNone(process.poll(), log.read_text())
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for datagram in datagrams:
                    sender.sendto(bytes.fromhex(datagram), ("127.0.0.1", self.port))
                    time.sleep(0.02)
            time.sleep(1)
            process.send_signal(subprocess.signal.SIGINT)
            process.wait(timeout=30)
        finally:
            process.kill()
            process.wait()
        return log.read_text()

    def test_sfcapd_reads_every_sample(self):
        self.need("sfcapd", "nfdump")
        messages = self.send_to("sfcapd", "-b", "127.0.0.1", "-p", str(self.port), "-w",
                                self.folder.name)
        self.assertIn("Sequence Errors: 0, Bad Packets: 0", messages)
        files = sorted(pathlib.Path(self.folder.name).glob("nfcapd.*"))
        self.assertTrue(files, messages)
        rows = []
        for file in files:
            run = subprocess.run(["nfdump", "-r", str(file), "-o", "csv"], check=True,
                                 capture_output=True, text=True)
            rows += csv.DictReader(io.StringIO(run.stdout.split("\nSummary")[0]))
        flows = {row["sa"]: row for row in rows if row.get("dp") == "4791"}
        self.assertEqual(set(flows), set(expected()))
        for source, wanted in expected().items():
            row = flows[source]
            self.assertEqual(row["da"], wanted["destination"])
            self.assertEqual(int(row["sp"]), 49152)
            self.assertEqual(int(row["in"]), wanted["input"])
            self.assertEqual(int(row["out"]), wanted["output"])
            self.assertEqual(int(row["ipkt"]), RATE)
            self.assertEqual(int(row["ibyt"]), RATE * wanted["frame_length"])
            self.assertEqual(row["nh"], "10.0.0.254")
            self.assertEqual(int(row["svln"]), 12)
            self.assertEqual(int(row["dvln"]), 34)

    def test_sfacctd_reads_every_sample(self):
        self.need("sfacctd")
        output = pathlib.Path(self.folder.name, "flows.json")
        config = pathlib.Path(self.folder.name, "sfacctd.conf")
        config.write_text("\n".join([
            "daemonize: false", "sfacctd_ip: 127.0.0.1", f"sfacctd_port: {self.port}",
            "plugins: print",
            "aggregate: src_host, dst_host, src_port, dst_port, proto, in_iface, out_iface, "
            "sampling_rate",
            "print_output: json", f"print_output_file: {output}", "print_output_file_append: true",
            "print_refresh_time: 1", "print_history: 1m", "sfacctd_renormalize: false"]) + "\n")
        messages = self.send_to("sfacctd", "-f", str(config))
        self.assertTrue(wait_until(lambda: output.exists()), messages)
        flows = {}
        for line in output.read_text().splitlines():
            row = json.loads(line)
            if row.get("port_dst") == 4791:
                flows[row["ip_src"]] = row
        self.assertEqual(set(flows), set(expected()), messages)
        for source, wanted in expected().items():
            row = flows[source]
            self.assertEqual(row["ip_dst"], wanted["destination"])
            self.assertEqual(row["iface_in"], wanted["input"])
            self.assertEqual(row["iface_out"], wanted["output"])
            self.assertEqual(row["sampling_rate"], RATE)
            self.assertEqual(row["packets"], 1)


if __name__ == "__main__":
    if all(shutil.which(tool) is None for tool in ("sfcapd", "sfacctd")):
        print("skipped: neither sfcapd (nfdump-sflow) nor sfacctd (pmacct) is installed")
        sys.exit(77)
    generate = sys.argv.pop(1)
    unittest.main()
