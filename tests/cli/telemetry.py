# SPDX-License-Identifier: BSD-3-Clause
"""INT reports, sFlow and run directories for tests of the command line, encoded according to the
specifications (P4.org's Telemetry Report Format 2.0; sflow.org's sFlow version 5)."""

import json
import struct

import captures

INT_PORT, SFLOW_PORT = 32766, 6343


def udp(port, payload, source="c0000201", destination="c0000264"):
    total = 28 + len(payload)
    ip = bytes.fromhex("4500%04x0000400040110000" % total) + bytes.fromhex(source + destination)
    return (bytes.fromhex("0200000000020200000000010800") + ip +
            struct.pack(">HHHH", 50000, port, 8 + len(payload), 0) + payload)


def postcard(sequence, psn, time_ns, node=1001):
    """Ports 7 to 9, queue 3 with 4096 bytes, ingress timestamp, and the headers of an ACK."""
    inner = captures.acknowledge(psn)
    inner += bytes(-len(inner) % 4)
    main = struct.pack(">HHHH", 0x5800, 0, 0, 0)  # bits 1, 3 and 4
    metadata = struct.pack(">HHIQ", 7, 9, 3 << 24 | 4096, time_ns)
    body = main + metadata + inner
    return (struct.pack(">II", 2 << 28 | sequence, node) +
            bytes([0x13, len(body) // 4, len(metadata) // 4, 0x20]) + body)


def sflow(sequence, psn, frame_length=66):
    """A flow sample of an ACK, sampling rate 100, from interface 5 to 6; agent 192.0.2.7."""
    front = captures.acknowledge(psn)
    header = struct.pack(">IIII", 1, frame_length, 4, len(front)) + front + bytes(-len(front) % 4)
    record = struct.pack(">II", 1, len(header)) + header
    sample = struct.pack(">IIIIIIII", 1, 5, 100, 100, 0, 5, 6, 1) + record
    return (struct.pack(">IIIIIII", 5, 1, 0xc0000207, 0, sequence, 1000, 1) +
            struct.pack(">II", 1, len(sample)) + sample)


def capture(frames):
    """Takes (time, bytes)."""
    return captures.header() + b"".join(captures.record(*frame) for frame in frames)


def counter_line(time_ns, value):
    return json.dumps({"time_ns": time_ns, "kind": "port",
                       "entity": {"node": "leaf0", "port": "Ethernet4", "priority": 3},
                       "metrics": {"pfc_rx": value}}) + "\n"


def manifest(**changes):
    values = {"schema_version": 1, "scenario": "test", "seed": 1, "epoch_ns": captures.FIRST_NS,
              "duration_ns": 10**9, "record_interval_ns": 10**6, "analysis_window_ns": 10**6,
              "counter_period_ns": 10**6, "time_scale": 1,
              "ports": {"int_reports": INT_PORT, "int_md": 555, "sflow": SFLOW_PORT},
              "telemetry": {"mirror": True, "int_reports": True, "sflow": True, "counters": True,
                            "nccl_logs": False, "rdma": False}}
    return json.dumps({**values, **changes}).encode()
