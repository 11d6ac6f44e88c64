# SPDX-License-Identifier: BSD-3-Clause
"""The telemetry that the switches send to the collector: sFlow, and mirrored packets in ERSPAN."""

import time

import switches as ovs
from problem import Problem
from system import ip_batch, run

NAMESPACE = "collector"
NETWORK_BITS = 16
UNDERLAY_ADDRESS = "172.16.255.1"    # the machine that runs the switches sends sFlow and exports counters here
COLLECTOR_ADDRESS = "172.16.255.2"  # receives sFlow
# No interface has this address: the collector captures the copies, and its kernel does not answer them.
MIRROR_ADDRESS = "172.16.255.3"
COLLECTOR_MAC = "02:00:ac:10:ff:02"
MTU = 9500  # a full frame and the headers of its copy
SFLOW_PORT = 6343
EXPORTER_PORT = 9100
SFLOW_HEADER = 128  # bytes of each sample
FIRST_MIRROR_PORT = 1000  # OpenFlow number


def create_underlay(state):
    """Connects the collector, before the bridges exist."""
    fabric, collector = state.namespace(ovs.NAMESPACE), state.namespace(NAMESPACE)
    ip_batch([f"link add name {ovs.COLLECTOR_PORT} mtu {MTU} netns {fabric} type veth peer name eth0 mtu "
              f"{MTU} address {COLLECTOR_MAC} netns {collector}"])
    ip_batch([f"link set dev {ovs.COLLECTOR_PORT} up"], fabric)
    ip_batch([f"address add {COLLECTOR_ADDRESS}/{NETWORK_BITS} dev eth0", "link set dev eth0 up"], collector)


def address_underlay(state, switches, fabric):
    """The sources of the copies are addresses of the underlay bridge, so that tunnels can use them."""
    bridge = ovs.UNDERLAY
    ip_batch([f"link set dev {bridge} mtu {MTU} up", f"address add {UNDERLAY_ADDRESS}/{NETWORK_BITS} dev {bridge}",
              *(f"address add {switch.address}/32 dev {bridge}" for switch in fabric.switches.values())],
             state.namespace(ovs.NAMESPACE))
    run("ip", "neighbour", "add", COLLECTOR_ADDRESS, "lladdr", COLLECTOR_MAC, "dev", bridge,
        namespace=state.namespace(ovs.NAMESPACE))
    # Without a static entry, the first copies would be lost until ARP has an answer.
    end = time.monotonic() + ovs.START_SECONDS
    while f"{UNDERLAY_ADDRESS}/32" not in switches.appctl("ovs/route/show"):
        if time.monotonic() > end:
            raise Problem(f"Open vSwitch does not use the address {UNDERLAY_ADDRESS} of the bridge {bridge}; "
                          f"{state.log_end('ovs-vswitchd')}")
        time.sleep(0.05)
    switches.appctl("tnl/arp/set", bridge, MIRROR_ADDRESS, COLLECTOR_MAC)


def sessions(fabric):
    """One mirror session for each port of a leaf, of the frames that arrive there: (port, session)."""
    return [(port, port.number) for leaf in fabric.leaves() for port in leaf.ports]


def mirrors_of_topology(fabric):
    return [{"switch": port.node, "session": session, "direction": "ingress", "ports": [port.name]}
            for port, session in sessions(fabric)]


def enable_mirrors(switches, fabric):
    """ERSPAN type II: its index names the port. The type III that Open vSwitch sends has no port, and
    timestamps of 100 us."""
    words, of_bridge = [], {}
    for port, session in sessions(fabric):
        tunnel = f"m{port.interface}"
        name = f"{port.node.replace('-', '_')}_{session}"
        # Open vSwitch reads the index as a hexadecimal number.
        words += ["--", "add-port", port.node, tunnel, "--", "set", "interface", tunnel, "type=erspan",
                  f"options:remote_ip={MIRROR_ADDRESS}", f"options:local_ip={fabric.switches[port.node].address}",
                  f"options:key={session}", "options:erspan_ver=1", f"options:erspan_idx={port.index:x}",
                  f"ofport_request={FIRST_MIRROR_PORT + port.number}",
                  "--", f"--id=@source_{name}", "get", "port", port.interface,
                  "--", f"--id=@target_{name}", "get", "port", tunnel,
                  "--", f"--id=@mirror_{name}", "create", "mirror", f"name={tunnel}",
                  f"select-src-port=@source_{name}", f"output-port=@target_{name}"]
        of_bridge.setdefault(port.node, []).append(f"@mirror_{name}")
    for bridge, mirrors in of_bridge.items():
        words += ["--", "set", "bridge", bridge, f"mirrors={','.join(mirrors)}"]
    switches.vsctl(*words)


def enable_sflow(switches, fabric, rate, polling):
    """`rate`: one of this many packets is sampled. `polling`: seconds between the counter samples of a
    port; 0: none."""
    words = []
    for switch in fabric.switches.values():
        words += ["--", "--id=@sflow", "create", "sflow", f'agent="{switch.address}"',
                  f'target="{COLLECTOR_ADDRESS}:{SFLOW_PORT}"', f"sampling={rate}", f"polling={polling}",
                  f"header={SFLOW_HEADER}", "--", "set", "bridge", switch.name, "sflow=@sflow"]
        switches.vsctl(*words)
        words = []


def counts(switches):
    """The number of copies that Open vSwitch counted for each mirror."""
    shown = switches.vsctl("--format=csv", "--no-headings", "--columns=name,statistics", "list", "mirror")
    found = {}
    for line in shown.splitlines():
        name, _, statistics = line.partition(",")
        packets = statistics.partition("tx_packets=")[2].rstrip('"}')
        found[name] = int(packets or 0)
    return found
