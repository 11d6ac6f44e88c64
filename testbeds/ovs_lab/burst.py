# SPDX-License-Identifier: BSD-3-Clause
"""Sends UDP packets that are not RoCE, as storage traffic does, over a packet socket.

    burst.py INTERFACE SOURCE_ADDRESS SOURCE_MAC DESTINATION_ADDRESS DESTINATION_MAC BITS_PER_SECOND
"""

import ipaddress
import socket
import struct
import sys
import time

NFS = 2049
PAYLOAD = 1400
STEP = 0.005  # seconds


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def frame(source, source_mac, destination, destination_mac):
    def raw(mac):
        return bytes.fromhex(mac.replace(":", ""))
    udp = struct.pack(">HHHH", 700, NFS, 8 + PAYLOAD, 0)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + 8 + PAYLOAD, 0, 0x4000, 64, 17, 0,
                         ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed)
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return raw(destination_mac) + raw(source_mac) + b"\x08\x00" + header + udp + bytes(PAYLOAD)


def main():
    interface, source, source_mac, destination, destination_mac, rate = sys.argv[1:]
    data = frame(source, source_mac, destination, destination_mac)
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((interface, 0))
    each = len(data) * 8 / float(rate)  # seconds
    due = time.monotonic()
    while True:
        while due <= time.monotonic():
            out.send(data)
            due += each
        time.sleep(STEP)


if __name__ == "__main__":
    main()
