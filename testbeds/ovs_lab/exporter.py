# SPDX-License-Identifier: BSD-3-Clause
"""Exports the counters of switches and NICs for Prometheus and rocescope.

    exporter.py STATE_DIRECTORY ADDRESS PORT

A thread for each node reads its counters once a second, at a time of its own, as the management planes
of real switches do. A scrape returns the latest readings with their times. Sources: port counters and
states with OpenFlow, link resets from the database of Open vSwitch, wrong FCS and CE marks from the BPF
program of the wires, and the counters that the kernel of a host keeps for its interface.
"""

import ctypes
import http.server
import json
import os
import pathlib
import random
import re
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import buffers  # noqa: E402
import openflow  # noqa: E402
import ovsdb  # noqa: E402
import wires  # noqa: E402
from fabric import Fabric  # noqa: E402
from problem import say  # noqa: E402
from state import State  # noqa: E402
from switches import Switches  # noqa: E402
from system import NAMESPACES  # noqa: E402

PERIOD = 1.0  # seconds
ROCE_PRIORITY = 3
FRAME_MEMORY = 2304  # bytes that the kernel uses for a frame of up to about 1,500 bytes
CLONE_NEWNET = 0x40000000
NIC_METRIC = re.compile(r"fabric_nic_([a-z0-9_]+)\{[^}]*\} (\d+)$")
NET_FIELDS = {"rx_bytes": 0, "rx_packets": 1, "rx_errors": 2, "rx_discards": 3,
              "tx_bytes": 8, "tx_packets": 9, "tx_errors": 10, "tx_discards": 11}


class Readings:
    """The latest metrics of each node, as text."""

    def __init__(self):
        self.lock = threading.Lock()
        self.of_node = {}

    def set(self, node, lines):
        with self.lock:
            self.of_node[node] = lines

    def text(self):
        with self.lock:
            return "".join("".join(lines) for lines in self.of_node.values())


def line(kind, node, port, metric, value, time_ms, priority=None):
    labels = f'node="{node}",port="{port}"' + (f',priority="{priority}"' if priority is not None else "")
    return f"fabric_{kind}_{metric}{{{labels}}} {int(value)} {time_ms}\n"


def queued_bytes(reading, memory):
    """The length of the frames that wait, from the memory that the kernel uses for them."""
    return memory / FRAME_MEMORY * (reading.rx_bytes / reading.rx_packets if reading.rx_packets else 0)


