# SPDX-License-Identifier: BSD-3-Clause
"""A small fabric whose switches send sFlow and INT reports: the topology, and the datagrams, encoded
according to the specifications (sFlow version 5; P4.org's Telemetry Report Format 2.0)."""

import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import captures  # noqa: E402

LEAVES, SPINES, HOSTS = 2, 2, 8
SHAPE = ["leaf-spine", "--hosts", str(HOSTS), "--nics", "1", "--leaves", str(LEAVES), "--spines",
         str(SPINES)]
SPEED = 100_000_000_000
FRAME = 1000  # bytes of a frame in the counters
UP, DOWN = 3, 1  # ifOperStatus and ifAdminStatus bits of sFlow


def write_topology(program, path):
    with open(path, "wb") as file:
        subprocess.run([program, "topology", "generate", *SHAPE], stdout=file, check=True)


class Switch:
    """A switch of the fabric and the counters of its ports. The first switches are the leaves."""

    def __init__(self, index):
        self.index = index
        self.agent = 0xac100001 + index  # 172.16.0.1
        self.node = index + 1  # the INT switch ID
        self.ports = HOSTS // LEAVES + SPINES if index < LEAVES else LEAVES
        self.frames = [0] * self.ports
        self.fcs_errors = [0] * self.ports
        self.status = [UP] * self.ports
        self.sequence = 0
        self.int_sequence = 0

    def carry(self, frames):
        """Each port receives and sends this many frames."""
        self.frames = [one + frames for one in self.frames]

    def sflow(self):
        """A datagram with the counters of all ports."""
        self.sequence += 1
        samples = b"".join(self.sample(port) for port in range(self.ports))
        return struct.pack(">7I", 5, 1, self.agent, 0, self.sequence, self.sequence * 100,
                           self.ports) + samples

    def sample(self, port):
        frames = self.frames[port] & 0xffffffff
        data = self.frames[port] * FRAME
        interface = struct.pack(">IIQIIQ6IQ6I", port + 1, 6, SPEED, 1, self.status[port],
                                data, frames, 0, 0, 0, 0, 0, data, frames, 0, 0, 0, 0, 0)
        ethernet = struct.pack(">13I", 0, self.fcs_errors[port] & 0xffffffff, *[0] * 11)
        records = b"".join(struct.pack(">II", tag, len(text)) + text
                           for tag, text in ((1, interface), (2, ethernet)))
        body = struct.pack(">III", self.sequence, port + 1, 2) + records
        return struct.pack(">II", 2, len(body)) + body

    def int_report(self, source, destination, psn, ports, time_ns, occupancy=4096, qpn=17):
        """A report of a packet between two hosts that passed through two ports."""
        self.int_sequence += 1
        inner = captures.acknowledge(psn & 0xffffff, qpn=qpn, source=f"0a00{source + 1:04x}",
                                     destination=f"0a00{destination + 1:04x}")
        inner += bytes(-len(inner) % 4)
        main = struct.pack(">HHHH", 0x5800, 0, 0, 0)  # bits 1, 3 and 4
        metadata = struct.pack(">HHIQ", *ports, 3 << 24 | occupancy, time_ns & (1 << 64) - 1)
        body = main + metadata + inner
        return (struct.pack(">II", 2 << 28 | self.int_sequence & 0x3fffff, self.node) +
                bytes([0x13, len(body) // 4, len(metadata) // 4, 0x20]) + body)

    def int_transit(self, ports, queue, times, data):
        """A report of a packet with its queue, and the times (ns) at which it arrived and left."""
        self.int_sequence += 1
        inner = data + bytes(-len(data) % 4)
        main = struct.pack(">HHHH", 0x5c00, 0, 0, 0)  # bits 1, 3, 4 and 5
        metadata = struct.pack(">HHIQQ", *ports, queue << 24 | 1000, *times)
        body = main + metadata + inner
        return (struct.pack(">II", 2 << 28 | self.int_sequence & 0x3fffff, self.node) +
                bytes([0x13, len(body) // 4, len(metadata) // 4, 0x20]) + body)

    def sflow_packet(self, ports, data, rate=1000):
        """A datagram with a flow sample: one packet of `rate`."""
        self.sequence += 1
        record = struct.pack(">IIII", 1, len(data) + 4, 4, len(data)) + data + bytes(-len(data) % 4)
        body = struct.pack(">8I", self.sequence, ports[0], rate, self.sequence * rate, 0, *ports, 1)
        body += struct.pack(">II", 1, len(record)) + record
        return struct.pack(">7I", 5, 1, self.agent, 0, self.sequence, self.sequence * 100, 1) + \
            struct.pack(">II", 1, len(body)) + body


def packet(opcode, source, destination, qpn, psn, ttl, size):
    """A RoCEv2 frame between two hosts with `size` bytes behind the BTH, and a wrong iCRC."""
    transport = struct.pack(">BBHII", opcode, 0x40, 0xffff, qpn, psn & 0xffffff) + bytes(size + 4)
    udp = struct.pack(">HHHH", 49152, 4791, 8 + len(transport), 0)
    address = 0x0a000001  # 10.0.0.1, host0
    ip = struct.pack(">BBHHHBBHII", 0x45, 0x68, 28 + len(transport), 0, 0x4000, ttl, 17, 0,
                     address + source, address + destination)
    return bytes.fromhex("0200000000020200000000010800") + ip + udp + transport


def switches():
    return [Switch(index) for index in range(LEAVES + SPINES)]
