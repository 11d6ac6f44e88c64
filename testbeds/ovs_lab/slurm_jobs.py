# SPDX-License-Identifier: BSD-3-Clause
"""The jobs of a lab with Slurm: each job of the plan is submitted as a batch job (batch_job.py)."""

import json
import shlex
import sys
import time

import appliance
import slurm
import truth
from problem import Problem, say

START_SECONDS = 20
LOOK_SECONDS = 3
END_SECONDS = 30


def submit(state, jobs, program):
    """Returns when each job runs or waits for hosts."""
    for path in plans(state):
        path.unlink()
    numbers = [slurm.client(state, *batch_command(state, index, job, program)).strip()
               for index, job in enumerate(jobs)]
    begin = time.monotonic()
    while len(plans(state)) < len(jobs) and time.monotonic() < begin + START_SECONDS:
        time.sleep(0.1)
        if time.monotonic() > begin + LOOK_SECONDS and len(plans(state)) + waiting(state) == len(jobs):
            break
    say(f"submitted the jobs {', '.join(numbers)}, of which {len(plans(state))} run; their logs are "
        f"{slurm.folder(state)}/job-NUMBER.log")
    if len(plans(state)) < len(jobs):
        say(f"`testbeds/lab slurm{state.option()} squeue` shows why the other jobs wait")


def batch_command(state, index, job, program):
    """A job with the key `hosts` runs on these hosts. For a job with the key `nodes`, Slurm chooses the hosts."""
    hosts = truth.expand(job["hosts"]) if "hosts" in job else []
    script = shlex.join([sys.executable, "-B", str(appliance.source("batch_job.py")), str(state.path), str(index),
                         program])
    return ["sbatch", "--parsable", "--job-name", job["name"], "--nodes", len(hosts) or job["nodes"],
            *(["--nodelist", ",".join(hosts)] if hosts else []), "--ntasks-per-node", 1, "--gres", "gpu:1",
            "--no-requeue", "--chdir", state.files, "--output", slurm.folder(state) / "job-%j.log",
            "--wrap", f"exec {script}"]


def waiting(state):
    """The number of jobs that wait for hosts which other jobs use."""
    return sum(reason in ("Resources", "Priority")
               for reason in slurm.client(state, "squeue", "-h", "-t", "PENDING", "-o", "%r").split("\n"))


def plans(state):
    """The plan files that the batch jobs have written, one for each job that has started."""
    return sorted(slurm.folder(state).glob("*.plan"), key=lambda path: int(path.stem))


def started(state):
    """The jobs that have started, with the number and the hosts that Slurm gave them."""
    return [json.loads(path.read_text())["jobs"][0] for path in plans(state)]


def cancel(state):
    """Returns when all jobs have ended."""
    end = time.monotonic() + END_SECONDS
    while numbers := slurm.client(state, "squeue", "-h", "-o", "%A").split():
        if time.monotonic() > end:
            raise Problem(f"Slurm jobs do not end within {END_SECONDS} s after scancel: {', '.join(numbers)}; see "
                          f"{state.files}/slurmctld.log")
        slurm.client(state, "scancel", *numbers)
        time.sleep(0.3)


def queue(state):
    return slurm.client(state, "squeue", "-o", "%.8A %.20j %.10T %.10M %.5D %R")
