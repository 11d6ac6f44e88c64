# SPDX-License-Identifier: BSD-3-Clause
"""The RoCEv2 packets of a capture, and the same packets with other addresses. Nothing here changes the machine."""

import collections
import dataclasses
import ipaddress
import struct
import zlib

from problem import Problem

MAGICS = {0xa1b2c3d4: 1000, 0xa1b23c4d: 1}  # nanoseconds per unit of the fraction of a second
PCAPNG = 0x0a0d0d0a
FILE_HEADER, RECORD_HEADER = "IHHiIII", "IIII"
ETHERNET = 1  # link type
IPV4, VLANS = 0x0800, (0x8100, 0x88a8)
UDP, ROCE_PORT = 17, 4791
UDP_SIZE, BTH_SIZE, ICRC_SIZE = 8, 12, 4
FRAGMENTED = 0x3fff  # more fragments, or an offset

FlowKey = collections.namedtuple("FlowKey", "source destination udp_source_port destination_qpn")


def read_capture(path):
    """Returns the link type, and (time in ns, bytes, original length) of each frame."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}") from None
    order = next((one for one in "<>" if len(data) >= 24 and struct.unpack_from(one + "I", data)[0] in MAGICS), None)
    if order is None:
        if data[:4] == struct.pack(">I", PCAPNG):
            raise Problem(f"{path}: a capture in pcapng format; convert it to pcap: editcap -F pcap {path} OUT.pcap")
        raise Problem(f"{path}: not a capture in pcap format")
    magic, _, _, _, _, _, link = struct.unpack_from(order + FILE_HEADER, data)
    frames, at = [], struct.calcsize(order + FILE_HEADER)
    while at < len(data):
        if at + 16 > len(data):
            raise Problem(f"{path}: the file ends within frame {len(frames) + 1}; the capture is incomplete")
        seconds, fraction, size, original = struct.unpack_from(order + RECORD_HEADER, data, at)
        at += 16
        if at + size > len(data):
            raise Problem(f"{path}: the file ends within frame {len(frames) + 1}; the capture is incomplete")
        frames.append((seconds * 10**9 + fraction * MAGICS[magic], data[at:at + size], original))
        at += size
    return link, frames


@dataclasses.dataclass(frozen=True)
class Packet:
    """An IPv4 packet with a BTH."""
    time_ns: int
    data: bytes  # from the IP header to the iCRC

    @property
    def ip_size(self):
        return (self.data[0] & 15) * 4

    @property
    def source(self):
        return str(ipaddress.IPv4Address(self.data[12:16]))

    @property
    def destination(self):
        return str(ipaddress.IPv4Address(self.data[16:20]))

    @property
    def flow(self):
        at = self.ip_size
        return FlowKey(self.source, self.destination, struct.unpack_from(">H", self.data, at)[0],
                       int.from_bytes(self.data[at + UDP_SIZE + 5:at + UDP_SIZE + 8], "big"))

    @property
    def has_right_icrc(self):
        return icrc(self.data[:-ICRC_SIZE]) == self.data[-ICRC_SIZE:]


def roce_packets(path):
    """The RoCEv2 packets of a capture file in order of time, and the number of its other frames."""
    link, frames = read_capture(path)
    if link != ETHERNET:
        raise Problem(f"{path}: the link type is {link}; replay supports Ethernet ({ETHERNET})")
    found = []
    for number, (time_ns, data, original) in enumerate(frames, 1):
        packet = packet_of(data)
        if packet is None:
            continue
        length = struct.unpack_from(">H", packet, 2)[0]
        if length > len(packet):
            raise Problem(f"{path}: frame {number} is truncated to {len(data)} of {original} bytes; replay needs "
                          "complete packets (tcpdump -s 0)")
        found.append(Packet(time_ns, packet[:length]))
    if not found:
        raise Problem(f"{path}: no RoCEv2 packets over IPv4 in {len(frames)} frames")
    return sorted(found, key=lambda packet: packet.time_ns), len(frames) - len(found)


def packet_of(frame):
    """The IPv4 packet of a frame, if it is RoCEv2; otherwise None."""
    at = 12
    while len(frame) >= at + 4 and struct.unpack_from(">H", frame, at)[0] in VLANS:
        at += 4
    if len(frame) < at + 2 + 20 or struct.unpack_from(">H", frame, at)[0] != IPV4:
        return None
    packet = frame[at + 2:]
    size = (packet[0] & 15) * 4
    length, _, fragment = struct.unpack_from(">HHH", packet, 2)
    if (packet[0] >> 4 != 4 or size < 20 or packet[9] != UDP or fragment & FRAGMENTED
            or length < size + UDP_SIZE + BTH_SIZE + ICRC_SIZE or len(packet) < size + UDP_SIZE):
        return None
    return packet if struct.unpack_from(">H", packet, size + 2)[0] == ROCE_PORT else None


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def icrc(packet):
    """Returns the iCRC of an IPv4 packet that ends before it. Fields that switches change count as ones (IBTA vol. 1,
    annex A17)."""
    masked = bytearray(packet)
    size = (packet[0] & 15) * 4
    for position in (1, 8, 10, 11, size + 6, size + 7, size + UDP_SIZE + 4):
        masked[position] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))


def with_addresses(packet, source, destination):
    """The packet with other addresses. Its checksums become valid; its iCRC only if it was valid before, because an
    invalid iCRC may be what the capture is about."""
    data = bytearray(packet.data)
    size = packet.ip_size
    data[12:20] = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    data[10:12] = b"\0\0"
    struct.pack_into(">H", data, 10, checksum(bytes(data[:size])))
    if packet.has_right_icrc:
        data[-ICRC_SIZE:] = icrc(bytes(data[:-ICRC_SIZE]))
    if data[size + 6:size + 8] != b"\0\0":  # 0: the packet has no UDP checksum
        data[size + 6:size + 8] = b"\0\0"
        pseudo = bytes(data[12:20]) + struct.pack(">BBH", 0, UDP, len(data) - size)
        struct.pack_into(">H", data, size + 6, checksum(pseudo + bytes(data[size:])) or 0xffff)
    return Packet(packet.time_ns, bytes(data))
