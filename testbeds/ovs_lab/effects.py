# SPDX-License-Identifier: BSD-3-Clause
"""The effects of the kinds of faults. An effect has

    begin()     starts it; raises a Problem if it cannot be started
    tick(now)   is called repeatedly until it ends
    end()       restores the healthy state
    affected()  the number of frames that it affected so far, or None if it is not measured in frames
    claims()    what it changes, as texts; two effects with the same claim cannot be active at the same time
    truth       fields of TruthFault or TruthBenign (truth.proto)
"""

import contextlib
import json
import os
import pathlib
import signal
import sys
import time

import build
import forwarding
import traffic
import wires
from problem import Problem
from switches import NAMESPACE as SWITCHES
from switches import Switches
from system import ip_batch, run

REROUTE_SECONDS = 1.0  # from a change of a link until all switches avoid or use it
RELAY_START_SECONDS = 10
TBF_BURST = 20_000     # bytes; more than a frame


class Effect:
    visible_at_once = False  # the onset shows it, for example as the state of a link
    benign = False

    def __init__(self, state, fabric):
        self.state, self.fabric = state, fabric
        self.truth = {}

    def begin(self):
        pass

    def tick(self, now):
        pass

    def end(self):
        pass

    def affected(self):
        return None

    def claims(self):
        return ()

    def visible_ns(self):
        """The exact time if it is known, otherwise None."""
        return None


class OnWires(Effect):
    """Settings of the frames that some ports send."""

    def __init__(self, state, fabric, ports, settings):
        super().__init__(state, fabric)
        self.ports, self.settings = ports, settings

    def begin(self):
        for port in self.ports:
            wires.change(self.state, port, **self.settings)

    def end(self):
        self.last = self.read()
        for port in self.ports:
            normal = wires.healthy(self.fabric, port)
            wires.change(self.state, port, resets_affected=False,
                         **{name: getattr(normal, name) for name in self.settings})

    def claims(self):
        return [f"{name} of {port.full_name}" for port in self.ports for name in self.settings]

    def read(self):
        with wires.maps(self.state) as maps:
            counted = [maps["wire_counters"].read(port.index) for port in self.ports]
        visible = [one.visible_ns for one in counted if one.visible_ns]
        return sum(one.affected for one in counted), min(visible, default=None)

    def affected(self):
        return self.read()[0]

    def visible_ns(self):
        monotonic = self.read()[1]
        return monotonic and monotonic + time.time_ns() - time.monotonic_ns()


class LimitedRate(OnWires):
    """A token bucket behind the wire. All frames are affected."""

    QUEUE = 200_000  # bytes

    def __init__(self, state, fabric, ports, rate):
        super().__init__(state, fabric, ports, {"counts_all": 1})
        self.rate = rate

    def claims(self):
        return [f"the rate of {port.full_name}" for port in self.ports]

    def interfaces(self):
        return [self.fabric.ports[port.peer].wire for port in self.ports]

    def begin(self):
        Switches(self.state).enlarge_buffers()
        for name in self.interfaces():
            shown = run("tc", "qdisc", "show", "dev", name, "root", namespace=self.state.namespace(wires.NAMESPACE))
            if "tbf" in shown:
                raise Problem(f"{self.ports[0].full_name} already has a limited rate; end that fault first "
                              "(`testbeds/lab heal`)")
        for name in self.interfaces():
            run("tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", f"{self.rate}bit", "burst", TBF_BURST,
                "limit", self.QUEUE, namespace=self.state.namespace(wires.NAMESPACE))
        super().begin()

    def end(self):
        super().end()
        for name in self.interfaces():
            run("tc", "qdisc", "del", "dev", name, "root", check=False,
                namespace=self.state.namespace(wires.NAMESPACE))


class DegradedRate(LimitedRate):
    """The ports report the lower speed, as after the loss of lanes."""

    def __init__(self, state, fabric, link, ports, rate):
        super().__init__(state, fabric, ports, rate)
        self.link = link

    def begin(self):
        super().begin()
        with self.state.changed_conditions() as conditions:
            conditions["speeds"][self.link.name] = self.rate

    def end(self):
        super().end()
        with self.state.changed_conditions() as conditions:
            conditions["speeds"].pop(self.link.name, None)


