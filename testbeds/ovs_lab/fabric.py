# SPDX-License-Identifier: BSD-3-Clause
"""The fabric of a lab: the topology that `rocescope topology generate` prints, with interface indexes that are
unique in the lab, and the routes through it. This module does not change the machine."""

import dataclasses
import ipaddress
import json
import re

from problem import Problem
from system import run

LONGEST_NAME = 15  # bytes of an interface name
TIERS = {"leaf": 1, "spine": 2, "core": 3}
MOST_SWITCHES = 99  # FIRST_HOST_INDEX follows
MOST_PORTS = 99  # per switch: an interface index is 100 * switch + port
FIRST_HOST_INDEX = 10_001


@dataclasses.dataclass(frozen=True)
class Port:
    """A port of a switch, or the NIC of a host."""
    node: str
    name: str       # Ethernet1, mlx5_0
    number: int     # OpenFlow port of a switch, 1...
    index: int      # interface index in the namespace of the switches and in that of the wires
    interface: str  # leaf0-1; eth0 in the namespace of a host
    wire: str       # name of the end of its cable, in the namespace of the wires
    peer: str       # NODE:PORT

    @property
    def full_name(self):
        return f"{self.node}:{self.name}"


@dataclasses.dataclass(frozen=True)
class Switch:
    name: str
    tier: int
    id: int
    address: str  # sFlow agent and ERSPAN source
    ports: tuple


@dataclasses.dataclass(frozen=True)
class Host:
    name: str
    address: str
    nic: Port

    @property
    def mac(self):
        """The RoCEv2 endpoint derives it in the same way."""
        return "02:00:" + ":".join(f"{byte:02x}" for byte in ipaddress.ip_address(self.address).packed)


@dataclasses.dataclass(frozen=True)
class Link:
    ends: tuple  # two full names of ports
    speed: int   # bit/s

    @property
    def name(self):
        return "-".join(self.ends)


class Fabric:
    def __init__(self, shown):
        """`shown`: the output of `rocescope topology show -o json`."""
        self.shown = shown
        self.switches = {one["name"]: read_switch(one) for one in shown["switches"]}
        self.hosts = {one["name"]: read_host(one, number) for number, one in enumerate(shown["hosts"])}
        self.ports = {port.full_name: port for switch in self.switches.values() for port in switch.ports}
        self.ports |= {host.nic.full_name: host.nic for host in self.hosts.values()}
        self.links = [Link(tuple(one["ends"]), int(one["bits_per_second"])) for one in shown["links"]]
        self.link_of = {end: link for link in self.links for end in link.ends}
        check_limits(self)

    def leaf_of(self, host):
        return self.hosts[host].nic.peer.partition(":")[0]

    def leaves(self):
        return [switch for switch in self.switches.values() if switch.tier == TIERS["leaf"]]

    def link(self, place):
        """The link NODE:PORT, NODE:NODE, or PORT-PORT as `rocescope` writes it, and the port that sends
        in the direction from the first to the second node (None: no direction was given)."""
        for link in self.links:
            if place in (link.name, "-".join(reversed(link.ends))):
                return link, None
        if place in self.link_of:
            return self.link_of[place], place
        first, _, second = place.partition(":")
        between = [(link, end) for link in self.links for end, other in (link.ends, link.ends[::-1])
                   if end.partition(":")[0] == first and other.partition(":")[0] == second]
        if not between:
            raise Problem(f"{place}: no such link; expected NODE:NODE, NODE:PORT or NODE:PORT-NODE:PORT, such "
                          f"as {self.links[0].name}; the nodes are {', '.join([*self.switches, *self.hosts])}")
        if len(between) > 1:
            raise Problem(f"{place}: {len(between)} links connect these nodes; name a port, such as "
                          f"{between[0][1]}")
        return between[0]

    def switch(self, place):
        if place not in self.switches:
            raise Problem(f"{place}: no such switch; the lab has {', '.join(self.switches)}")
        return self.switches[place]

    def host(self, place):
        """By the name of the host, or HOST:DEVICE."""
        name = place.partition(":")[0]
        if name not in self.hosts or place not in (name, self.hosts[name].nic.full_name):
            raise Problem(f"{place}: no such host; the lab has {', '.join(self.hosts)}")
        return self.hosts[name]

    def rewired(self, swaps):
        """The fabric in which cables have exchanged their far ends. `swaps`: pairs of ports, by full name."""
        shown = json.loads(json.dumps(self.shown))
        links = {end: link["ends"] for link in shown["links"] for end in link["ends"]}
        for first, second in swaps:
            a, b = links[first], links[second]
            i, j = 1 - a.index(first), 1 - b.index(second)
            a[i], b[j] = b[j], a[i]
            links |= {end: ends for ends in (a, b) for end in ends}
        peers = {end: other for ends in links.values() for end, other in (ends, ends[::-1])}
        for node in [*shown["switches"], *shown["hosts"]]:
            for port in node.get("ports", node.get("nics")):
                name = f"{node['name']}:{port.get('port', port.get('device', port.get('name')))}"
                if name in peers:
                    port["peer"] = peers[name]
        return Fabric(shown)

    def next_hops(self, down=frozenset()):
        """For each switch and leaf, the ports on the shortest paths, which go up and then down:
        (switch, leaf) -> ports. `down`: the names of the links that are down."""
        return Routes(self, down).all()


