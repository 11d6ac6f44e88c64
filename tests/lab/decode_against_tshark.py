#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what `rocescope decode` and tshark read in the telemetry of Open vSwitch, field by field.

usage: decode_against_tshark.py PATH/rocescope TESTBEDS [--endpoint PATH] [--captures DIR] [UNITTEST ARGUMENT...]

Builds a small lab, captures it for ten seconds, and compares every packet of mirror.pcap (ERSPAN) and sflow.pcap
(sFlow with counter samples). --captures: a directory with these files, instead of a lab. Exit code 77 (skipped)
without tshark, or if no lab can be built (see lab_test.py).
"""

import collections
import functools
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tshark")]

import capture_file  # noqa: E402
import known  # noqa: E402
import lab_test  # noqa: E402
import tshark  # noqa: E402
import tshark_sflow  # noqa: E402

SECONDS = 10
MOST_SHOWN = 5  # differences that are printed
LONGEST_LINE = 500
# Names that decode derives from other keys.
OURS_ALONE = {"tap", "opcode_name"}
# 64-bit integers, which decode prints as strings.
TEXTS = {"ts_ns", "va", "swap", "compare", "atomic_ack", "speed", "in_octets", "out_octets"}
ERSPAN_VERSIONS = {"erspan2": 1, "erspan3": 2}

rocescope = folder = None


@functools.cache
def decoded(path):
    """The frames that decode prints, flattened: `sflow.samples.0.rate`."""
    run = subprocess.run([rocescope, "decode", str(path), "--icrc", "-o", "jsonl"], check=True,
                         capture_output=True, text=True)
    return [with_erspan_version(flatten(with_counts(json.loads(line)))) for line in run.stdout.splitlines()]


def with_counts(frame):
    """tshark prints the numbers of samples and records; decode prints as many of them. Records that tshark misreads
    are left out."""
    if "sflow" in frame:
        frame["sflow"]["sample_count"] = len(frame["sflow"]["samples"])
        for sample in frame["sflow"]["samples"]:
            if "records" in sample:
                sample["record_count"] = len(sample["records"])
                if sample["kind"] == "counters":
                    sample["records"] = tshark_sflow.comparable(sample["records"])
    return frame


def flatten(value, prefix=""):
    flat = {}
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, (dict, list)):
            flat |= flatten(item, f"{prefix}{key}.")
        elif key not in OURS_ALONE:
            flat[f"{prefix}{key}"] = int(item) if key in TEXTS else item
    return flat


# ERSPAN

EXTRA_FIELDS = ["erspan.vlan", "infiniband.invariant.crc"]


@functools.cache
def mirrored(path):
    """The frames of mirror.pcap according to tshark, its protocols, and whether it reports each as malformed."""
    tshark.FIELDS += [field for field in EXTRA_FIELDS if field not in tshark.FIELDS]
    found = []
    rows = [tshark.Row(fields) for fields in tshark.read(path)]
    malformed = tshark.malformed(path)
    packets = capture_file.read(path)[1]
    if len(rows) != len(packets):
        raise AssertionError(f"{path}: tshark reads {len(rows)} of {len(packets)} frames")
    for number, (row, (_, data)) in enumerate(zip(rows, packets), 1):
        frame = tshark.describe(row.fields)
        if frame is None:
            frame = {"frame": number, "not_roce": True}
        else:
            frame["mirror.version"] = row.first("erspan.version")
            frame["mirror.header_vlan"] = row.first("erspan.vlan")
            frame["icrc_ok"] = icrc_is_right(row, data)
        found.append((frame, row.protocols, number in malformed))
    return found


def icrc_is_right(row, data):
    """Whether the ICRC that tshark shows is that of the innermost IP packet (IBTA vol. 1, annex A17.3.3)."""
    at = 14 + 20 + 8 + 8 + 14  # the outer Ethernet, IP and GRE headers, ERSPAN type II, Ethernet
    length = struct.unpack_from(">H", data, at + 2)[0]
    packet = bytearray(data[at:at + length - tshark.ICRC_SIZE])
    for position in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, both checksums, FECN and BECN
        packet[position] = 0xff
    shown = row.last("infiniband.invariant.crc")
    return zlib.crc32(b"\xff" * 8 + packet) == int.from_bytes(shown.to_bytes(4, "big"), "little")


def with_erspan_version(frame):
    """decode shows the version of ERSPAN as the kind, and the VLAN only if the frame has one."""
    if frame.get("mirror.kind") in ERSPAN_VERSIONS:
        frame["mirror.version"] = ERSPAN_VERSIONS[frame["mirror.kind"]]
        frame["mirror.header_vlan"] = frame.get("vlan", 0)
    return frame


# Comparison

class Result:
    def __init__(self, name):
        self.name, self.packets, self.fields = name, 0, 0
        self.keys = collections.Counter()
        self.differences = []
        self.explained = collections.Counter()

    def add(self, ours, theirs, protocols=(), malformed=False):
        keys = ours.keys() | theirs.keys()
        self.packets += 1
        self.fields += len(keys)
        self.keys.update(generic(key) for key in keys)
        wrong = {key for key in keys if ours.get(key) != theirs.get(key)}
        if wrong or malformed:
            difference = known.Difference(ours, theirs, list(protocols), malformed, wrong)
            if "opcode" in ours:
                unexplained, explained = known.explain([difference])
                self.differences += unexplained
                self.explained += explained
            else:
                self.differences.append(difference)

    def show(self):
        print(f"{self.name}: {self.packets} packets, {self.fields} fields ({len(self.keys)} different ones), "
              f"{len(self.differences)} packets differ", file=sys.stderr)
        for case, count in sorted(self.explained.items()):
            print(f"  {count} differences caused by tshark: {case}", file=sys.stderr)
        for difference in self.differences[:MOST_SHOWN]:
            print(f"  {str(difference)[:LONGEST_LINE]}", file=sys.stderr)
        if len(self.differences) > MOST_SHOWN:
            print(f"  and {len(self.differences) - MOST_SHOWN} more", file=sys.stderr)


def generic(key):
    """Without the numbers of samples and records."""
    return ".".join(part for part in key.split(".") if not part.isdigit())


@functools.cache
def sampled(path):
    """The frames of sflow.pcap according to tshark, as for `mirrored`."""
    return [(flatten(frame), [], False) for frame in tshark_sflow.read(path)]


def compare(path, read_theirs):
    ours, theirs = decoded(path), read_theirs(path)
    result = Result(path.name)
    if len(ours) != len(theirs):
        raise AssertionError(f"{path}: decode prints {len(ours)} frames, tshark {len(theirs)}")
    for frame, (other, protocols, malformed) in zip(ours, theirs):
        result.add(frame, other, protocols, malformed)
    return result


class Comparison(unittest.TestCase):
    maxDiff = None

    def agrees(self, result, expected):
        result.show()
        self.assertGreater(result.packets, 0)
        self.assertEqual(len(result.differences), 0, "differences are listed above")
        self.assertEqual(set(), set(expected) - result.keys.keys(), "fields that no packet has")

    def test_erspan_agrees(self):
        self.agrees(compare(folder / "mirror.pcap", mirrored), """
            mirror.kind mirror.version mirror.session mirror.port_index mirror.truncated mirror.sequence
            mirror.header_vlan src_ip dst_ip dscp ecn ttl udp_sport opcode dest_qp psn ack_req se mig fecn becn pad pkey
            payload_len wirelen caplen ts_ns reth.va reth.rkey reth.length aeth.syndrome aeth.msn aeth.kind imm
            icrc_ok""".split())

    def test_sflow_agrees(self):
        self.agrees(compare(folder / "sflow.pcap", sampled), """
            src_ip dst_ip sflow.agent sflow.sub_agent sflow.sequence sflow.uptime_ms sflow.sample_count
            sflow.samples.enterprise sflow.samples.format sflow.samples.length sflow.samples.kind
            sflow.samples.sequence sflow.samples.source_class sflow.samples.source_index sflow.samples.rate
            sflow.samples.pool sflow.samples.drops sflow.samples.input sflow.samples.output
            sflow.samples.output_format sflow.samples.records.length sflow.samples.records.header_length
            sflow.samples.records.frame_length sflow.samples.records.stripped sflow.samples.records.packet.psn
            sflow.samples.records.packet.dest_qp sflow.samples.records.packet.aeth.msn
            sflow.samples.records.in_octets sflow.samples.records.out_unicast sflow.samples.records.status
            """.split())

    def test_mirrors_are_those_of_the_topology(self):
        """tshark and decode agree on the port; this checks that it is the right one."""
        if not (folder / "topology.yaml").exists():
            self.skipTest("no topology.yaml")
        topology = json.loads((folder / "topology.yaml").read_text())
        numbers = {f"{one['name']}:{port['name']}": port["number"] for one in topology["switches"]
                   for port in one["ports"]}
        sessions = {(one["session"], numbers[f"{one['switch']}:{port}"]) for one in topology["mirrors"]
                    for port in one["ports"]}
        found = {(frame["mirror.session"], frame["mirror.port_index"]) for frame in decoded(folder / "mirror.pcap")
                 if "mirror.session" in frame}
        self.assertEqual(set(), found - sessions)

    def test_a_wrong_value_is_found(self):
        """Each value of the packet with the most fields is changed in turn."""
        for name, read_theirs in (("mirror.pcap", mirrored), ("sflow.pcap", sampled)):
            ours = decoded(folder / name)
            longest = max(range(len(ours)), key=lambda number: len(ours[number]))
            other, protocols, malformed = read_theirs(folder / name)[longest]
            for key, value in ours[longest].items():
                result = Result(name)
                result.add(ours[longest] | {key: wrong_value(value)}, other, protocols, malformed)
                self.assertEqual(len(result.differences), 1, f"{name}: a wrong {key} is not found")


def wrong_value(value):
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value + "?"


def capture(target, endpoint):
    lab_test.lab("up", *lab_test.SMALL, "--http", lab_test.free_port(), "--grpc", lab_test.free_port(),
                 "--sflow-polling", "2", "--rocescope", rocescope, "--endpoint", endpoint)
    lab_test.lab("capture", "-d", target, "--seconds", SECONDS)


def main():
    global rocescope, folder
    rocescope = str(pathlib.Path(sys.argv.pop(1)).resolve())
    lab_test.lab_program = pathlib.Path(sys.argv.pop(1)).resolve() / "lab"
    options = {}
    while sys.argv[1:2] in (["--endpoint"], ["--captures"]):
        name, value = sys.argv[1:3]
        options[name] = pathlib.Path(value).resolve()
        del sys.argv[1:3]
    reason = None if shutil.which("tshark") else "tshark is missing (docker/install_packages tshark)"
    if not reason and "--captures" not in options:
        reason = lab_test.why_not()
        if not reason and "--endpoint" not in options:
            reason = "rocescope-lab-endpoint is not built"
    if reason:
        print(f"skipped: {reason}")
        return lab_test.SKIPPED
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.get("--captures", pathlib.Path(temporary))
        if "--captures" not in options:
            try:
                capture(folder, options["--endpoint"])
            finally:
                lab_test.lab("down")
        return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
