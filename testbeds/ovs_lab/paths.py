# SPDX-License-Identifier: BSD-3-Clause
"""The true paths of flows, from the flow counters of the wires (wire_flows in wire.bpf.c). Nothing here
changes the machine."""

import collections
import ipaddress

FlowKey = collections.namedtuple("FlowKey", "source destination qpn source_port")
Count = collections.namedtuple("Count", "packets data_bytes")
Interval = collections.namedtuple("Interval", "start_ns end_ns ports bytes")


def read_flows(entries):
    """Entries of the map -> (interface index, FlowKey) -> Count."""
    found = {}
    for key, value in entries:
        flow = FlowKey(str(ipaddress.ip_address(bytes(key.source))),
                       str(ipaddress.ip_address(bytes(key.destination))), key.qpn,
                       int.from_bytes(bytes(key.source_port), "big"))
        found[key.end, flow] = Count(value.packets, value.data_bytes)
    return found


def difference(after, before):
    """What was counted between two readings: flow -> interface index -> Count."""
    found = collections.defaultdict(dict)
    for (end, flow), count in after.items():
        old = before.get((end, flow), Count(0, 0))
        if count.packets > old.packets:
            found[flow][end] = Count(count.packets - old.packets, count.data_bytes - old.data_bytes)
    return found


def walk(fabric, counts, source):
    """The paths of a flow from its host: pairs of sending switch ports and data bytes. A path that does
    not arrive at a host is left out: its packets were lost."""
    by_node = collections.defaultdict(list)
    ports = {port.index: port for port in fabric.ports.values()}
    for end in counts:
        by_node[ports[end].node].append(ports[end])
    found = []

    def follow(node, path, data_bytes):
        if node in fabric.hosts:
            if path:
                found.append((path, data_bytes))
            return
        if len(path) > len(fabric.switches):
            return  # a loop
        senders = by_node.get(node, [])
        for port in senders:
            share = counts[port.index].data_bytes if len(senders) > 1 or not path else data_bytes
            follow(port.peer.partition(":")[0], [*path, port.full_name], share)

    follow(source.nic.peer.partition(":")[0], [], 0)
    return found


class PathRecorder:
    """Collects the paths of all flows over time."""

    def __init__(self):
        self.intervals = collections.defaultdict(list)  # flow -> Interval
        self.before = None

    def take(self, fabric, flows, start_ns, end_ns):
        """`flows`: the counters at `end_ns`. `fabric`: as it is cabled."""
        if self.before is not None:
            hosts = {host.address: host for host in fabric.hosts.values()}
            for flow, counts in difference(flows, self.before).items():
                if flow.source in hosts:
                    for path, data_bytes in walk(fabric, counts, hosts[flow.source]):
                        self.add(flow, Interval(start_ns, end_ns, path, data_bytes))
        self.before = flows

    def add(self, flow, interval):
        """Joins an interval with the previous one if the path is the same."""
        known = self.intervals[flow]
        if known and known[-1].ports == interval.ports and known[-1].end_ns == interval.start_ns:
            known[-1] = known[-1]._replace(end_ns=interval.end_ns, bytes=known[-1].bytes + interval.bytes)
        else:
            known.append(interval)