class Routes:
    def __init__(self, fabric, down):
        self.fabric = fabric
        self.neighbours = {name: [] for name in fabric.switches}  # pairs of port and switch
        for switch in fabric.switches.values():
            for port in switch.ports:
                other = port.peer.partition(":")[0]
                if other in fabric.switches and fabric.link_of[port.full_name].name not in down:
                    self.neighbours[switch.name].append((port, fabric.switches[other]))
        self.below = {}  # switch -> leaves that it reaches downwards
        for switch in sorted(fabric.switches.values(), key=lambda one: one.tier):
            self.below[switch.name] = {switch.name} if switch.tier == TIERS["leaf"] else {
                leaf for _, other in self.neighbours[switch.name] if other.tier < switch.tier
                for leaf in self.below[other.name]}

    def reaches(self, switch, leaf):
        return leaf in self.below[switch.name] or any(
            self.reaches(other, leaf) for _, other in self.neighbours[switch.name]
            if other.tier > switch.tier)

    def ports_to(self, switch, leaf):
        if leaf in self.below[switch.name]:
            return [port for port, other in self.neighbours[switch.name]
                    if other.tier < switch.tier and leaf in self.below[other.name]]
        return [port for port, other in self.neighbours[switch.name]
                if other.tier > switch.tier and self.reaches(other, leaf)]

    def all(self):
        leaves = [leaf.name for leaf in self.fabric.leaves()]
        return {(switch.name, leaf): self.ports_to(switch, leaf)
                for switch in self.fabric.switches.values() for leaf in leaves if leaf != switch.name}


def read_switch(one):
    number = one["int_switch_id"]
    ports = []
    for position, port in enumerate(one["ports"], 1):
        digits = re.search(r"\d+$", port["name"])
        of_port = int(digits.group()) if digits else position
        ports.append(Port(one["name"], port["name"], of_port, 100 * number + of_port,
                          f"{one['name']}-{of_port}", f"{one['name']}-{of_port}", port.get("peer", "")))
    return Switch(one["name"], TIERS[one["tier"]], number, one["sflow_agent"],
                  tuple(port for port in ports if port.peer))


def read_host(one, number):
    if len(one["nics"]) != 1:
        raise Problem(f"{one['name']} has {len(one['nics'])} NICs; the lab supports hosts with one NIC")
    nic = one["nics"][0]
    port = Port(one["name"], nic["port"] if "port" in nic else nic["device"], 1, FIRST_HOST_INDEX + number,
                "eth0", one["name"], nic["peer"])
    return Host(one["name"], nic["addresses"][0]["address"], port)


def check_limits(fabric):
    if len(fabric.switches) > MOST_SWITCHES:
        raise Problem(f"the fabric has {len(fabric.switches)} switches; the lab supports at most {MOST_SWITCHES}")
    for port in fabric.ports.values():
        if len(port.wire) > LONGEST_NAME:
            raise Problem(f"{port.full_name}: the interface name {port.wire} is too long (at most {LONGEST_NAME} "
                          "bytes); use shorter names of nodes")
        if port.node in fabric.switches and port.number > MOST_PORTS:
            raise Problem(f"{port.full_name}: the lab supports switches with at most {MOST_PORTS} ports")


def generate(rocescope, leaves, spines, hosts, speed):
    """Returns a leaf-spine fabric."""
    shown = run(rocescope, "topology", "generate", "leaf-spine", "--leaves", leaves, "--spines", spines,
                "--hosts", hosts, "--host-speed", speed, "--fabric-speed", speed, "-o", "json")
    try:
        return Fabric(json.loads(shown))
    except (ValueError, KeyError, TypeError) as error:
        raise Problem(f"{rocescope}: `topology generate` does not print a topology as JSON ({error!r}); name another "
                      "program with --rocescope") from None


def topology(fabric, name, mirrors):
    """The topology file, as an object to write as JSON, which is YAML. The numbers of the ports are those
    in sFlow and ERSPAN."""
    shown = fabric.shown
    switches = [
        {"name": one["name"], "tier": one["tier"], "int_switch_id": one["int_switch_id"],
         "sflow_agent": one["sflow_agent"], "erspan_source": one["erspan_source"],
         "ports": [{"name": port.name, "number": port.index} for port in fabric.switches[one["name"]].ports]}
        for one in shown["switches"]]
    hosts = [
        {"name": one["name"],
         "nics": [{"device": nic["device"], "rail": nic["rail"],
                   "addresses": [address["address"] for address in nic["addresses"]]}
                  for nic in one["nics"]],
         "gpus": [{key: gpu[key] for key in ("number", "pci", "nic") if key in gpu} for gpu in one["gpus"]]}
        for one in shown["hosts"]]
    links = [{"ends": list(link.ends), "speed": str(link.speed)} for link in fabric.links]
    return {"name": name, "switches": switches, "hosts": hosts, "links": links, "mirrors": mirrors}
