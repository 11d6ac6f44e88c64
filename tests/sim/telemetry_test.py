#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests a simulated fabric's sFlow against tshark, and its INT reports against the field widths of the
specification.

    telemetry_test.py ROCESCOPE_SIM SCENARIO
"""

import collections
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
FCS, ETHERNET, IPV4, UDP = 4, 14, 20, 8
PORTS, LATENCY, QUEUE, INGRESS_TIME, EGRESS_TIME = 0x4000, 0x2000, 0x1000, 0x0800, 0x0400


def fields(capture, *names, display_filter=None):
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "occurrence=a"]
    for name in names:
        command += ["-e", name]
    if display_filter:
        command += ["-Y", display_filter]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [[cell.split(",") if cell else [] for cell in line.split("\t")]
            for line in done.stdout.splitlines()]


def check_sflow(capture):
    broken = fields(capture, "frame.number", display_filter="_ws.malformed")
    assert not broken, f"tshark finds datagrams {broken[:5]} malformed"
    sequences = collections.defaultdict(list)
    samples = 0
    for agent, sequence, tags, lengths, opcodes, ip_lengths in fields(
            capture, "sflow_245.agent", "sflow_245.sequence_number", "sflow_245.sampletype",
            "sflow_245.header.frame_length", "infiniband.bth.opcode", "ip.len"):
        sequences[agent[0]].append(int(sequence[0]))
        of_packets = tags.count("1")
        assert len(opcodes) == len(lengths) == of_packets, "tshark does not decode a sampled packet as RoCE"
        # The first length is that of the datagram itself.
        for length, ip_length in zip(lengths, ip_lengths[1:], strict=True):
            assert int(length) == ETHERNET + int(ip_length) + FCS
        samples += of_packets
    assert samples > 100
    for agent, numbers in sequences.items():
        assert numbers == list(range(1, len(numbers) + 1)), f"{agent}: {numbers}"


def frames(capture):
    """Arrival time and bytes of each frame of a nanosecond capture."""
    data = capture.read_bytes()
    magic, = struct.unpack_from("<I", data)
    assert magic == 0xA1B23C4D
    at = 24
    while at < len(data):
        seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + nanoseconds, data[at + 16:at + 16 + length]
        at += 16 + length


def check_int(capture):
    """Telemetry Report Format v2.0: 3.2 group header, 3.3 individual report, 3.3.1 its main part."""
    sequences = collections.defaultdict(int)
    arrived = 0
    for time, frame in frames(capture):
        assert time >= arrived
        arrived = time
        report = frame[ETHERNET + IPV4 + UDP:]
        first, node, kinds, words, metadata_words, _, bits = struct.unpack_from(">IIBBBBH", report)
        assert first >> 28 == 2, "version"
        assert first & 0x3FFFFF == sequences[node], "sequence"
        sequences[node] += 1
        assert kinds == 1 << 4 | 3, "not INT with an inner Ethernet frame"
        assert 12 + 4 * words == len(report)
        assert bits == PORTS | LATENCY | QUEUE | INGRESS_TIME | EGRESS_TIME
        assert metadata_words == 3 + 2 + 2
        ingress, egress, latency, queue, came, left = struct.unpack_from(">HHIIQQ", report, 20)
        assert ingress and egress and ingress != egress
        assert latency == left - came or latency == left - came + 1 or latency == left - came - 1
        assert queue >> 24 in (3, 6)
        assert came <= left < time
        assert report[48 + 12:48 + 14] == b"\x08\x00", "the inner frame is not IPv4"
    assert len(sequences) > 1 and sum(sequences.values()) > 100


def main():
    if shutil.which("tshark") is None:
        print("skipped: tshark is not installed")
        return SKIPPED
    program, scenario = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        text = pathlib.Path(scenario).read_text()
        text, count = re.subn(r"^telemetry: \{", "telemetry: {int_exponent: 3, sflow_rate: 16, ",
                              text, flags=re.M)
        assert count == 1
        (directory / "scenario.yaml").write_text(text)
        subprocess.run([program, "run", directory / "scenario.yaml", "-d", directory / "run"],
                       check=True)
        check_sflow(directory / "run" / "sflow.pcap")
        check_int(directory / "run" / "int.pcap")
    return 0


if __name__ == "__main__":
    sys.exit(main())
