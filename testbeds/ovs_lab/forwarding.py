# SPDX-License-Identifier: BSD-3-Clause
"""Flows and groups of the switches. A switch has one select group for each leaf, whose buckets are the
ports on the shortest paths, and one flow for each host. As routers do, switches decrement the TTL."""

import re

# The 5-tuple. Fields that a packet does not have are ignored.
HASH = "fields(ip_src,ip_dst,nw_proto,udp_src,udp_dst,tcp_src,tcp_dst)"
ROCE = "udp,tp_dst=4791"
PRIORITIES = {"blackhole": 300, "roce": 200, "ip": 100}


def group_number(fabric, leaf):
    return 1 + list(fabric.switches).index(leaf)


def group(fabric, switch, leaf, ports):
    """A bucket whose port is down is not used. `selection_method_param` is the seed of the hash, so that
    switches do not hash alike."""
    buckets = "".join(f",bucket=bucket_id:{port.number},watch_port:{port.number},actions=output:{port.number}"
                      for port in ports)
    return (f"group_id={group_number(fabric, leaf)},type=select,selection_method=hash,"
            f"selection_method_param={switch.id},{HASH}{buckets}")


def groups(fabric, conditions=None):
    """The groups of each switch, for the conditions of the lab (State.conditions): switch -> lines."""
    conditions = conditions or {"swaps": [], "down": [], "polarised": []}
    real = fabric.rewired(conditions["swaps"]) if conditions["swaps"] else fabric
    # A link that is down is named as declared.
    down = {real.link_of[end].name for link in fabric.links if link.name in conditions["down"]
            for end in link.ends}
    lines = {name: [] for name in fabric.switches}
    for (name, leaf), ports in real.next_hops(down).items():
        used = ports[:1] if name in conditions["polarised"] else ports
        lines[name].append(group(fabric, fabric.switches[name], leaf, used))
    return lines


def flows(fabric, switch):
    lines = []
    for host in fabric.hosts.values():
        leaf = fabric.leaf_of(host.name)
        action = (f"output:{fabric.ports[host.nic.peer].number}" if leaf == switch.name
                  else f"group:{group_number(fabric, leaf)}")
        for kind, match in (("roce", ROCE), ("ip", "ip")):
            lines.append(f"priority={PRIORITIES[kind]},{match},nw_dst={host.address},actions=dec_ttl,{action}")
    return lines


def install(switches, fabric):
    for name, lines in groups(fabric).items():
        switches.ofctl("add-groups", name, "-", given=as_text(lines))
    for switch in fabric.switches.values():
        switches.ofctl("add-flows", switch.name, "-", given=as_text(flows(fabric, switch)))


def reroute(switches, fabric, conditions):
    """Replaces the groups, as routing does after a change of the links."""
    for name, lines in groups(fabric, conditions).items():
        switches.ofctl("add-groups", name, "-", given=as_text(f"modify {line}" for line in lines))


def group_packets(switches, switch):
    """Packets that the groups of a switch forwarded."""
    shown = switches.ofctl("dump-group-stats", switch)
    return sum(int(count) for count in re.findall(r"ref_count=\d+,packet_count=(\d+)", shown))


def blackhole_packets(switches, switch, address):
    """Packets that set_blackhole dropped."""
    shown = switches.ofctl("dump-flows", switch, f"ip,nw_dst={address}")
    return sum(int(count) for count in
               re.findall(rf"n_packets=(\d+),[^\n]*priority={PRIORITIES['blackhole']},", shown))


def set_blackhole(switches, switch, address, on):
    match = f"ip,nw_dst={address}"
    if on:
        switches.ofctl("add-flow", switch, f"priority={PRIORITIES['blackhole']},{match},actions=drop")
    else:
        switches.ofctl("--strict del-flows", switch, f"priority={PRIORITIES['blackhole']},{match}")


def as_text(lines):
    return "".join(f"{line}\n" for line in lines)
