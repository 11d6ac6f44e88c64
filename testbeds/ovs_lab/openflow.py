# SPDX-License-Identifier: BSD-3-Clause
"""Reads the port counters and states of a bridge with OpenFlow 1.3, over its management socket. One
connection serves many readings, which costs less than one `ovs-ofctl` for each."""

import dataclasses
import socket
import struct

VERSION = 4  # OpenFlow 1.3
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, MULTIPART_REQUEST, MULTIPART_REPLY = 0, 1, 2, 3, 18, 19
PORT_STATISTICS, PORT_DESCRIPTIONS = 4, 13
HEADER = struct.Struct(">BBHI")
MULTIPART = struct.Struct(">HHI")
MORE = 1
ANY_PORT = 0xffffffff
STATISTICS = struct.Struct(">II12Q2I")
DESCRIPTION = struct.Struct(">I4x6s2x16s8I")
PORT_DOWN, LINK_DOWN = 1, 1  # bits of config and state
TIMEOUT_SECONDS = 5
UNKNOWN = 2**64 - 1


@dataclasses.dataclass
class PortReading:
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    rx_discards: int
    tx_discards: int
    rx_errors: int
    tx_errors: int


@dataclasses.dataclass
class PortState:
    name: str
    admin_up: bool
    link_up: bool


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.socket.connect(str(path))
        self.transaction = 0
        self.send(HELLO, b"")

    def close(self):
        self.socket.close()

    def send(self, kind, body, transaction=None):
        if transaction is None:
            self.transaction += 1
            transaction = self.transaction
        self.socket.sendall(HEADER.pack(VERSION, kind, HEADER.size + len(body), transaction) + body)
        return transaction

    def receive(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise OSError("the bridge closed the connection")
            data += part
        return data

    def replies(self, kind, body=b""):
        """The bodies of the parts of a reply."""
        wanted = self.send(MULTIPART_REQUEST, MULTIPART.pack(kind, 0, 0) + body)
        while True:
            _, answer, length, transaction = HEADER.unpack(self.receive(HEADER.size))
            content = self.receive(length - HEADER.size)
            if answer == ECHO_REQUEST:
                self.send(ECHO_REPLY, content, transaction)
            elif answer == ERROR:
                raise OSError(f"the bridge answered with an OpenFlow error: {content[:4].hex()}")
            elif answer == MULTIPART_REPLY and transaction == wanted:
                _, flags, _ = MULTIPART.unpack_from(content)
                yield content[MULTIPART.size:]
                if not flags & MORE:
                    return

    def statistics(self):
        """OpenFlow number of the port -> PortReading."""
        found = {}
        for body in self.replies(PORT_STATISTICS, struct.pack(">I4x", ANY_PORT)):
            for entry in STATISTICS.iter_unpack(body):
                found[entry[0]] = PortReading(*(0 if value == UNKNOWN else value for value in entry[2:10]))
        return found

    def states(self):
        """OpenFlow number of the port -> PortState."""
        found = {}
        for body in self.replies(PORT_DESCRIPTIONS):
            for number, _, name, config, state, *_ in DESCRIPTION.iter_unpack(body):
                found[number] = PortState(name.rstrip(b"\0").decode(), not config & PORT_DOWN,
                                          not state & LINK_DOWN)
        return found
