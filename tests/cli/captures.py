# SPDX-License-Identifier: BSD-3-Clause
"""Small captures for tests of the command line."""

import struct

NANOSECOND_MAGIC = 0xa1b23c4d
ETHERNET, WIFI = 1, 105
FIRST_NS = 1_714_564_800_000_000_000  # 2024-05-01T12:00:00Z


def header(link_type=ETHERNET):
    return struct.pack("<IHHiIII", NANOSECOND_MAGIC, 2, 4, 0, 0, 262144, link_type)


def record(time_ns, octets, length=0):
    """`length`: bytes on the wire, if more than were captured."""
    return struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(octets),
                       max(length, len(octets))) + octets


def acknowledge(psn, qpn=17, source="0a000001", destination="0a000002"):
    """An RC ACKNOWLEDGE: Ethernet, IPv4, UDP 49152 to 4791, BTH, AETH, a wrong iCRC."""
    transport = bytes.fromhex("1140ffff00%06x00%06x" % (qpn, psn)) + bytes.fromhex("1f000001")
    udp = struct.pack(">HHHH", 49152, 4791, 8 + len(transport) + 4, 0)
    total = 20 + 8 + len(transport) + 4
    ip = bytes.fromhex("4568%04x0000400040110000" % total) + bytes.fromhex(source + destination)
    return bytes.fromhex("0200000000020200000000010800") + ip + udp + transport + bytes(4)


def arp():
    return bytes.fromhex("ffffffffffff0200000000010806") + bytes(46)


def capture(count=3, start=FIRST_NS, step=2_000_000_000, **fields):
    """`count` ACKs with PSNs from 0, `step` nanoseconds apart."""
    return header() + b"".join(record(start + n * step, acknowledge(n, **fields))
                               for n in range(count))