class SlowNic(LimitedRate):
    """The NIC counts the packets that the token bucket drops as discarded. Its buffer is smaller than the
    packets of a queue pair that wait for an acknowledgement, so that it overflows."""

    QUEUE = 6_000  # bytes
    READ_SECONDS = 0.5

    def __init__(self, state, fabric, host, rate):
        super().__init__(state, fabric, [fabric.ports[host.nic.peer]], rate)
        self.host = host
        self.counted = 0
        self.read_at = 0

    def drops(self):
        shown = run("tc", "-s", "-j", "qdisc", "show", "dev", self.interfaces()[0], "root",
                    namespace=self.state.namespace(wires.NAMESPACE))
        return json.loads(shown)[0]["drops"]

    def count(self):
        """Adds the new drops to the discards of the NIC, which include those of earlier faults."""
        drops = self.drops()
        with self.state.changed_conditions() as conditions:
            discards = conditions["discards"]
            discards[self.host.name] = discards.get(self.host.name, 0) + drops - self.counted
        self.counted = drops

    def tick(self, now):
        if now >= self.read_at:
            self.count()
            self.read_at = now + self.READ_SECONDS

    def end(self):
        self.count()
        super().end()


class Delayed(OnWires):
    """The frames of a direction pass through a program (relay.py), which they reach over an additional veth pair."""

    def __init__(self, state, fabric, ports, delay, jitter=0.0, reorder=False):
        super().__init__(state, fabric, ports, {"counts_all": 1})
        self.delay, self.jitter, self.reorder = delay, jitter, reorder
        self.relays = []

    def claims(self):
        return [f"the far end of {port.full_name}" for port in self.ports]

    def names(self, port):
        return f"r{port.index}", f"s{port.index}"

    def begin(self):
        namespace = self.state.namespace(wires.NAMESPACE)
        links = run("ip", "-o", "link", "show", namespace=namespace)
        for port in self.ports:
            if f" {self.names(port)[0]}@" in links:
                raise Problem(f"{port.full_name} already has a delay; end that fault first (`testbeds/lab heal`)")
        for port in self.ports:
            entry, exit_ = self.names(port)
            ip_batch([f"link add name {entry} index {wires.RELAY_INDEX + port.index} mtu {wires.MTU} type veth peer "
                      f"name {exit_} mtu {wires.MTU}", f"link set dev {entry} up", f"link set dev {exit_} up"],
                     namespace)
            title = f"relay-{port.index}"
            self.relays.append(self.state.start(title, [
                sys.executable, "-B", pathlib.Path(__file__).with_name("relay.py"), exit_,
                self.fabric.ports[port.peer].wire, self.delay, self.jitter,
                *(["--reorder"] if self.reorder else [])], wires.NAMESPACE, prompt=True))
            self.wait_for(self.relays[-1], self.state.files / f"{title}.log")
            wires.change(self.state, port, other_end=wires.RELAY_INDEX + port.index, counts_all=1)

    def wait_for(self, process, log):
        end = time.monotonic() + RELAY_START_SECONDS
        while "ready" not in log.read_text():
            if process.poll() is not None or time.monotonic() > end:
                raise Problem(f"the program that delays frames (relay.py) did not start; see {log}")
            time.sleep(0.02)

    def end(self):
        """Frames that are delayed at this time are still sent."""
        for port in self.ports:
            wires.change(self.state, port, resets_affected=False, other_end=self.fabric.ports[port.peer].index)
        time.sleep(self.delay + self.jitter)
        super().end()
        for port, process in zip(self.ports, self.relays):
            process.terminate()
            process.wait()
            run("ip", "link", "del", "dev", self.names(port)[0], namespace=self.state.namespace(wires.NAMESPACE))


class Rerouted(Effect):
    """Changes links or groups, so that the switches must use other routes."""

    def __init__(self, state, fabric):
        super().__init__(state, fabric)
        self.reroute_at = None

    def reroute_soon(self):
        self.reroute_at = time.monotonic() + REROUTE_SECONDS

    def tick(self, now):
        if self.reroute_at is not None and now >= self.reroute_at:
            self.reroute_at = None
            self.reroute()

    def reroute(self):
        forwarding.reroute(Switches(self.state), self.fabric, self.state.conditions())


class LinksDown(Rerouted):
    visible_at_once = True

    def __init__(self, state, fabric, links):
        super().__init__(state, fabric)
        self.links = links

    def set_links(self, up):
        """Both ends of the wire lose their carrier."""
        ip_batch([f"link set dev {self.fabric.ports[end].wire} {'up' if up else 'down'}"
                  for link in self.links for end in link.ends], self.state.namespace(wires.NAMESPACE))
        with self.state.changed_conditions() as conditions:
            for link in self.links:
                if up:
                    conditions["down"].remove(link.name)
                else:
                    conditions["down"].append(link.name)
        self.reroute_soon()

    def claims(self):
        return [f"the state of {link.name}" for link in self.links]

    def refuse_down(self):
        if down := set(self.state.conditions()["down"]) & {link.name for link in self.links}:
            raise Problem(f"{', '.join(sorted(down))}: down because of another fault; end that fault first "
                          "(`testbeds/lab heal`)")

    def begin(self):
        self.refuse_down()
        self.set_links(up=False)

    def end(self):
        self.set_links(up=True)
        time.sleep(REROUTE_SECONDS)
        self.reroute()


