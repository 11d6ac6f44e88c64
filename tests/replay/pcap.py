# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes captures: little-endian microsecond pcap over Ethernet (tcpdump)."""

import dataclasses
import struct

HEADER = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1)
ROCE_PORT = 4791
# Bytes of Ethernet, IPv4 without options and UDP, then the BTH's PSN and the RETH after the BTH
# (IBTA vol. 1, 9.2, 9.3).
ETHERNET, IP_UDP, BTH = 14, 28, 12
RETH_BEGINS = {6, 10, 11}  # RC: WRITE FIRST, ONLY, ONLY with immediate


@dataclasses.dataclass
class Frame:
    time_us: int
    octets: bytes
    length: int  # on the wire

    def is_roce(self):
        octets = self.octets
        return (len(octets) >= ETHERNET + IP_UDP + BTH and octets[12:14] == b"\x08\x00" and
                octets[14] == 0x45 and octets[23] == 17 and
                struct.unpack_from(">H", octets, 36)[0] == ROCE_PORT)

    def opcode(self):
        return self.octets[ETHERNET + IP_UDP]

    def later(self, microseconds):
        return dataclasses.replace(self, time_us=self.time_us + microseconds)

    def with_other_memory(self):
        """The same packet; a memory address and key are replaced by others."""
        if not self.is_roce() or self.opcode() not in RETH_BEGINS:
            return self
        octets = bytearray(self.octets)
        reth = ETHERNET + IP_UDP + BTH
        octets[reth + 4] ^= 0x40
        octets[reth + 8] ^= 0x11
        return dataclasses.replace(self, octets=bytes(octets))


def read(path):
    octets = path.read_bytes()
    assert octets[:4] == HEADER[:4] and octets[20:24] == HEADER[20:24], f"{path}: not such a pcap"
    frames, at = [], 24
    while at < len(octets):
        seconds, microseconds, captured, length = struct.unpack_from("<IIII", octets, at)
        frames.append(Frame(seconds * 1_000_000 + microseconds, octets[at + 16:at + 16 + captured],
                            length))
        at += 16 + captured
    return frames


def write(path, frames):
    with path.open("wb") as file:
        file.write(HEADER)
        for frame in frames:
            file.write(struct.pack("<IIII", *divmod(frame.time_us, 1_000_000), len(frame.octets),
                                   frame.length) + frame.octets)
    return path
