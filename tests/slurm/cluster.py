# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm cluster on loopback with real daemons: munged, slurmctld, and one slurmd per node."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "squeue")
DEVICES = ("null", "zero", "full", "random")  # stand-ins for GPUs: Slurm needs device files
GPUS = len(DEVICES)  # per node


def missing():
    """Returns why no cluster can be started, or an empty string."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=search_path())]
    if absent:
        return f"{', '.join(absent)} not installed (Debian: slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "slurmd requires root to run jobs"


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, folder, nodes, topology_conf, hooks):
        self.folder = pathlib.Path(folder)
        self.nodes = nodes
        self.daemons = []
        self.environment = dict(os.environ, PATH=search_path(),
                                SLURM_CONF=str(self.folder / "slurm.conf"))
        for name in ("munge", "state", *(f"spool/{node}" for node in nodes)):
            (self.folder / name).mkdir(mode=0o755, parents=True)
        (self.folder / "topology.conf").write_text(topology_conf)
        (self.folder / "gres.conf").write_text("".join(
            f"NodeName={','.join(nodes)} Name=gpu File=/dev/{device}\n" for device in DEVICES))
        self.write_slurm_conf(hooks)

    def write_slurm_conf(self, hooks):
        name = socket.gethostname().split(".")[0]
        control, *ports = free_ports(1 + len(self.nodes))
        lines = [
            "ClusterName=test", f"SlurmctldHost={name}(127.0.0.1)", f"SlurmctldPort={control}",
            "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge", "CredType=cred/munge",
            f"AuthInfo=socket={self.folder}/munge/socket", "MpiDefault=none",
            f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/spool/%n",
            f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd-%n.pid", "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none", "SwitchType=switch/none", "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core", "AccountingStorageType=accounting_storage/none",
            "JobAcctGatherType=jobacct_gather/none", "ReturnToService=2", "GresTypes=gpu",
            "SlurmdParameters=config_overrides",
            "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0",
            "TopologyPlugin=topology/tree", "SlurmctldDebug=info", "SlurmdDebug=info",
            f"PrologSlurmctld={hooks}/prolog_slurmctld",
            f"EpilogSlurmctld={hooks}/epilog_slurmctld"]
        lines += [f"NodeName={node} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs=4 "
                  f"RealMemory=100 Gres=gpu:{GPUS} State=UNKNOWN"
                  for node, port in zip(self.nodes, ports)]
        lines.append(f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES MaxTime=1 "
                     "OverSubscribe=NO State=UP")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")

    def start(self):
        munge = self.folder / "munge"
        key = munge / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}",
                    f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                    f"--log-file={munge}/log", f"--seed-file={munge}/seed", "--num-threads=2")
        self.wait_for(lambda: (munge / "socket").exists(), "munged's socket")
        self.daemon("slurmctld", "-D", "-i")
        for node in self.nodes:
            self.daemon("slurmd", "-D", "-N", node)
        self.wait_for(lambda: self.run("sinfo", "-h", "-o", "%t %D").stdout.split() ==
                      ["idle", str(len(self.nodes))], "all nodes to be idle", 60)

    def daemon(self, *words):
        log = open(self.folder / f"{words[0]}-{words[-1]}.out".replace("/", "_"), "wb")
        self.daemons.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=log))
        log.close()

    def wait_for(self, condition, what, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds} s for {what}:\n{self.logs()}")
            time.sleep(0.05)

    def logs(self):
        return "".join(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}\n"
                       for path in sorted(self.folder.glob("*.out")))

    def run(self, *words, check=False):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True,
                              timeout=60, cwd=self.folder)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.stdout}{done.stderr}\n{self.logs()}")
        return done

    def submit(self, script, *options):
        """Returns the job ID."""
        said = self.run("sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", script,
                        check=True)
        return int(said.stdout)

    def state_of(self, job):
        done = self.run("scontrol", "show", "job", str(job))
        return next((word.split("=")[1] for word in done.stdout.split()
                     if word.startswith("JobState=")), "")

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
