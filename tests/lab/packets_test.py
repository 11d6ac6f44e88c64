#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets, replay, relay and regression suite of testbeds/ovs_lab. packets_test.py TESTBEDS [UNITTEST ARGUMENT...]"""

import pathlib
import random
import struct
import tempfile
import unittest

import lab_modules  # noqa: F401 (the modules of the lab, below, need it)
import sender
from shown_fabric import shown

import build
import regression
import replay
import roce_packets
from fabric import Fabric
from problem import Problem
from relay import Delay


def pcap(*frames, magic=0xa1b2c3d4, link=1):
    """Frames of (time in us, bytes, original length)."""
    records = (struct.pack("<IIII", time // 10**6, time % 10**6, len(data), original) + data
               for time, data, original in frames)
    return struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, link) + b"".join(records)


class RocePacketsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.frame = sender.packet("192.0.2.1", "192.0.2.2", 50000, 17, 5, bytes(64))

    def write(self, content):
        path = pathlib.Path(self.folder.name, "capture.pcap")
        path.write_bytes(content)
        return path

    def read(self, *frames):
        return roce_packets.roce_packets(self.write(pcap(*((5, frame, len(frame)) for frame in frames))))

    def problem(self, content):
        with self.assertRaises(Problem) as raised:
            roce_packets.roce_packets(self.write(content))
        return str(raised.exception)

    def test_the_packet_with_other_addresses_is_the_one_that_these_hosts_send(self):
        (packet,), _ = self.read(self.frame)
        expected = sender.packet("10.0.0.1", "10.0.0.4", 50000, 17, 5, bytes(64))[14:]
        self.assertEqual(roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.4").data, expected)

    def test_a_wrong_icrc_stays_as_it_is(self):
        wrong = self.frame[:-1] + bytes([self.frame[-1] ^ 1])
        (packet,), _ = self.read(wrong)
        changed = roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.4")
        self.assertEqual(changed.data[-4:], wrong[-4:])
        self.assertFalse(changed.has_right_icrc)
        self.assertEqual(roce_packets.checksum(changed.data[:20]), 0)

    def test_a_udp_checksum_becomes_right(self):
        frame = self.frame[:40] + b"\1\2" + self.frame[42:]
        (packet,), _ = self.read(frame)
        data = roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.4").data
        pseudo = data[12:20] + struct.pack(">BBH", 0, 17, len(data) - 20)
        self.assertEqual(roce_packets.checksum(pseudo + data[20:]), 0)

    def test_vlan_tags_and_padding_are_removed_and_other_frames_counted(self):
        tagged = self.frame[:12] + b"\x81\0\0\x05" + self.frame[12:] + bytes(7)
        arp = self.frame[:12] + b"\x08\x06" + bytes(40)
        (packet,), others = self.read(tagged, arp)
        self.assertEqual((packet.data, others), (self.frame[14:], 1))
        self.assertEqual(packet.flow, ("192.0.2.1", "192.0.2.2", 50000, 17))

    def test_unusable_input_is_described(self):
        whole = pcap((5, self.frame, len(self.frame)))
        for content, words in ((b"text", "not a capture in pcap format"), (b"", "not a capture"),
                               (b"\x0a\x0d\x0d\x0a" + bytes(40), "editcap -F pcap"),
                               (whole[:-1], "ends within frame 1"), (whole + b"1", "ends within frame 2"),
                               (pcap(), "no RoCEv2 packets over IPv4 in 0 frames"),
                               (pcap((5, self.frame, 10), link=113), "link type is 113"),
                               (pcap((5, self.frame[:80], len(self.frame))),
                                f"frame 1 is truncated to 80 of {len(self.frame)} bytes")):
            self.assertIn(words, self.problem(content))
        with self.assertRaisesRegex(Problem, "No such file"):
            roce_packets.read_capture(pathlib.Path(self.folder.name, "missing"))

    def test_any_bytes_are_read_or_refused(self):
        dice = random.Random(1)
        for _ in range(2000):
            content = bytearray(pcap((5, self.frame, len(self.frame))))
            for _ in range(dice.randint(1, 5)):
                content[dice.randrange(len(content))] = dice.randrange(256)
            try:
                packets, _ = roce_packets.roce_packets(self.write(content[:dice.randint(0, len(content))]))
            except Problem:
                continue
            for packet in packets:
                roce_packets.with_addresses(packet, "10.0.0.1", "10.0.0.2")


class ReplayTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())
        frame = sender.packet("192.0.2.1", "192.0.2.2", 50000, 17, 5, bytes(64))
        self.packets = [roce_packets.Packet(0, frame[14:])]

    def map(self, *given):
        return {old: host.name for old, host in replay.map_addresses(self.fabric, self.packets, given).items()}

    def test_addresses_become_hosts_on_alternating_leaves(self):
        hosts = [host.name for host in replay.alternating(self.fabric)]
        self.assertEqual(sorted(hosts), sorted(self.fabric.hosts))
        self.assertNotEqual(self.fabric.leaf_of(hosts[0]), self.fabric.leaf_of(hosts[1]))
        self.assertEqual(self.map(), {"192.0.2.1": hosts[0], "192.0.2.2": hosts[1]})
        self.assertEqual(self.map(f"192.0.2.2={hosts[0]}"), {"192.0.2.2": hosts[0], "192.0.2.1": hosts[1]})

    def test_a_wrong_map_is_described(self):
        for given, words in ((["192.0.2.1"], "no such host"), (["x=host0"], "expected OLD=HOST"),
                             (["192.0.2.9=host0"], "no RoCEv2 packet has the address 192.0.2.9"),
                             (["192.0.2.1=host99"], "no such host"),
                             (["192.0.2.1=host0", "192.0.2.1=host1"], "mapped twice"),
                             (["192.0.2.1=host0", "192.0.2.2=host0"], "already mapped to host0")):
            with self.assertRaisesRegex(Problem, words):
                self.map(*given)

    def test_too_few_hosts_are_described(self):
        frames = [sender.packet(f"192.0.2.{one}", "192.0.2.200", 50000, 17, 5, b"") for one in range(1, 20)]
        self.packets = [roce_packets.Packet(0, frame[14:]) for frame in frames]
        with self.assertRaisesRegex(Problem, "build a lab with --hosts 20"):
            self.map()


