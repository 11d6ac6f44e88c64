# SPDX-License-Identifier: BSD-3-Clause
"""The command `status`."""

import http.client

import appliance
import faults
import slurm
import slurm_jobs
import telemetry
import traffic
import wires
from fabric import Fabric
from problem import Problem
from switches import Switches
from system import namespace_exists


def show_status(state):
    lab = state.require()
    fabric = Fabric(lab["fabric"])
    print(f"Lab {state.name}: {len(fabric.switches)} switches, {len(fabric.hosts)} hosts, "
          f"{len(fabric.links)} links; state in {state.path}")
    if not lab.get("complete"):
        print(f"Warning: {state.incomplete()}")
    missing = [name for name in state.namespaces() if not namespace_exists(name)]
    if missing:
        print(f"Missing namespaces: {', '.join(missing)}; build the lab again (`testbeds/lab down{state.option()}`, "
              "then `up`)")
    running = sorted(state.processes().values())
    print(f"Processes: {', '.join(f'{running.count(name)} {name}' for name in dict.fromkeys(running))}")
    show_wires(state, fabric)
    show_mirrors(state)
    show_faults(state)
    if slurm.is_used(state):
        show_queue(state)
    if failed := traffic.failed_jobs(state):
        print(f"Failed jobs: {', '.join(failed)}; `testbeds/lab traffic{state.option()} start` starts all jobs again")
    try:
        health = appliance.get(lab["http"], "/api/v1/health")
        print(f"Appliance: {health.get('state')}; problems: {'; '.join(health.get('problems', ())) or 'none'}")
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"Appliance: no answer on 127.0.0.1:{lab['http']}: {error}")


def show_wires(state, fabric):
    print(f"{'Sending port':<26} {'frames':>10} {'CE marks':>8} {'lost':>8} {'FCS err.':>8} {'corrupt':>8}")
    for name, counted in wires.counters(state, fabric).items():
        print(f"  {name:<24} {counted.frames:>10} {counted.marked:>8} {counted.lost:>8} "
              f"{counted.bit_errors:>8} {counted.corrupted:>8}")


def show_mirrors(state):
    mirrored = telemetry.counts(Switches(state))
    print(f"Mirrored packets, according to Open vSwitch: {sum(mirrored.values())} in {len(mirrored)} sessions")


def show_faults(state):
    for number, fault in faults.all_of(state).items():
        print(f"Fault {number}: {fault['name']} {fault['place']} {fault['value'] or ''}: "
              f"{'active' if faults.is_active(fault) else fault.get('problem', 'ended')}")


def show_queue(state):
    print("Slurm jobs:")
    try:
        print(slurm_jobs.queue(state), end="")
    except Problem as problem:
        print(f"  {problem}")