class Flapping(LinksDown):
    """Down for the first half of each period."""

    def __init__(self, state, fabric, links, period):
        super().__init__(state, fabric, links)
        self.period = period

    def begin(self):
        super().begin()
        self.is_up = False
        self.change_at = time.monotonic() + self.period / 2

    def tick(self, now):
        super().tick(now)
        if now >= self.change_at:
            self.is_up = not self.is_up
            self.set_links(self.is_up)
            self.change_at += self.period / 2

    def end(self):
        if not self.is_up:
            super().end()
        elif self.reroute_at is not None:  # the link is up, but routing still avoids it
            self.reroute()


class NicDown(LinksDown):
    """The link of the host is down, and its endpoint is killed."""

    def __init__(self, state, fabric, host):
        super().__init__(state, fabric, [fabric.link_of[host.nic.full_name]])
        self.host = host

    def claims(self):
        return [*super().claims(), f"the endpoint of {self.host.name}"]

    def set_silent(self, is_silent):
        """A host that is down exports no counters."""
        with self.state.changed_conditions() as conditions:
            if is_silent:
                conditions["silent"].append(self.host.name)
            else:
                conditions["silent"].remove(self.host.name)

    def begin(self):
        self.refuse_down()  # before the endpoint is killed
        stop_endpoint(self.state, self.host)
        super().begin()
        self.set_silent(True)

    def end(self):
        super().end()
        self.set_silent(False)
        restart_jobs(self.state, self.fabric)


class Blackhole(Effect):
    def __init__(self, state, fabric, switch, host):
        super().__init__(state, fabric)
        self.switch, self.host = switch, host

    def claims(self):
        return [f"the flows of {self.switch.name} to {self.host.name}"]

    def set(self, on):
        forwarding.set_blackhole(Switches(self.state), self.switch.name, self.host.address, on)

    def begin(self):
        self.set(True)

    def end(self):
        self.last = self.affected()
        self.set(False)

    def affected(self):
        return forwarding.blackhole_packets(Switches(self.state), self.switch.name, self.host.address)


class Polarisation(Rerouted):
    """Groups with one bucket. Packets are affected if a hash over all buckets would have sent them elsewhere."""

    def __init__(self, state, fabric, switch):
        super().__init__(state, fabric)
        self.switch = switch
        self.ports = max(len(ports) for (name, _), ports in fabric.next_hops().items() if name == switch.name)
        if self.ports < 2:
            raise Problem(f"{switch.name}: it has no two equal-cost ports, so that polarisation has no effect")

    def claims(self):
        return [f"the groups of {self.switch.name}"]

    def begin(self):
        with self.state.changed_conditions() as conditions:
            conditions["polarised"].append(self.switch.name)
        self.reroute()
        self.before = self.packets()

    def end(self):
        self.last = self.affected()
        with self.state.changed_conditions() as conditions:
            conditions["polarised"].remove(self.switch.name)
        self.reroute()

    def packets(self):
        return forwarding.group_packets(Switches(self.state), self.switch.name)

    def affected(self):
        return int((self.packets() - self.before) * (self.ports - 1) / self.ports)


class Swapped(LinksDown):
    """Two cables exchange their far ends. Both are unplugged for UNPLUGGED_SECONDS at the start and at the end.
    Routing follows the actual cabling."""

    visible_at_once = False
    UNPLUGGED_SECONDS = 3.0

    def __init__(self, state, fabric, first, second):
        super().__init__(state, fabric, [fabric.link_of[first], fabric.link_of[second]])
        self.ends = (first, second)
        self.real = fabric.rewired([self.ends])
        self.ports = [fabric.ports[name] for port in self.ends for name in (port, fabric.ports[port].peer)]
        self.plug_at = None

    def claims(self):
        return super().claims() + [f"the far end of {port.full_name}" for port in self.ports]

    def plug(self, fabric):
        for port in self.ports:
            wires.change(self.state, port, other_end=fabric.ports[fabric.ports[port.full_name].peer].index,
                         counts_all=int(fabric is self.real))
        with self.state.changed_conditions() as conditions:
            if fabric is self.real:
                conditions["swaps"].append(list(self.ends))
            elif list(self.ends) in conditions["swaps"]:
                conditions["swaps"].remove(list(self.ends))
        self.set_links(up=True)

    def begin(self):
        super().begin()
        self.plug_at = time.monotonic() + self.UNPLUGGED_SECONDS

    def tick(self, now):
        super().tick(now)
        if self.plug_at is not None and now >= self.plug_at:
            self.plug_at = None
            self.plug(self.real)

    def end(self):
        self.last = self.affected()
        if self.plug_at is None:
            self.set_links(up=False)
            time.sleep(self.UNPLUGGED_SECONDS)
        self.plug(self.fabric)
        time.sleep(REROUTE_SECONDS)
        self.reroute()

    def affected(self):
        with wires.maps(self.state) as maps:
            return sum(maps["wire_counters"].read(port.index).affected for port in self.ports)


