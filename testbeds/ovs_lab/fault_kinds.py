# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of faults of the lab: one row for each, with its name on the command line, its name in the
ground truth, and the meaning of the place and the value."""

import dataclasses
import re
from typing import Callable

import effects
import wires
from problem import Problem

LOWEST_RATE, HIGHEST_RATE = 10**3, 10**11  # bit/s; a bucket of TBF_BURST needs more time to fill than tbf supports
LONGEST_PERIOD = 3600  # seconds
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "K": 10**3}


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    truth: str           # kind in truth.proto
    place: str           # meaning of PLACE, for the help
    value: str           # meaning of VALUE, for the help; empty: no value
    default: str         # of the value; empty: the value is required
    about: str
    make: Callable       # (state, fabric, place, value) -> Effect


def ratio(text):
    """`0.5%` or `0.005`, above 0 and at most 1."""
    try:
        value = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0
    if not 0 < value <= 1:
        raise Problem(f"{text}: expected a percentage above 0% and at most 100%, or a fraction; 0.5% and 0.005 are "
                      "the same value")
    return value


def rate(text, whole):
    """bit/s, such as 10M, or a percentage of `whole`. If `whole` is 0, percentages are invalid."""
    if text.endswith("%") and whole:
        return max(LOWEST_RATE, int(whole * ratio(text)))
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMG]?)", text)
    value = float(match.group(1)) * UNITS[match.group(2)] if match else 0
    if not LOWEST_RATE <= value <= HIGHEST_RATE:
        raise Problem(f"{text}: expected a rate from 1k to 100G (bit/s), such as 10M"
                      + (", or a percentage, such as 10%" if whole else ""))
    return int(value)


def seconds(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)?", text)
    value = float(match.group(1)) / (1000 if match.group(2) == "ms" else 1) if match else 0
    if not 0.1 <= value <= LONGEST_PERIOD:
        raise Problem(f"{text}: expected a time from 100ms to {LONGEST_PERIOD}s, such as 4s")
    return value


def delay(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text)
    value = float(match.group(1)) * {"us": 1e-6, "ms": 1e-3, "s": 1}[match.group(2)] if match else 0
    if not 1e-4 <= value <= 1:
        raise Problem(f"{text}: expected a time from 100us to 1s, such as 5ms")
    return value


def factor(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 < value <= 1000:
        raise Problem(f"{text}: expected a factor above 1 and at most 1000, such as 4")
    return value


def mtu(text):
    if not text.isdecimal() or not 256 <= int(text) < wires.MTU:
        raise Problem(f"{text}: expected an MTU from 256 to {wires.MTU - 1} bytes")
    return int(text)


def on_link(make):
    """PLACE is a link in one direction or in both (PLACES)."""
    def make_effect(state, fabric, place, value):
        link, sender = fabric.link(place)
        ports = [fabric.ports[end] for end in ([sender] if sender else link.ends)]
        effect = make(state, fabric, link, ports, value)
        effect.truth = {"place": link.name, "direction": sender or ""}
        return effect
    return make_effect


def on_whole_link(make):
    def make_effect(state, fabric, place, value):
        link, _ = fabric.link(place)
        effect = make(state, fabric, link, value)
        effect.truth = {"place": link.name}
        return effect
    return make_effect


def on_switch(make):
    def make_effect(state, fabric, place, value):
        switch = fabric.switch(place)
        effect = make(state, fabric, switch, value)
        effect.truth = {"place": switch.name}
        return effect
    return make_effect


def on_host(make, place_of=lambda host: host.nic.full_name):
    def make_effect(state, fabric, place, value):
        host = fabric.host(place)
        effect = make(state, fabric, host, value)
        effect.truth = {"place": place_of(host)}
        return effect
    return make_effect


def swapped(state, fabric, place, value):
    first, first_end = fabric.link(place)
    second, second_end = fabric.link(value)
    if first == second:
        raise Problem(f"{place} and {value} are the same link")
    # The cables exchange the ends that are opposite to these ports.
    ends = (first_end or first.ends[0], second_end or second.ends[0])
    effect = effects.Swapped(state, fabric, *ends)
    effect.truth = {"place": first.name, "declared_links": [first.name, second.name],
                    "real_links": [effect.real.link_of[end].name for end in ends]}
    return effect


def burst(state, fabric, place, value):
    source, _, destination = place.partition(":")
    if not destination or source == destination:
        raise Problem(f"{place}: expected two different hosts, HOST:HOST, such as host0:host3")
    effect = effects.Burst(state, fabric, fabric.host(source), fabric.host(destination), rate(value, 0))
    effect.truth = {"place": effect.destination.nic.full_name}
    return effect


LINK, WHOLE_LINK = "LINK", "LINK, always in both directions"
PLACES = """places:
  LINK           NODE:NODE or NODE:PORT: the direction in which the first node sends.
                 NODE:PORT-NODE:PORT: both directions
  SWITCH, HOST   names, such as leaf0 or host1
