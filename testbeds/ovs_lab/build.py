# SPDX-License-Identifier: BSD-3-Clause
"""Builds a lab in the order in which its parts need each other."""

import dataclasses
import json
import time

import appliance
import fabric as fabrics
import forwarding
import management
import slurm
import switches as ovs
import telemetry
import traffic
import wires
from problem import Problem, say
from system import check_machine, find_program


@dataclasses.dataclass
class Options:
    leaves: int
    spines: int
    hosts: int
    speed: str
    sflow_rate: int
    sflow_polling: int
    window: int
    http: int
    grpc: int
    rocescope: str
    endpoint: str
    jobs: list
    no_traffic: bool
    slurm: bool = False


def up(state, options):
    """If it fails, it removes what it has built."""
    check_machine(slurm.PROGRAMS if options.slurm else None)
    state.refuse_existing()
    appliance.check_ports(options.http, options.grpc)
    rocescope = find_program(options.rocescope, "rocescope", "appliance")
    if rocescope is None:
        raise Problem("the program rocescope was not found; build it (ninja -C build/release rocescope), or name it "
                      "with --rocescope")
    endpoint = None if options.no_traffic else traffic.find_endpoint(options.endpoint)
    fabric = fabrics.generate(rocescope, options.leaves, options.spines, options.hosts, options.speed)
    traffic.check_jobs(options.jobs, options.slurm, fabric.hosts)
    state.create()
    try:
        build(state, fabric, options, rocescope, endpoint)
    except BaseException as error:
        say("the lab could not be built; removing what exists of it")
        state.remove()
        if isinstance(error, OSError):
            raise Problem(f"cannot build the lab in {state.path}: {error}") from None
        raise


def build(state, fabric, options, rocescope, endpoint):
    begin = time.monotonic()
    state.create_namespaces([ovs.NAMESPACE, wires.NAMESPACE, telemetry.NAMESPACE, *fabric.hosts,
                             *([management.NAMESPACE] if options.slurm else [])])
    content = {"fabric": fabric.shown, "rocescope": rocescope, "endpoint": endpoint,
               **{key: getattr(options, key) for key in ("http", "grpc", "window", "sflow_rate", "speed", "slurm")}}
    state.save({**content, "complete": False})
    wires.create(state, fabric)
    telemetry.create_underlay(state)
    switches = ovs.Switches(state)
    switches.start()
    switches.create_bridges(fabric)
    forwarding.install(switches, fabric)
    telemetry.address_underlay(state, switches, fabric)
    topology = fabrics.topology(fabric, state.name, telemetry.mirrors_of_topology(fabric))
    (state.files / "topology.yaml").write_text(json.dumps(topology, indent=1) + "\n")
    traffic.write_plan(state, fabric, options.jobs)
    appliance.start_exporter(state)
    appliance.start(state, rocescope, options.window)
    telemetry.enable_mirrors(switches, fabric)
    telemetry.enable_sflow(switches, fabric, options.sflow_rate, options.sflow_polling)
    appliance.start_forwarder(state, options.http, options.grpc)
    if options.slurm:
        slurm.start(state, fabric, rocescope)
    if endpoint:
        start_traffic(state, fabric, endpoint)
    state.save({**content, "complete": True, "start_ns": time.time_ns()})
    say(f'lab "{state.name}" is up after {time.monotonic() - begin:.1f} s')


def start_traffic(state, fabric, endpoint, refuses_ended=True):
    """`refuses_ended`: an endpoint that ends at once, for example because of an invalid job, is a Problem."""
    processes = traffic.start(state, fabric, endpoint)
    if not traffic.wait_for_logs(state, fabric, processes if refuses_ended else {}):
        logs = f"{slurm.folder(state)}/job-NUMBER.log" if slurm.is_used(state) else f"{state.files}/endpoint-HOST.log"
        say(f"not all jobs have written NCCL logs to {state.files}/nccl, so that the appliance does not know all "
            f"ranks; see {logs}")
    appliance.read_host_files(state)
    ovs.Switches(state).enlarge_buffers()