class SwitchReader:
    def __init__(self, state, fabric, maps, switch):
        self.state, self.fabric, self.maps, self.switch = state, fabric, maps, switch
        folder = state.files / "ovs"
        self.bridge = openflow.Connection(folder / f"{switch.name}.mgmt")
        self.database = ovsdb.Connection(folder / "db.sock")
        self.backlog = buffers.Backlog(Switches(state).pid(), {port.interface for port in switch.ports})
        self.first_resets = None

    def close(self):
        self.bridge.close()
        self.database.close()
        self.backlog.close()

    def new_peak(self, port):
        """The greatest length of the virtual queue since the last reading."""
        peak = self.maps["wire_peaks"].read(port.index)
        self.maps["wire_peaks"].write(port.index, ctypes.c_uint64(0))
        return peak.value

    def flaps(self):
        """Transitions to down by interface. All links are up when the exporter starts, so that every
        second change of a link is one to down."""
        resets = {row["name"]: row["link_resets"] if isinstance(row["link_resets"], int) else 0
                  for row in self.database.select("Interface", ("name", "link_resets"))}
        if self.first_resets is None:
            self.first_resets = resets
        return {name: (count - self.first_resets.get(name, 0) + 1) // 2 for name, count in resets.items()}

    def read(self):
        flaps = self.flaps()
        states = self.bridge.states()
        wire = self.maps["wire_counters"]
        counters = {one.name: (wire.read(one.index), wire.read(self.fabric.ports[one.peer].index))
                    for one in self.switch.ports}
        speeds = self.state.conditions()["speeds"]
        readings = self.bridge.statistics()
        waiting = self.backlog.read()
        now = time.time_ns() // 1_000_000
        lines = []
        for port in self.switch.ports:
            sent, received = counters[port.name]
            link = self.fabric.link_of[port.full_name]
            values = dict(vars(readings[port.number]))
            # The kernel drops received frames only if they exceed the MTU.
            values |= {"fcs_errors": received.bit_errors, "mtu_drops": readings[port.number].rx_discards,
                       "admin_up": states[port.number].admin_up, "link_up": states[port.number].link_up,
                       "link_speed": speeds.get(link.name, link.speed),
                       "link_flaps": flaps[port.interface]}
            lines += [line("port", port.node, port.name, metric, value, now)
                      for metric, value in values.items()]
            lines += [line("port", port.node, port.name, metric, value, now, ROCE_PRIORITY)
                      for metric, value in (("ecn_marked", sent.marked),
                                            ("queue_watermark", self.new_peak(port)),
                                            ("queue_bytes", queued_bytes(readings[port.number],
                                                                         waiting.get(port.interface, 0))))]
        return lines


class HostReader:
    """Its thread enters the namespace of the host. The endpoint of the host writes the counters of its
    NIC to a file."""

    def __init__(self, state, host):
        self.state, self.host = state, host
        self.file = state.files / "endpoint" / f"{host.name}.prom"
        with open(NAMESPACES / state.namespace(host.name)) as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter the namespace of {host.name}")

    def close(self):
        pass

    def interface(self):
        text = pathlib.Path("/proc/thread-self/net/dev").read_text()
        fields = next(one for one in text.splitlines() if one.strip().startswith("eth0:"))
        numbers = [int(value) for value in fields.partition(":")[2].split()]
        return {metric: numbers[position] for metric, position in NET_FIELDS.items()}

    def endpoint(self):
        """The counters of the NIC that the interface does not have, with their time in milliseconds."""
        try:
            with open(self.file, encoding="utf-8") as file:
                now = os.fstat(file.fileno()).st_mtime_ns // 1_000_000
                return {match.group(1): int(match.group(2)) for match in map(NIC_METRIC.match, file) if match}, now
        except FileNotFoundError:
            return {}, 0

    def read(self):
        conditions = self.state.conditions()
        if self.host.name in conditions["silent"]:
            return []
        own = self.interface()
        own["rx_discards"] += conditions["discards"].get(self.host.name, 0)
        now = time.time_ns() // 1_000_000
        more, written = self.endpoint()
        return [line("nic", self.host.name, self.host.nic.name, metric, value, then)
                for values, then in ((own, now), ({key: more[key] for key in more if key not in own}, written))
                for metric, value in values.items()]


def poll(readings, node, make):
    phase = random.random() * PERIOD
    reader = None
    while True:
        time.sleep(PERIOD - (time.time() - phase) % PERIOD)
        try:
            reader = reader or make()
            readings.set(node, reader.read())
        except Exception as error:  # the node keeps its last readings
            say(f"{node}: {error}")
            if reader:
                reader.close()
            reader = None


def serve(readings, address, port):
    class Exporter(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = readings.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    http.server.ThreadingHTTPServer((address, port), Exporter).serve_forever()


def main():
    state = State(os.path.basename(sys.argv[1]))
    fabric = Fabric(json.loads((state.path / "lab.json").read_text())["fabric"])
    readings = Readings()
    with wires.maps(state) as maps:
        for switch in fabric.switches.values():
            threading.Thread(target=poll, daemon=True, args=(
                readings, switch.name, lambda s=switch: SwitchReader(state, fabric, maps, s))).start()
        for host in fabric.hosts.values():
            threading.Thread(target=poll, daemon=True, args=(
                readings, host.name, lambda h=host: HostReader(state, h))).start()
        serve(readings, sys.argv[2], int(sys.argv[3]))


if __name__ == "__main__":
    main()