"""

KINDS = {kind.name: kind for kind in (
    Kind("loss", "gray_loss", LINK, "fraction of the frames", "1%",
         "A link loses frames that no counter shows.",
         on_link(lambda s, f, link, ports, v: effects.OnWires(
             s, f, ports, {"loss": wires.probability(ratio(v))}))),
    Kind("bit-errors", "bit_errors", LINK, "fraction of the frames", "1%",
         "A link corrupts frames. The receiving port drops them and counts FCS errors.",
         on_link(lambda s, f, link, ports, v: effects.OnWires(
             s, f, ports, {"bit_errors": wires.probability(ratio(v))}))),
    Kind("corruption", "corruption", "SWITCH", "fraction of the packets", "1%",
         "A switch corrupts packets, so that their iCRC is invalid.",
         on_switch(lambda s, f, switch, v: effects.OnWires(
             s, f, switch.ports, {"corruption": wires.probability(ratio(v))}))),
    Kind("rate", "degraded_rate", LINK, "remaining rate: bit/s or a percentage", "10%",
         "A link runs at a lower rate (tbf). Its ports report the lower speed.",
         on_link(lambda s, f, link, ports, v: effects.DegradedRate(
             s, f, link, ports, rate(v, link.speed)))),
    Kind("delay", "added_latency", LINK, "added delay", "5ms", "A link has a longer delay.",
         on_link(lambda s, f, link, ports, v: effects.Delayed(s, f, ports, delay(v)))),
    Kind("jitter", "added_latency", LINK, "maximum delay", "5ms", "A link has a random delay. Frames stay in order.",
         on_link(lambda s, f, link, ports, v: effects.Delayed(s, f, ports, 0.0, delay(v)))),
    Kind("reorder", "reordering", LINK, "maximum delay", "5ms", "A link has a random delay and reorders frames.",
         on_link(lambda s, f, link, ports, v: effects.Delayed(s, f, ports, 0.0, delay(v), True))),
    Kind("down", "link_down", WHOLE_LINK, "", "", "A link is down. Routing avoids it after a second.",
         on_whole_link(lambda s, f, link, v: effects.LinksDown(s, f, [link]))),
    Kind("flap", "flap", WHOLE_LINK, "period", "4s",
         "A link repeatedly goes down for half of the period, and up again.",
         on_whole_link(lambda s, f, link, v: effects.Flapping(s, f, [link], seconds(v)))),
    Kind("switch-down", "switch_crash", "SWITCH", "", "", "All links of a switch are down.",
         on_switch(lambda s, f, switch, v: effects.LinksDown(
             s, f, [f.link_of[port.full_name] for port in switch.ports]))),
    Kind("blackhole", "blackhole", "SWITCH", "HOST", "",
         "A switch drops all packets to a host without counting them.",
         on_switch(lambda s, f, switch, v: effects.Blackhole(s, f, switch, f.host(v)))),
    Kind("polarisation", "polarisation", "SWITCH", "", "", "A switch uses only one of its equal-cost ports.",
         on_switch(lambda s, f, switch, v: effects.Polarisation(s, f, switch))),
    Kind("swap", "swapped_cables", WHOLE_LINK, "other LINK", "",
         "Two cables exchange their far ends. Their links are down for 3 s at the start and at the end.", swapped),
    Kind("mtu", "mtu_mismatch", "SWITCH", "MTU in bytes", "500", "A switch drops packets that are longer than the MTU.",
         on_switch(lambda s, f, switch, v: effects.SmallMtu(s, f, switch, mtu(v)))),
    Kind("no-ecn", "misconfigured_ecn", "SWITCH", "", "", "A switch marks no packets with CE.",
         on_switch(lambda s, f, switch, v: effects.OnWires(s, f, switch.ports, {"suppresses_marks": 1}))),
    Kind("slow-nic", "slow_receiver", "HOST", "rate: bit/s or a percentage", "10%",
         "A NIC receives at a lower rate (tbf) and discards excess packets.",
         on_host(lambda s, f, host, v: effects.SlowNic(
             s, f, host, rate(v, f.link_of[host.nic.full_name].speed)))),
    Kind("slow-endpoint", "slow_receiver", "HOST", "fraction of the time", "50%",
         "The endpoint of a host is repeatedly stopped (SIGSTOP).",
         on_host(lambda s, f, host, v: effects.Signalled(s, f, host, ratio(v)))),
    Kind("straggler", "straggler", "HOST", "factor of the compute time", "4",
         "The ranks of a host compute more slowly.",
         on_host(lambda s, f, host, v: effects.Straggler(s, f, host, factor(v)),
                 lambda host: f"{host.name}:gpu:0")),
    Kind("nic-down", "nic_crash", "HOST", "", "", "The NIC and the endpoint of a host are down.",
         on_host(lambda s, f, host, v: effects.NicDown(s, f, host))),
    Kind("kill", "host_reboot", "HOST", "", "", "The endpoint of a host is killed. This is not a fault of the network.",
         on_host(lambda s, f, host, v: effects.Killed(s, f, host), lambda host: host.name)),
    Kind("burst", "foreign_traffic", "HOST:HOST", "rate in bit/s", "20M",
         "A host sends traffic that is not RoCE to another one. This is not a fault.", burst),
)}


def make(state, fabric, name, place, value):
    kind = KINDS[name]
    if value and not kind.value:
        raise Problem(f"fault {name}: it has no value; remove {value}")
    value = value or kind.default
    if kind.value and not value:
        raise Problem(f"fault {name}: the value is missing: {kind.value}")
    try:
        effect = kind.make(state, fabric, place, value)
    except Problem as problem:
        raise Problem(f"fault {name}: {problem}") from None
    effect.truth = {"kind": kind.truth, **effect.truth}
    return effect


def shown_value(name, value):
    """A valid value of a fault, or its default, as the lab understood it. Empty for kinds without a value."""
    kind = KINDS[name]
    value = value or kind.default
    if kind.value.startswith("fraction "):
        return f"{100 * ratio(value):g} % {kind.value.removeprefix('fraction ')}"
    return f"{kind.value.partition(':')[0]} {value}" if kind.value else ""


def help_text():
    rows = [f"  {kind.name:<14} {kind.about}\n  {'':<14} PLACE: {kind.place}"
            + (f"; VALUE: {kind.value}" if kind.value else "")
            + (f" (default: {kind.default})" if kind.default else "") for kind in KINDS.values()]
    return (PLACES + """
values:
  a fraction is a percentage such as 0.5%, or a number such as 0.005; a rate is in bit/s, such as 10M;
  a time has a unit, such as 5ms or 4s

kinds of faults:
""" + "\n".join(rows) + """

examples:
  testbeds/lab fault loss leaf0:spine1 0.5%
  testbeds/lab fault down leaf0:spine0 --seconds 30
  testbeds/lab fault swap leaf0:Ethernet3 leaf1:Ethernet3
""")