class RelayTest(unittest.TestCase):
    def test_frames_are_sent_in_order_after_their_delay(self):
        delay = Delay(1.0, 2.0, False, iter([1.0, 0.0]).__next__)
        delay.add("a", 10)
        delay.add("b", 11)
        self.assertEqual(delay.next_due(), 13)
        self.assertEqual(list(delay.take_due(12.9)), [])
        self.assertEqual(list(delay.take_due(13)), ["a", "b"])

    def test_frames_may_overtake_each_other(self):
        delay = Delay(1.0, 2.0, True, iter([1.0, 0.0]).__next__)
        delay.add("a", 10)
        delay.add("b", 11)
        self.assertEqual(list(delay.take_due(12)), ["b"])
        self.assertEqual(list(delay.take_due(13)), ["a"])


class RegressionTest(unittest.TestCase):
    FAULT = {"kind": "gray_loss", "place": "a:1-b:1", "start_ns": 10**9, "end_ns": 9 * 10**9, "visible_ns": 10**9}
    FOUND = {"kind": "gray_loss", "place": "a:1-b:1", "start_time": "1970-01-01T00:00:02Z",
             "detection_time": "1970-01-01T00:00:03Z", "confidence": 0.9}

    def differences(self, faults, findings):
        return regression.differences({"faults": faults}, {"findings": findings})

    def test_the_options_of_its_lab_are_complete(self):
        build.Options(**regression.SMALL, http=1, grpc=2, rocescope=None, endpoint=None)

    def test_a_run_is_right_only_with_the_right_findings(self):
        self.assertEqual(self.differences([], []), [])
        self.assertEqual(self.differences([self.FAULT], [self.FOUND]), [])
        self.assertEqual(self.differences([self.FAULT], []), ["gray_loss at a:1-b:1: missed; 0 frames affected"])
        self.assertEqual(self.differences([], [self.FOUND]), ["false finding: gray_loss at a:1-b:1, confidence 0.90"])
        self.assertIn("wrong place", self.differences([self.FAULT], [self.FOUND | {"place": "a:2-b:2"}])[0])


if __name__ == "__main__":
    unittest.main()
