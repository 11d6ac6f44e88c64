#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares mirrored TCP segments with tshark: checksums are right, sequence numbers are complete.

    foreign_traffic_test.py ROCESCOPE_SIM

Exit code 77: tshark is not installed.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

SCENARIO = """name: foreign
duration: 2ms
fabric: {generate: {shape: leaf-spine, hosts: 4, leaves: 2, spines: 2, host_speed: 100G, fabric_speed: 100G}}
foreign: [{from: host0, to: host3, load: 0.02, message: 5000}]
telemetry: {mirror: leaf, snap_length: 2000, nccl: none}
"""
FIELDS = ["tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len", "tcp.ack_raw",
          "tcp.checksum.status"]


def main():
    if shutil.which("tshark") is None:
        return 77
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "foreign.yaml").write_text(SCENARIO)
        subprocess.run([sys.argv[1], "run", directory / "foreign.yaml", "-d", directory / "run"],
                       check=True, stdout=subprocess.DEVNULL)
        shown = subprocess.run(
            ["tshark", "-r", directory / "run" / "mirror.pcap", "-o", "tcp.check_checksum:TRUE",
             "-Y", "tcp", "-T", "fields", *(word for field in FIELDS for word in ("-e", field))],
            check=True, capture_output=True, text=True)
    rows = [[int(field) for field in line.split("\t")] for line in shown.stdout.splitlines()]
    assert len(rows) > 20, len(rows)
    good = 1  # tshark's "Good"
    assert all(row[5] == good for row in rows), "a wrong TCP checksum"
    data = sorted({(row[2], row[3]) for row in rows if row[1] == 5201})
    assert data[0][0] == 0
    for (sequence, length), (following, _) in zip(data, data[1:]):
        assert sequence + length == following, (sequence, length, following)
    ends = {sequence + length for sequence, length in data}
    acknowledged = {row[4] for row in rows if row[0] == 5201}
    assert acknowledged and acknowledged <= ends
    return 0


if __name__ == "__main__":
    sys.exit(main())
