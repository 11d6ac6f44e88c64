#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An appliance that receives mirrored packets from a network interface through libpcap, and sFlow:
one end of a veth pair is the mirror port, and the test sends frames to the other.

Only root can create a veth pair; the test is skipped for other users.

usage: interface_test.py PATH/rocescope
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import captures
import telemetry
from running_appliance import hear

ROCESCOPE = None
SKIPPED = 77
FLOWS, PACKETS = 5, 200  # packets of each flow
SFLOWS = 40
SECONDS = 3  # duration of the traffic; the analysis window is 1 s
FROM, TO = "10.0.0.1", "10.0.0.2"  # as captures.acknowledge has them
FABRIC = f"""
defaults: {{speed: 100G}}
switches: [{{name: leaf, tier: leaf, sflow_agent: 192.0.2.7, erspan_source: 192.0.2.1}}]
hosts:
  - {{name: a, nics: [{{device: eth0, addresses: {FROM}}}]}}
  - {{name: b, nics: [{{device: eth0, addresses: {TO}}}]}}
links: [["a:eth0", "leaf:Ethernet5"], ["b:eth0", "leaf:Ethernet6"]]
mirrors: [{{switch: leaf, session: 3, direction: ingress}}]
"""


def send_only(psn, qpn):
    """An RC SEND of 4 bytes: an ACK with another opcode."""
    frame = bytearray(captures.acknowledge(psn, qpn))
    frame[42] = 0x04
    return bytes(frame)


def mirrored(sequence, frame):
    """By ERSPAN type II of 192.0.2.1, session 3, port 5 (draft-foschiano-erspan-03, 4.2)."""
    erspan = struct.pack(">HIHHI", 0x88be, sequence, 0x1000, 3, 5)
    gre = bytes.fromhex("1000") + erspan + frame  # with a sequence number
    ip = bytes.fromhex("4500%04x00004000402f0000c0000201c0000264" % (20 + len(gre)))
    return bytes.fromhex("0200000000020200000000010800") + ip + gre


class Interface(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # Unique names with at most 15 bytes, the limit of the kernel.
        self.switch, self.mirror = (f"{end}{os.getpid()}" for end in ("rss", "rsm"))
        self.ip("link", "add", self.switch, "type", "veth", "peer", "name", self.mirror)
        self.addCleanup(lambda: self.ip("link", "del", self.switch, check=False))
        for end in (self.switch, self.mirror):
            # Otherwise, the kernel's neighbour discovery would be among the frames.
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
            self.ip("link", "set", end, "up")

    @staticmethod
    def ip(*words, check=True):
        subprocess.run(["ip", *words], check=check, capture_output=not check)

    @contextlib.contextmanager
    def appliance(self, interface_filter=""):
        """Yields the process when its dashboard is available."""
        (self.folder / "fabric.yaml").write_text(FABRIC)
        config = self.folder / "appliance.yaml"
        config.write_text(
            f'interfaces: [{{name: {self.mirror}, tap: port7, filter: "{interface_filter}"}}]\n'
            'topology: fabric.yaml\n'
            'udp: {sflow: ["127.0.0.1:0"], senders: ["127.0.0.1"]}\nhttp: "127.0.0.1:0"\ngrpc: {listen: []}\n')
        with subprocess.Popen([ROCESCOPE, "run", config], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            try:
                said = hear(self, run, "dashboard")
                self.page = said.split("http://")[1].split("/")[0]
                yield run
            finally:
                run.kill()

    def ask(self, path):
        with urllib.request.urlopen(f"http://{self.page}/api/v1/{path}", timeout=20) as answer:
            return json.load(answer)

    def sources(self):
        return {source["name"]: source for source in self.ask("sources")["sources"]}

    def send(self):
        """Sends mirrored packets of several flows and sFlow, alternating."""
        host, port = self.sources()["udp"]["listen_addresses"][0].split(":")
        with (socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire,
              socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent):
            wire.bind((self.switch, 0))
            for psn in range(PACKETS):
                for flow in range(FLOWS):
                    wire.send(mirrored(psn * FLOWS + flow, send_only(psn, 100 + flow)))
                if psn * SFLOWS % PACKETS == 0:
                    agent.sendto(telemetry.sflow(1 + psn * SFLOWS // PACKETS, psn),
                                 (host, int(port)))
                time.sleep(SECONDS / PACKETS)

    def await_received(self, name, frames):
        until = time.monotonic() + 20
        while int((source := self.sources()[name])["ledger"]["received"]) < frames:
            self.assertLess(time.monotonic(), until, source)
            time.sleep(0.1)
        ledger = source["ledger"]
        return int(ledger["received"]), int(ledger["decoded"]), ledger["dropped"], source["missed_frames"]

    def end(self, run):
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=50)
        self.assertEqual(run.returncode, 0, err)
        return out + err

    def flows_told(self):
        """The flows between the two hosts, by queue pair: their sources and packets."""
        flows = {}
        with contextlib.suppress(urllib.error.HTTPError):  # no snapshot yet
            for path in self.ask(f"paths?source={FROM}&destination={TO}")["paths"]:
                stretch, = path["intervals"]
                flows[path["destination_qpn"]] = (stretch["sources"], int(stretch["packets"]))
        return flows

    def test_all_frames_come_beside_sflow_and_their_flows_are_told(self):
        with self.appliance() as run:
            self.send()
            for name, sent in ((self.mirror, FLOWS * PACKETS), ("udp", SFLOWS)):
                self.assertEqual(self.await_received(name, sent), (sent, sent, [], "0"))
            # A sample represents a hundred packets.
            wanted = {17: (["SOURCE_SFLOW"], SFLOWS * 100)}
            wanted |= {100 + flow: (["SOURCE_MIRROR"], PACKETS) for flow in range(FLOWS)}
            until = time.monotonic() + 60
            while (flows := self.flows_told()) != wanted and time.monotonic() < until:
                time.sleep(0.1)
            self.assertEqual(flows, wanted)
            told = self.end(run)
        self.assertIn(f"{self.mirror}: received {FLOWS * PACKETS:,} = decoded {FLOWS * PACKETS:,} + "
                      "filtered 0 + dropped 0; 0 missed", told)

    def test_what_the_filter_leaves_out_does_not_come(self):
        with self.appliance("src host 10.0.0.2") as run:
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
                wire.bind((self.switch, 0))
                for psn in range(10):
                    wire.send(captures.acknowledge(psn))
                    wire.send(captures.acknowledge(psn, 200, "0a000002", "0a000001"))
            self.assertEqual(self.await_received(self.mirror, 10), (10, 10, [], "0"))
            told = self.end(run)
        self.assertIn(f"{self.mirror}: received 10 = decoded 10", told)

    def test_an_interface_that_goes_away_is_told(self):
        with self.appliance() as run:
            self.ip("link", "del", self.switch)
            until = time.monotonic() + 20
            while not self.sources()[self.mirror]["error"]:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.1)
            complaints = [(one["kind"], one["place"]) for one in self.ask("problems")["problems"]]
            self.assertIn(("source_ended", self.mirror), complaints)
            run.send_signal(signal.SIGTERM)
            run.communicate(timeout=50)


if __name__ == "__main__":
    ROCESCOPE = sys.argv.pop(1)
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: only root, with iproute2, makes a pair of virtual interfaces",
              file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
