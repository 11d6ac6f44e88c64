# SPDX-License-Identifier: BSD-3-Clause
"""The cables of the lab. A cable consists of two veth pairs. Their inner ends are in the namespace of the wires,
where a BPF program (wire.bpf.c) redirects frames from one inner end to the other. Each inner end has the interface
index of the port that it is connected to."""

import contextlib
import ctypes
import json
import os
import pathlib

import bpf
from problem import Problem
from system import find_clang, ip_batch, run

NAMESPACE = "wires"
MTU = 9216
BLOCK = 1  # number of the filter block in tc: all ends share one program
SOURCE = pathlib.Path(__file__).resolve().parent / "wire.bpf.c"
RELAY_INDEX = 20_000  # the interface to the relay of a port has this index plus that of the port
MOST_CPUS = 32  # that steering uses; a longer mask has another syntax
CERTAIN = 2**32 - 1  # the probability 1
ECN_PROBABILITY = 0.2
# The thresholds are times, so that they suit any speed of the links. Programs that the scheduler delays send
# bursts of some 10 ms, which should not be marked.
ECN_MINIMUM_SECONDS, ECN_MAXIMUM_SECONDS = 0.04, 0.16


class Settings(ctypes.Structure):
    """struct settings of wire.bpf.c."""
    _fields_ = [("other_end", ctypes.c_uint32), ("loss", ctypes.c_uint32), ("bit_errors", ctypes.c_uint32),
                ("corruption", ctypes.c_uint32), ("rate", ctypes.c_uint64),
                ("ecn_minimum", ctypes.c_uint32), ("ecn_maximum", ctypes.c_uint32),
                ("ecn_probability", ctypes.c_uint32), ("counts_all", ctypes.c_uint16),
                ("suppresses_marks", ctypes.c_uint16)]


class Counters(ctypes.Structure):
    """struct counters of wire.bpf.c."""
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("frames", "bytes", "lost", "bit_errors", "corrupted", "marked", "affected",
                 "visible_ns")]


class Flow(ctypes.Structure):
    """struct flow of wire.bpf.c. Addresses and port are in network byte order."""
    _fields_ = [("end", ctypes.c_uint32), ("source", ctypes.c_uint8 * 4), ("destination", ctypes.c_uint8 * 4),
                ("qpn", ctypes.c_uint32), ("source_port", ctypes.c_uint8 * 2), ("reserved", ctypes.c_uint16)]


class FlowCounters(ctypes.Structure):
    """struct flow_counters of wire.bpf.c."""
    _fields_ = [(name, ctypes.c_uint64) for name in ("packets", "data_bytes", "first_ns", "last_ns")]


VALUES = {"wire_settings": (ctypes.c_uint32, Settings), "wire_counters": (ctypes.c_uint32, Counters),
          "wire_peaks": (ctypes.c_uint32, ctypes.c_uint64), "wire_flows": (Flow, FlowCounters)}


def probability(value):
    """As a fraction of 2^32."""
    return min(CERTAIN, round(value * 2**32))


def compile_program(folder):
    program = folder / "wire.o"
    machine = run("uname", "-m").strip()
    run(find_clang(), "-O2", "-g", "-target", "bpf", f"-I/usr/include/{machine}-linux-gnu", "-c", SOURCE,
        "-o", program)
    return program


def create(state, fabric):
    """The interfaces of all ports and hosts, connected as the topology says. All of them are up."""
    switches, wires = state.namespace("fabric"), state.namespace(NAMESPACE)
    lines = []
    for switch in fabric.switches.values():
        for port in switch.ports:
            lines.append(f"link add name {port.interface} index {port.index} mtu {MTU} netns {switches} type "
                         f"veth peer name {port.wire} index {port.index} mtu {MTU} netns {wires}")
    for host in fabric.hosts.values():
        # iproute2 gives the index to the first interface only, unless both have the same.
        lines.append(f"link add name {host.nic.wire} index {host.nic.index} mtu {MTU} netns {wires} type veth "
                     f"peer name eth0 mtu {MTU} address {host.mac} netns {state.namespace(host.name)}")
    ip_batch(lines)
    program = compile_program(state.files)
    # clsact needs no lock and has no queue, and several interfaces can share its filters.
    run("tc", "-batch", "-", namespace=wires, given="".join(
        f"qdisc add dev {port.wire} ingress_block {BLOCK} clsact\n" for port in fabric.ports.values()))
    run("tc", "filter", "add", "block", BLOCK, "ingress", "protocol", "all", "pref", 1, "bpf",
        "direct-action", "object-file", program, "section", "classifier", namespace=wires)
    with maps(state) as opened:
        for port in fabric.ports.values():
            opened["wire_settings"].write(port.index, healthy(fabric, port))
    ip_batch([f"link set dev {port.wire} up" for port in fabric.ports.values()], wires)
    ip_batch([f"link set dev {port.interface} up" for switch in fabric.switches.values()
              for port in switch.ports], switches)
    for host in fabric.hosts.values():
        run("ip", "link", "set", "dev", "eth0", "up", namespace=state.namespace(host.name))
    for namespace in (switches, wires, *map(state.namespace, fabric.hosts)):
        keep_order(namespace)


def keep_order(namespace):
    """Assigns each flow to one CPU (receive packet steering). Otherwise frames overtake each other when the
    process that sends them moves to another CPU, because virtual Ethernet has a queue for each CPU."""
    cpus = (1 << min(os.cpu_count(), MOST_CPUS)) - 1
    # Unlike nsenter, ip mounts the sysfs of the namespace.
    run("ip", "netns", "exec", namespace, "sh", "-c",
        f"for file in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {cpus:x} > $file || exit; done")


def healthy(fabric, port):
    """The settings of the end at this port. The port of a switch marks packets, that of a host does not."""
    settings = Settings(other_end=fabric.ports[port.peer].index)
    if port.node in fabric.switches:
        rate = fabric.link_of[port.full_name].speed // 8
        settings.rate = rate
        settings.ecn_minimum = int(rate * ECN_MINIMUM_SECONDS)
        settings.ecn_maximum = int(rate * ECN_MAXIMUM_SECONDS)
        settings.ecn_probability = probability(ECN_PROBABILITY)
    return settings


@contextlib.contextmanager
def maps(state):
    shown = run("tc", "-j", "filter", "show", "block", BLOCK, namespace=state.namespace(NAMESPACE))
    programs = [one["options"]["prog"]["id"] for one in json.loads(shown or "[]")
                if "prog" in one.get("options", {})]
    if not programs:
        raise Problem("the BPF program of the cables is not loaded; build the lab again: `testbeds/lab "
                      f"down{state.option()}`, then `up`")
    with bpf.maps_of_program(programs[0], VALUES) as opened:
        yield opened


def change(state, port, resets_affected=True, **settings):
    """Changes settings of the end at a port. They apply to the frames that this port sends."""
    with maps(state) as opened:
        if resets_affected:
            counters = opened["wire_counters"].read(port.index)
            counters.affected = counters.visible_ns = 0
            opened["wire_counters"].write(port.index, counters)
        now = opened["wire_settings"].read(port.index)
        for name, value in settings.items():
            setattr(now, name, value)
        opened["wire_settings"].write(port.index, now)


def counters(state, fabric):
    """The counters of all ends, by port. They count the frames that this port sent."""
    with maps(state) as opened:
        return {name: opened["wire_counters"].read(port.index) for name, port in fabric.ports.items()}
