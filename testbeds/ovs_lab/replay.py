# SPDX-License-Identifier: BSD-3-Clause
"""The command `replay`: sends the RoCEv2 packets of a capture through the fabric, with the addresses of hosts of
the lab."""

import collections
import contextlib
import ipaddress
import itertools
import json
import os
import select
import socket
import struct
import subprocess
import time

import appliance
import telemetry
import wires
from fabric import Fabric
from problem import Problem, say
from roce_packets import IPV4, Packet, packet_of, read_capture, roce_packets, with_addresses
from state import NICENESS
from system import inside_namespace, require_program

SO_RCVBUFFORCE = 33         # Linux; the module socket does not have it
RECEIVE_BUFFER = 32 << 20  # bytes
DUMP_BUFFER = 32768        # KiB, of tcpdump
START_SECONDS = 10
SETTLE_SECONDS = 1.0       # after the last packet, until copies have arrived
LONGEST_FRAME = 65536
COPY_HEADERS = 14 + 20 + 8 + 8  # Ethernet, IP, GRE with a sequence number, ERSPAN type II


def replay(state, path, given, speed):
    lab = state.require_complete()
    fabric = Fabric(lab["fabric"])
    packets, others = roce_packets(path)
    hosts = map_addresses(fabric, packets, given)
    refuse_long_packets(path, packets)
    mapped = [with_addresses(packet, hosts[packet.source].address, hosts[packet.destination].address)
              for packet in packets]
    show_input(path, packets, others, hosts)
    before = received_by_appliance(state, lab)
    file = state.files / "replay.pcap"
    with recording(state, file), contextlib.ExitStack() as opened:
        sockets = {host.address: opened.enter_context(open_socket(state, host)) for host in hosts.values()}
        macs = {host.address: bytes.fromhex(host.mac.replace(":", "")) for host in hosts.values()}
        arrived, late = send(mapped, sockets, macs, speed)
    show_flows(fabric, mapped, arrived, copies(file))
    say(f"packets were sent up to {late * 1000:.1f} ms late")
    show_appliance(state, lab, file, before)


def map_addresses(fabric, packets, given):
    """Address in the capture -> host. `given`: texts OLD=HOST. The others follow in order of appearance, on
    alternating leaves."""
    addresses = dict.fromkeys(address for packet in packets for address in (packet.source, packet.destination))
    found = {}
    for text in given:
        old, _, name = text.partition("=")
        try:
            old = str(ipaddress.IPv4Address(old))
        except ValueError:
            raise Problem(f"--map {text}: expected OLD=HOST, such as 192.0.2.1={next(iter(fabric.hosts))}") from None
        if old not in addresses:
            raise Problem(f"--map {text}: no RoCEv2 packet has the address {old}; the capture has "
                          f"{', '.join(addresses)}")
        if old in found:
            raise Problem(f"--map {text}: the address {old} is mapped twice")
        host = fabric.host(name)
        if host in found.values():
            raise Problem(f"--map {text}: another address is already mapped to {host.name}")
        found[old] = host
    free = [host for host in alternating(fabric) if host not in found.values()]
    rest = [address for address in addresses if address not in found]
    if len(rest) > len(free):
        raise Problem(f"the capture has {len(addresses)} addresses ({', '.join(addresses)}), and the lab has "
                      f"{len(fabric.hosts)} hosts; build a lab with --hosts {len(addresses)} or more")
    return found | dict(zip(rest, free))


def alternating(fabric):
    """All hosts, the first ones of all leaves first."""
    by_leaf = {}
    for host in fabric.hosts.values():
        by_leaf.setdefault(fabric.leaf_of(host.name), []).append(host)
    return [host for row in itertools.zip_longest(*by_leaf.values()) for host in row if host]


def refuse_long_packets(path, packets):
    longest = max(len(packet.data) for packet in packets)
    if longest > wires.MTU:
        raise Problem(f"{path}: a packet has {longest} bytes, but the MTU of the lab is {wires.MTU}; remove longer "
                      "packets from the capture")


def show_input(path, packets, others, hosts):
    wrong = sum(not packet.has_right_icrc for packet in packets)
    print(f"{path}: {len(packets)} RoCEv2 packets in {(packets[-1].time_ns - packets[0].time_ns) / 1e9:.3f} s, "
          f"{others} other frames")
    if wrong:
        print(f"  {wrong} packets have an invalid iCRC, which is sent unchanged")
    for address, host in hosts.items():
        print(f"  {address} is {host.name} ({host.address})")


# Sending

