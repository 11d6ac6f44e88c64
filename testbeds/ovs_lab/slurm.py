# SPDX-License-Identifier: BSD-3-Clause
"""The Slurm cluster of a lab: munged and slurmctld, one slurmd in the namespace of each host, and the prolog
and epilog of testbeds/slurm, which register the jobs with the appliance."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time

import appliance
import management
import telemetry
from problem import Problem
from state import MARK
from system import in_namespace, run

# Programs and the Debian packages that contain them.
PROGRAMS = {"munged": "munge", **dict.fromkeys(
    ("slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "sinfo", "squeue"), "slurm-wlm")}
HOOKS = appliance.source("..").resolve() / "slurm"
PARTITION = "fabric"
FIRST_JOB = 101
GPU_DEVICE = "/dev/null"  # Slurm needs a device file for each GPU to report the index of an allocated one
KILL_SECONDS = 5
START_SECONDS = 60


def is_used(state):
    return state.require().get("slurm", False)


def folder(state):
    return state.files / "slurm"


def environment(state):
    return {"SLURM_CONF": str(folder(state) / "slurm.conf")}


def client(state, *words):
    """The output of a command of Slurm, run on the controller."""
    return run(*words, namespace=state.namespace(management.NAMESPACE),
               environment=state.environment(environment(state)))


def run_command(state, words):
    """Runs a command of the user on the controller. Returns its exit code."""
    if not state.require_complete().get("slurm"):
        raise Problem(f"the lab \"{state.name}\" has no Slurm; remove it with `testbeds/lab down{state.option()}`, "
                      f"then build it with `testbeds/lab up --slurm{state.option()}`")
    return subprocess.run(in_namespace(state.namespace(management.NAMESPACE), words),
                          env=state.environment(environment(state))).returncode


# Configuration

def configuration(state, fabric):
    """slurm.conf. No file or socket is outside the state directory."""
    files = folder(state)
    settings = {
        "ClusterName": state.name, "SlurmUser": "root", "SlurmdUser": "root",
        "SlurmctldHost": f"{socket.gethostname().partition('.')[0]}({management.CONTROLLER_ADDRESS})",
        "AuthType": "auth/munge", "CredType": "cred/munge", "AuthInfo": f"socket={files}/munge/socket",
        "StateSaveLocation": f"{files}/state", "SlurmdSpoolDir": f"{files}/spool/%n",
        "SlurmctldPidFile": f"{files}/slurmctld.pid", "SlurmdPidFile": f"{files}/slurmd-%n.pid",
        "PrologSlurmctld": f"{files}/hooks/prolog_slurmctld", "EpilogSlurmctld": f"{files}/hooks/epilog_slurmctld",
        # All hosts are one machine: no limits, no control groups.
        "ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none", "SwitchType": "switch/none",
        "MpiDefault": "none", "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none", "SlurmdParameters": "config_overrides",
        "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core", "GresTypes": "gpu",
        "TopologyPlugin": "topology/tree", "ReturnToService": 2, "KillWait": KILL_SECONDS,
        "FirstJobId": FIRST_JOB, "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,sched_interval=2"}
    nodes = [f"NodeName={host} NodeAddr={address} CPUs=4 RealMemory=100 Gres=gpu:1 State=UNKNOWN"
             for host, address in management.addresses(fabric).items()]
    partition = (f"PartitionName={PARTITION} Nodes={','.join(fabric.hosts)} Default=YES MaxTime=UNLIMITED "
                 "OverSubscribe=NO State=UP")
    return "\n".join([*(f"{key}={value}" for key, value in settings.items()), *nodes, partition, ""])


def hook_settings(state, rocescope):
    """rocescope.conf: settings of the prolog and the epilog, which do not have the environment of slurmctld."""
    files = folder(state)
    return "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in {
        "ROCESCOPE": rocescope, "ROCESCOPE_APPLIANCE": f"127.0.0.1:{appliance.GRPC_PORT}",
        "ROCESCOPE_LOG": files / "hooks.log", "ROCESCOPE_LOCKS": files / "locks",
        "export PATH": os.environ["PATH"], "export SLURM_CONF": files / "slurm.conf",
        f"export {MARK}": state.path}.items())


def write_files(state, fabric, rocescope):
    files = folder(state)
    for name in ("munge", "state", *(f"spool/{host}" for host in fabric.hosts)):
        (files / name).mkdir(parents=True)
    key = files / "munge/key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    (files / "slurm.conf").write_text(configuration(state, fabric))
    (files / "gres.conf").write_text(f"NodeName={','.join(fabric.hosts)} Name=gpu File={GPU_DEVICE}\n")
    (files / "topology.conf").write_text(run(rocescope, "topology", "export", state.files / "topology.yaml",
                                             "--format", "slurm"))
    shutil.copytree(HOOKS, files / "hooks")
    (files / "hooks/rocescope.conf").write_text(hook_settings(state, rocescope))


# Daemons

def start(state, fabric, rocescope):
    """Returns when all nodes are idle."""
    management.create(state, fabric)
    write_files(state, fabric, rocescope)
    munge = folder(state) / "munge"
    munged = state.start("munged", [
        "munged", "--foreground", "--force", "--num-threads=2", f"--key-file={munge}/key",
        f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
        f"--seed-file={munge}/seed"])
    wait_for((munge / "socket").exists, {"munged": munged}, state)
    # The prolog and the epilog reach the appliance on the loopback address of the controller.
    state.start("control-forwarder", [sys.executable, "-B", appliance.source("forwarder.py"),
                                      state.namespace(telemetry.NAMESPACE),
                                      f"{appliance.GRPC_PORT}:{appliance.GRPC_PORT}"], management.NAMESPACE)
    daemons = {"slurmctld": state.start("slurmctld", ["slurmctld", "-D", "-i"], management.NAMESPACE,
                                        environment(state))}
    for host in fabric.hosts:
        daemons[f"slurmd-{host}"] = state.start(f"slurmd-{host}", ["slurmd", "-D", "-N", host], host,
                                                environment(state))
    wait_for(lambda: idle_nodes(state) == len(fabric.hosts), daemons, state)


def idle_nodes(state):
    try:
        return client(state, "sinfo", "-h", "-N", "-o", "%t").split().count("idle")
    except Problem:
        return 0  # slurmctld does not listen yet


def wait_for(condition, processes, state):
    """`processes`: those that must run until the condition holds, by the name of their log."""
    end = time.monotonic() + START_SECONDS
    while not condition():
        ended = [name for name, process in processes.items() if process.poll() is not None]
        if ended or time.monotonic() > end:
            name = ended[0] if ended else next(iter(processes))
            raise Problem(f"{name} {'has ended' if ended else f'is not ready after {START_SECONDS} s'}; "
                          f"{state.log_end(name)}")
        time.sleep(0.1)
