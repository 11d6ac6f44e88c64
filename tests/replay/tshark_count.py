# SPDX-License-Identifier: BSD-3-Clause
"""Packets, messages and bytes of each flow according to tshark. A packet in several captures counts
once. For captures without retransmissions."""

import collections
import dataclasses
import functools
import subprocess

FIELDS = ("ip.src ip.dst infiniband.bth.destqp infiniband.bth.psn infiniband.bth.opcode "
          "infiniband.bth.padcnt udp.length frame.len").split()

# RC: bytes after the BTH (IBTA vol. 1, table 38).
WRITE_HEADERS = {6: 16, 7: 0, 8: 0, 9: 4, 10: 16, 11: 20}
WRITE_BEGINS = {6, 10, 11}  # FIRST, ONLY, ONLY with immediate
ACKNOWLEDGE = 17
UDP, BTH, ICRC = 8, 12, 4


@dataclasses.dataclass
class Count:
    packets: int = 0
    octets: int = 0  # on the wire
    writes: int = 0
    acknowledges: int = 0
    messages: int = 0
    payload: int = 0


@functools.cache
def packets(path):
    """[(packet identity, padding, UDP length, frame length)]"""
    command = ["tshark", "-nr", str(path), "-Y", "infiniband.bth", "-T", "fields"]
    for field in FIELDS:
        command += ["-e", field]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = []
    for line in text.splitlines():
        source, destination, *numbers = line.split("\t")
        qpn, psn, opcode, pad, udp, size = (int(n, 16 if n.startswith("0x") else 10)
                                            for n in numbers)
        found.append(((source, destination, qpn, psn, opcode), pad, udp, size))
    return found


def flows(paths):
    """{(source, destination, destination QPN): Count}"""
    counts = collections.defaultdict(Count)
    seen = set()
    for path in paths:
        for key, pad, udp, size in packets(path):
            if key in seen:
                continue
            seen.add(key)
            source, destination, qpn, _, opcode = key
            count = counts[source, destination, qpn]
            count.packets += 1
            count.octets += size
            if opcode == ACKNOWLEDGE:
                count.acknowledges += 1
                continue
            count.writes += 1
            count.messages += opcode in WRITE_BEGINS
            count.payload += udp - UDP - BTH - WRITE_HEADERS[opcode] - pad - ICRC
    return dict(counts)
