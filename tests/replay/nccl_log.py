# SPDX-License-Identifier: BSD-3-Clause
"""The connections in the logs of an NCCL run, read line by line without inference.

This works for logs in which one thread prints a connection's lines in this order: the channel, the
sender's queue pair, and the number that the peer answered with (set_ece, NCCL 2.20 to 2.26).
"""

import dataclasses
import ipaddress
import re

INIT = re.compile(r"^(\S+?):(\d+):\d+ .* rank (\d+) nranks (\d+) .* Init START")
SEND = re.compile(r"Channel \d+/\d+ : (\d+)\[\d+\] -> (\d+)\[\d+\] \[send\]")
LOCAL = re.compile(r" qpn (\d+) mtu .* GID \d+ \(\w+/(\w+)\)")
REMOTE = re.compile(r" qpn (\d+) set_ece")


@dataclasses.dataclass(frozen=True)
class Connection:
    """A connection over which `source` sends data to `destination`."""
    source: int
    destination: int
    source_qpn: int
    destination_qpn: int


@dataclasses.dataclass
class Log:
    host: str
    process_id: int
    rank: int
    rank_count: int
    address: str
    connections: list


def address_of(interface_id):
    """The IPv4 address in the lower half of a GID, which NCCL prints byte-reversed in hex."""
    octets = int(interface_id, 16).to_bytes(8, "little")
    assert octets[:4] == b"\0\0\xff\xff", interface_id
    return str(ipaddress.IPv4Address(octets[4:]))


def read(path):
    log = None
    channel = local = None
    for line in path.read_text().splitlines():
        if found := INIT.search(line):
            host, process_id, rank, rank_count = found.groups()
            log = Log(host, int(process_id), int(rank), int(rank_count), "", [])
        elif found := SEND.search(line):
            channel = tuple(map(int, found.groups()))
        elif found := LOCAL.search(line):
            local = int(found[1])
            log.address = address_of(found[2])
        elif found := REMOTE.search(line):
            log.connections.append(Connection(*channel, local, int(found[1])))
    return log
