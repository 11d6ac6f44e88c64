#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares rocescope-generate's ground truth with what tshark reads in the same capture.

usage: generate_test.py PATH/rocescope-generate [UNITTEST ARGUMENT...]
"""

import collections
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GENERATE = ""
SMALL = ["--packets", "20000", "--qps", "400", "--hosts", "32", "--gap", "0.01"]

# IBTA vol. 1, table 38.
MESSAGE_STARTS = {0, 4, 5, 6, 10, 11, 12}
READ_REQUEST, RESPONSE_FIRST, RESPONSE_LAST, RESPONSE_ONLY = 12, 13, 15, 16
RESPONSES = {13, 14, 15, 16}
ACKNOWLEDGE, CNP = 17, 129
RETH, AETH, IMMEDIATE = {6, 10, 11, 12}, {13, 15, 16, 17}, {3, 5, 9, 11}
BTH_SIZE, UDP_SIZE, ICRC_SIZE, CNP_RESERVED = 12, 8, 4, 16
PSN_MASK = 0xFFFFFF

FIELDS = ["frame.len", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.dsfield.ecn",
          "ipv6.tclass.ecn", "udp.length", "infiniband.bth.opcode", "infiniband.bth.destqp",
          "infiniband.bth.psn", "infiniband.bth.padcnt", "frame.time_epoch"]

Packet = collections.namedtuple("Packet", "length flow ecn opcode psn payload time")


def generate(folder, *arguments):
    path = pathlib.Path(folder, "capture.pcap")
    subprocess.run([GENERATE, str(path), *arguments], check=True)
    return path, json.loads(pathlib.Path(f"{path}.truth.json").read_text())


def tshark(path, *arguments):
    # tshark assumes that a SEND may be RPC-over-RDMA and reads past the end of a SEND that is
    # shorter than that protocol's header.
    command = ["tshark", "-nr", str(path), "--disable-protocol", "rpcordma", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def payload_of(opcode, udp_length, pad):
    if opcode == CNP:
        return 0
    extensions = 16 * (opcode in RETH) + 4 * (opcode in AETH) + 4 * (opcode in IMMEDIATE)
    return udp_length - UDP_SIZE - BTH_SIZE - extensions - pad - ICRC_SIZE


def packets_of(path):
    options = [argument for field in FIELDS for argument in ("-e", field)]
    text = tshark(path, "-T", "fields", "-E", "occurrence=l", *options)
    for line in text.splitlines():
        (length, ip_src, ip_dst, ip6_src, ip6_dst, ecn, ecn6, udp_length, opcode, queue_pair, psn,
         pad, time) = line.split("\t")
        opcode = int(opcode)
        yield Packet(length=int(length), flow=(ip6_src or ip_src, ip6_dst or ip_dst,
                                               int(queue_pair, 0)),
                     ecn=int(ecn6 or ecn), opcode=opcode, psn=int(psn), time=time,
                     payload=payload_of(opcode, int(udp_length), int(pad or 0)))


def skipped_psns(packets):
    """The PSNs of requests and of READ responses that are missing between two captured ones."""
    # A READ uses as many PSNs as its response has packets.
    response_start, read_size = {}, {}
    responses = 0
    response_expected = {}
    for packet in packets:
        if packet.opcode not in RESPONSES:
            continue
        if packet.opcode in (RESPONSE_FIRST, RESPONSE_ONLY):
            response_start[packet.flow] = packet.psn
        else:
            responses += (packet.psn - response_expected[packet.flow]) & PSN_MASK
        response_expected[packet.flow] = packet.psn + 1
        if packet.opcode in (RESPONSE_LAST, RESPONSE_ONLY):
            start = response_start[packet.flow]
            read_size[packet.flow[1], packet.flow[0], start] = ((packet.psn - start) & PSN_MASK) + 1
    requests = 0
    expected = {}
    for packet in packets:
        if packet.opcode in RESPONSES or packet.opcode in (ACKNOWLEDGE, CNP):
            continue
        requests += (packet.psn - expected.get(packet.flow, packet.psn)) & PSN_MASK
        size = 1
        if packet.opcode == READ_REQUEST:
            size = read_size.get((packet.flow[0], packet.flow[1], packet.psn), 1)
        expected[packet.flow] = packet.psn + size
    return requests, responses


def counts_of(packets, mirror_size):
    requests, responses = skipped_psns(packets)
    return {
        "packets": len(packets),
        "wire_bytes": sum(packet.length - mirror_size for packet in packets),
        "payload_bytes": sum(packet.payload for packet in packets),
        "messages": sum(packet.opcode in MESSAGE_STARTS for packet in packets),
        "ce_marks": sum(packet.ecn == 3 for packet in packets),
        "cnps": sum(packet.opcode == CNP for packet in packets),
        "acks": sum(packet.opcode == ACKNOWLEDGE for packet in packets),
        "request_psns_skipped": requests,
        "response_psns_skipped": responses,
        "flows": len({packet.flow for packet in packets}),
    }


class GenerateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def expect_agreement(self, *arguments, mirror_size=0):
        path, truth = generate(self.folder, *SMALL, *arguments)
        packets = list(packets_of(path))
        counts = counts_of(packets, mirror_size)
        self.assertEqual(counts, {name: truth["totals"][name] for name in counts})
        self.assertEqual(tshark(path, "-Y", "_ws.malformed"), "")
        times = [packet.time for packet in packets]
        self.assertEqual(times, sorted(set(times)), "event times increase")
        flows = collections.Counter(packet.flow for packet in packets)
        for flow in truth["top_flows"]:
            key = flow["source_ip"], flow["destination_ip"], flow["destination_qpn"]
            self.assertEqual(flows[key], flow["packets"], key)

    def test_truth_of_snapped_frames(self):
        self.expect_agreement("--snap", "128")

    def test_truth_of_whole_frames(self):
        self.expect_agreement("--snap", "65535")

    def test_truth_of_mirrored_frames_and_ipv6(self):
        # Ethernet 14, IPv4 20, GRE with a sequence number 8, ERSPAN III 12, sub-header 8.
        self.expect_agreement("--snap", "192", "--erspan", "--ipv6", "0.4", mirror_size=62)

    def test_has_the_requested_properties(self):
        _, truth = generate(self.folder, "--packets", "200000", "--qps", "2000")
        totals = truth["totals"]
        data = totals["packets"] - totals["acks"] - totals["cnps"]
        self.assertAlmostEqual(totals["ce_marks"] / data, 0.05, delta=0.005)
        self.assertAlmostEqual(totals["cnps"] / totals["packets"], 0.01, delta=0.001)
        # Runs of 1 to 4 PSNs (2.5 on average) after one in a thousand packets.
        self.assertAlmostEqual(totals["request_psns_skipped"] / data, 0.0025, delta=0.0007)
        # Zipf, exponent 1: the first of 1000 connections has 1 / H(1000) = 13.4 % of the packets.
        first = sum(flow["packets"] for flow in truth["top_flows"][:2])
        self.assertAlmostEqual(first / totals["packets"], 0.134, delta=0.01)

    def test_same_parameters_give_the_same_bytes(self):
        def digest(*arguments):
            path, _ = generate(self.folder, *SMALL, *arguments)
            return hashlib.sha256(path.read_bytes()).digest()

        first = digest("--seed", "5")
        self.assertEqual(digest("--seed", "5"), first)
        self.assertNotEqual(digest("--seed", "6"), first)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if shutil.which("tshark") is None:
        print("skipped: tshark is not installed (docker/packages.txt, section test)")
        sys.exit(77)
    GENERATE = sys.argv.pop(1)
    unittest.main()