def open_socket(state, host):
    with inside_namespace(state.namespace(host.name)):
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(IPV4))
        opened.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        opened.bind(("eth0", IPV4))
    return opened


def send(packets, sockets, macs, speed):
    """Sends each packet from the host of its source address at its time. Returns the number of packets of each
    flow that arrived at the hosts, and how late the latest packet was sent, in seconds."""
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    flows = {packet.flow for packet in packets}
    arrived = collections.Counter()
    begin, first_ns, late = time.monotonic(), packets[0].time_ns, 0.0
    for packet in packets:
        due = begin + (packet.time_ns - first_ns) / 1e9 / speed
        receive(sockets.values(), due, flows, arrived)
        late = max(late, time.monotonic() - due)
        frame = macs[packet.destination] + macs[packet.source] + struct.pack(">H", IPV4) + packet.data
        while True:
            try:
                sockets[packet.source].send(frame)
                break
            except BlockingIOError:
                time.sleep(0.0001)
    receive(sockets.values(), time.monotonic() + SETTLE_SECONDS, flows, arrived)
    return arrived, late


def receive(sockets, until, flows, arrived):
    """Counts arriving packets until this time; if it has passed, reads what has arrived so far."""
    while True:
        left = until - time.monotonic()
        readable = select.select(sockets, [], [], max(0, left))[0]
        for one in readable:
            with contextlib.suppress(BlockingIOError):
                frame, (_, _, kind, *_) = one.recvfrom(LONGEST_FRAME)
                data = packet_of(frame)
                if kind != socket.PACKET_OUTGOING and data and (flow := Packet(0, data).flow) in flows:
                    arrived[flow] += 1
        if left <= 0:
            return


# Results

@contextlib.contextmanager
def recording(state, file):
    """Records the mirrored packets that arrive at the collector."""
    require_program("tcpdump", "tcpdump")
    file.unlink(missing_ok=True)
    process = state.start("replay", ["tcpdump", "-n", "-i", "eth0", "-s", "0", "-B", DUMP_BUFFER, "-Z", "root",
                                     "--time-stamp-precision=nano", "-U", "-w", file, "ip proto 47"],
                          telemetry.NAMESPACE)
    end = time.monotonic() + START_SECONDS
    while not file.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise Problem(f"tcpdump did not start; {state.log_end('replay')}")
        time.sleep(0.02)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def copies(file):
    """Mirrored packets by flow."""
    found = collections.Counter()
    for _, frame, _ in read_capture(file)[1]:
        if data := packet_of(frame[COPY_HEADERS:]):
            found[Packet(0, data).flow] += 1
    return found


def expected_copies(fabric, source, destination):
    """A copy is made of each packet that arrives at a leaf."""
    return 1 if fabric.leaf_of(source.name) == fabric.leaf_of(destination.name) else 2


def show_flows(fabric, packets, arrived, mirrored):
    sent = collections.Counter(packet.flow for packet in packets)
    by_address = {host.address: host for host in fabric.hosts.values()}
    print(f"{'flow':<20} {'UDP source port':>15} {'destination QP':>15} {'sent':>9} {'arrived':>9} {'mirrored':>9} of")
    total = 0
    for flow, count in sent.items():
        source, destination = by_address[flow.source], by_address[flow.destination]
        expected = count * expected_copies(fabric, source, destination)
        total += expected
        print(f"{source.name + ' to ' + destination.name:<20} {flow.udp_source_port:>15} {flow.destination_qpn:>15} "
              f"{count:>9} {arrived[flow]:>9} {mirrored[flow]:>9} {expected}")
    print(f"Sent {len(packets)} packets of {len(sent)} flows; {sum(arrived.values())} arrived; "
          f"{sum(mirrored[flow] for flow in sent)} of {total} copies were mirrored")


def received_by_appliance(state, lab):
    sources = appliance.ask(state, lab, "/api/v1/sources")["sources"]
    return next((int(one["ledger"]["received"]) for one in sources if one["name"] == "eth0"), 0)


def show_appliance(state, lab, file, before):
    """Prints how many packets the running appliance received, and the flows that rocescope finds in them."""
    print(f"The appliance received {received_by_appliance(state, lab) - before} mirrored packets")
    done = subprocess.run([lab["rocescope"], "replay", file, "--topology", state.files / "topology.yaml", "-o", "json"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Problem(f"rocescope replay {file}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    print(f"rocescope finds {len(report['flows'])} flows and {len(report['connections'])} connections in them: "
          f"`rocescope replay {file} --topology {state.files}/topology.yaml`")