class SmallMtu(Effect):
    """The ports of a switch drop longer packets."""

    def __init__(self, state, fabric, switch, mtu):
        super().__init__(state, fabric)
        self.switch, self.mtu = switch, mtu

    def claims(self):
        return [f"the MTU of {self.switch.name}"]

    def set(self, mtu):
        ip_batch([f"link set dev {port.interface} mtu {mtu}" for port in self.switch.ports],
                 self.state.namespace(SWITCHES))
        Switches(self.state).enlarge_buffers()

    def drops(self):
        """The kernel counts frames that exceed the MTU of the interface as dropped at reception."""
        names = {port.interface for port in self.switch.ports}
        text = run("cat", "/proc/net/dev", namespace=self.state.namespace(SWITCHES))
        lines = (line.partition(":") for line in text.splitlines() if ":" in line)
        return sum(int(numbers.split()[3]) for name, _, numbers in lines if name.strip() in names)

    def begin(self):
        self.before = self.drops()
        self.set(self.mtu)

    def end(self):
        self.last = self.affected()
        self.set(wires.MTU)

    def affected(self):
        return self.drops() - self.before


class Signalled(Effect):
    """Stops the process of an endpoint for a part of each period."""

    PERIOD = 0.2  # seconds

    def __init__(self, state, fabric, host, stopped):
        super().__init__(state, fabric)
        self.host, self.stopped = host, stopped
        self.is_stopped = False
        self.change_at = 0

    def pid(self):
        pid = traffic.endpoints(self.state).get(self.host.name)
        if pid is None:
            raise Problem(f"{self.host.name}: no endpoint runs on this host; start it with `testbeds/lab traffic "
                          "start`")
        return pid

    def claims(self):
        return [f"the endpoint of {self.host.name}"]

    def begin(self):
        self.process = self.pid()

    def tick(self, now):
        if now < self.change_at:
            return
        self.is_stopped = not self.is_stopped
        send_signal(self.process, signal.SIGSTOP if self.is_stopped else signal.SIGCONT)
        self.change_at = now + self.PERIOD * (self.stopped if self.is_stopped else 1 - self.stopped)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGCONT)


class Straggler(Effect):
    """The ranks of a host compute more slowly."""

    def __init__(self, state, fabric, host, factor):
        super().__init__(state, fabric)
        self.host, self.factor = host, factor

    def claims(self):
        return [f"the compute time of {self.host.name}"]

    def file(self):
        return self.state.files / "endpoint" / f"{self.host.name}.slowdown"

    def begin(self):
        self.file().write_text(f"{self.factor}\n")

    def end(self):
        self.file().unlink(missing_ok=True)


class Killed(Effect):
    """The endpoint is killed, and all endpoints start again at the end. The network is healthy."""

    benign = True

    def __init__(self, state, fabric, host):
        super().__init__(state, fabric)
        self.host = host

    def claims(self):
        return [f"the endpoint of {self.host.name}"]

    def begin(self):
        stop_endpoint(self.state, self.host)

    def end(self):
        restart_jobs(self.state, self.fabric)


class Burst(Effect):
    """Traffic that is not RoCE, from one host to another."""

    benign = True

    def __init__(self, state, fabric, source, destination, rate):
        super().__init__(state, fabric)
        self.source, self.destination, self.rate = source, destination, rate

    def begin(self):
        self.process = traffic.start_burst(self.state, self.source, self.destination, self.rate)

    def end(self):
        self.process.terminate()
        self.process.wait()


def send_signal(pid, how):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        raise Problem("the endpoint has ended by itself; see endpoint-HOST.log of the lab") from None


def stop_endpoint(state, host):
    pid = traffic.endpoints(state).get(host.name)
    if pid is not None:
        send_signal(pid, signal.SIGKILL)


def restart_jobs(state, fabric):
    """Starts the endpoints of all hosts again, with new queue pairs."""
    lab = state.require()
    if lab["endpoint"]:
        build.start_traffic(state, fabric, lab["endpoint"], refuses_ended=False)
