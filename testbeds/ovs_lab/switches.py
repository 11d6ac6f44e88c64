# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch: one ovsdb-server and one ovs-vswitchd for all switches of the lab, in the namespace of the
switches and with files of their own, so that an Open vSwitch of this machine is not affected. The
datapath is the one in user space and needs no kernel module."""

import pathlib
import time

import buffers
from problem import Problem, say
from system import run

NAMESPACE = "fabric"
UNDERLAY = "underlay"  # bridge that connects the switches with the collector
COLLECTOR_PORT = "collector"
SCHEMA = pathlib.Path("/usr/share/openvswitch/vswitch.ovsschema")
START_SECONDS = 20


class Switches:
    def __init__(self, state):
        self.state = state
        self.folder = state.files / "ovs"
        self.database = f"unix:{self.folder / 'db.sock'}"
        self.environment = {"OVS_RUNDIR": str(self.folder), "OVS_DBDIR": str(self.folder),
                            "OVS_LOGDIR": str(self.folder)}

    def start(self):
        self.folder.mkdir()
        if not SCHEMA.exists():
            raise Problem(f"{SCHEMA} is missing; install it: apt-get install openvswitch-switch")
        run("ovsdb-tool", "create", self.folder / "conf.db", SCHEMA, environment=self.environment)
        self.processes = [
            self.state.start("ovsdb-server", [
                "ovsdb-server", self.folder / "conf.db", f"--remote=p{self.database}",
                f"--unixctl={self.folder / 'ovsdb-server.ctl'}", "-vconsole:info"], NAMESPACE,
                self.environment)]
        self.wait_for(self.folder / "db.sock")
        self.vsctl("--no-wait", "init")
        # The datapath of the kernel is not used; ovs-vswitchd warns every two seconds if it is missing.
        self.processes.append(self.state.start("ovs-vswitchd", [
            "ovs-vswitchd", self.database, f"--unixctl={self.folder / 'ovs-vswitchd.ctl'}",
            "-vconsole:info", "-vdpif:err"], NAMESPACE, self.environment, prompt=True))
        self.wait_for(self.folder / "ovs-vswitchd.ctl")

    def wait_for(self, path):
        end = time.monotonic() + START_SECONDS
        while not path.exists():
            ended = [one for one in self.processes if one.poll() is not None]
            if ended or time.monotonic() > end:
                logs = "; ".join(self.state.log_end(name) for name in ("ovsdb-server", "ovs-vswitchd")
                                 if (self.state.files / f"{name}.log").exists())
                raise Problem(f"Open vSwitch did not start; {logs}")
            time.sleep(0.02)

    def vsctl(self, *words):
        return run("ovs-vsctl", f"--db={self.database}", f"--timeout={START_SECONDS}", *words,
                   environment=self.environment)

    def appctl(self, *words):
        return run("ovs-appctl", "-t", self.folder / "ovs-vswitchd.ctl", *words,
                   environment=self.environment)

    def ofctl(self, command, bridge, *words, given=None):
        return run("ovs-ofctl", "-O", "OpenFlow15", *command.split(), self.folder / f"{bridge}.mgmt", *words,
                   environment=self.environment, given=given)

    def create_bridges(self, fabric):
        words = ["add-br", UNDERLAY, "--", "set", "bridge", UNDERLAY, "datapath_type=netdev", "--",
                 "add-port", UNDERLAY, COLLECTOR_PORT]
        for switch in fabric.switches.values():
            # `secure`: without flows a bridge forwards nothing.
            words += ["--", "add-br", switch.name, "--", "set", "bridge", switch.name,
                      "datapath_type=netdev", "fail-mode=secure",
                      "protocols=OpenFlow13,OpenFlow15", f"other-config:datapath-id={switch.id:016x}"]
            for port in switch.ports:
                words += ["--", "add-port", switch.name, port.interface, "--", "set", "interface",
                          port.interface, f"ofport_request={port.number}"]
        self.vsctl(*words)
        self.check_ports(fabric)
        self.enlarge_buffers()

    def enlarge_buffers(self):
        """Must be repeated when Open vSwitch has opened ports again, for example for another MTU, and after the
        first frame, because the socket that sends is opened then."""
        buffers.enlarge(self.pid())

    def pid(self):
        for pid, command in self.state.processes().items():
            if command == "ovs-vswitchd":
                return pid
        raise Problem(f"ovs-vswitchd has ended; build the lab again (`testbeds/lab down{self.state.option()}`, then "
                      f"`up`); {self.state.log_end('ovs-vswitchd')}")

    def check_ports(self, fabric):
        shown = self.vsctl("--format=csv", "--no-headings", "--columns=name,ofport,error", "list",
                           "interface")
        found = {name: (number, error) for name, number, error in
                 (line.split(",", 2) for line in shown.splitlines())}
        for switch in fabric.switches.values():
            for port in switch.ports:
                number, error = found.get(port.interface, ("[]", "missing"))
                if number != str(port.number):
                    raise Problem(f"Open vSwitch did not add {port.full_name}: {error}")
        say(f"{len(fabric.switches)} switches with {sum(len(s.ports) for s in fabric.switches.values())} "
            "ports")
