# SPDX-License-Identifier: BSD-3-Clause
"""Sends RoCEv2 packets over a packet socket, and counts those that arrive: a simple stand-in for the RoCEv2
endpoint. It has no acknowledgements and no retransmissions.

    sender.py PLAN --host NAME --interface eth0 -d DIR [--rate N]

Each host sends RDMA WRITE packets with increasing PSNs to every other host, with several UDP source ports.
DIR/endpoint/HOST.counts contains the number of sent packets, of received packets, of received packets with a
wrong iCRC, and with a CE mark.
"""
import argparse
import ipaddress
import json
import pathlib
import select
import signal
import socket
import struct
import time
import zlib

PORTS = 4  # UDP source ports for each destination
PAYLOAD = 512
ROCE = 4791
SECOND = 1.0


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def icrc(ip_packet):
    """Of an IPv4 packet without its iCRC, with the fields that switches change masked."""
    masked = bytearray(b"\xff" * 8 + ip_packet)
    for position in (1, 8, 10, 11, 20 + 6, 20 + 7, 28 + 4):  # TOS, TTL, checksums, FECN and BECN
        masked[8 + position] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(masked)))


def mac(address):
    return bytes([2, 0]) + ipaddress.ip_address(address).packed


def packet(source, destination, port, qpn, psn, payload):
    transport = struct.pack(">BBHII", 0x06, 0x40, 0xffff, qpn, psn & 0xffffff) + payload
    udp = struct.pack(">HHHH", port, ROCE, 8 + len(transport) + 4, 0)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 26 << 2 | 2, 20 + len(udp) + len(transport) + 4, psn & 0xffff,
                         0x4000, 64, 17, 0, ipaddress.ip_address(source).packed,
                         ipaddress.ip_address(destination).packed)
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    whole = header + udp + transport
    return mac(destination) + mac(source) + b"\x08\x00" + whole + icrc(whole)


class Endpoint:
    def __init__(self, hosts, own, interface, folder):
        self.source, self.folder = hosts[own], folder
        self.path = folder / "endpoint" / f"{own}.counts"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.flows = [(address, 49152 + 17 * number + index, 16 * index + number + 1)
                      for index, (name, address) in enumerate(sorted(hosts.items())) if name != own
                      for number in range(PORTS)]
        self.psn = 0
        self.counts = {"sent": 0, "received": 0, "wrong_icrc": 0, "marked": 0}
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind((interface, 0x0800))

    def send(self):
        address, port, qpn = self.flows[self.psn % len(self.flows)]
        self.socket.send(packet(self.source, address, port, qpn, self.psn // len(self.flows), bytes(PAYLOAD)))
        self.psn += 1
        self.counts["sent"] += 1

    def receive(self):
        frame, (_, _, kind, _, _) = self.socket.recvfrom(9216)
        if kind == socket.PACKET_OUTGOING or frame[23] != 17 or frame[36:38] != struct.pack(">H", ROCE):
            return
        length = struct.unpack(">H", frame[16:18])[0]
        whole = frame[14:14 + length]
        self.counts["received"] += 1
        self.counts["wrong_icrc"] += icrc(whole[:-4]) != whole[-4:]
        self.counts["marked"] += frame[15] & 3 == 3

    def run(self, rate):
        due = written = time.monotonic()
        while True:
            now = time.monotonic()
            while due <= now:
                self.send()
                due += SECOND / rate
            while select.select([self.socket], [], [], max(0, min(due - time.monotonic(), 0.1)))[0]:
                self.receive()
                if time.monotonic() >= due:
                    break
            if now >= written + 0.2:
                self.write()
                written = now

    def write(self):
        self.path.write_text(json.dumps(self.counts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", type=pathlib.Path)
    parser.add_argument("--host", required=True)
    parser.add_argument("--interface", required=True)
    parser.add_argument("-d", dest="folder", type=pathlib.Path, required=True)
    parser.add_argument("--rate", type=float, default=200)
    options = parser.parse_args()
    plan = json.loads(options.plan.read_text())
    topology = json.loads(pathlib.Path(plan["topology"]).read_text())
    hosts = {host["name"]: host["nics"][0]["addresses"][0] for host in topology["hosts"]}
    endpoint = Endpoint(hosts, options.host, options.interface, options.folder)

    def end(*_):
        raise SystemExit
    signal.signal(signal.SIGTERM, end)
    try:
        endpoint.run(options.rate)
    finally:
        endpoint.write()


if __name__ == "__main__":
    main()
