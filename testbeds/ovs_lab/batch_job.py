# SPDX-License-Identifier: BSD-3-Clause
"""Runs a job of the plan on the hosts that Slurm has allocated: one endpoint on each host. It ends when the
job has finished, or has failed on a host.

    batch_job.py STATE_DIRECTORY INDEX ENDPOINT      (only started by sbatch, on the first host)
"""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from state import NICENESS, write_atomically  # noqa: E402
from truth import expand  # noqa: E402

BEGIN_SECONDS = 2.5  # from the start of the job to that of its traffic; all endpoints must be up by then
LOOK_SECONDS = 0.5
END_SECONDS = 5
# `testbeds/lab fault` finds the endpoint of a host by its environment.
TASK = ('export ROCESCOPE_LAB_HOST="$SLURMD_NODENAME"; exec nice -n "$1" "$2" "$3" --host "$SLURMD_NODENAME" '
        '--interface eth0 -d "$4"')


def allocated_hosts():
    return subprocess.run(["scontrol", "show", "hostnames"], check=True, capture_output=True,
                          text=True).stdout.split()


def allocated(job, number, hosts):
    """The job with its number in Slurm and its hosts, by rank. Slurm sorts the hosts; if they are those of the
    plan, the order of the plan is kept."""
    planned = expand(job.get("hosts", ""))
    ranks = planned if sorted(planned) == sorted(hosts) else hosts
    return {**{key: value for key, value in job.items() if key != "nodes"}, "id": number, "hosts": ",".join(ranks)}


class Events:
    """What the endpoint of a host reports about its jobs."""

    def __init__(self, path):
        self.path, self.offset = path, 0

    def read(self):
        """The new lines. A last line that was not completed is read the next time."""
        if not self.path.exists():
            return []
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            whole, end, _ = file.read().rpartition(b"\n")
        self.offset += len(whole) + len(end)
        return [json.loads(line) for line in whole.splitlines()]


def outcome(step, files, hosts):
    """The exit code of the job: 0 if it has finished on all hosts."""
    events = {host: Events(files / "endpoint" / f"{host}.jsonl") for host in hosts}
    finished = set()
    while step.poll() is None:
        for host in hosts:
            found = {line.get("event") for line in events[host].read()}
            if "job_failed" in found:
                print(f"the job has failed on {host}; see {events[host].path}", flush=True)
                return 1
            if "job_finished" in found:
                finished.add(host)
        if len(finished) == len(hosts):
            return 0
        time.sleep(LOOK_SECONDS)
    return step.returncode


def main():
    files, index, program = pathlib.Path(sys.argv[1]) / "run", int(sys.argv[2]), sys.argv[3]
    number, hosts = int(os.environ["SLURM_JOB_ID"]), allocated_hosts()
    for host in hosts:  # an earlier job has left them
        for name in (f"endpoint/{host}.jsonl", f"nccl/{host}.log"):
            (files / name).unlink(missing_ok=True)
    plan = json.loads((files / "plan.yaml").read_text())
    path = files / "slurm" / f"{number}.plan"
    write_atomically(path, json.dumps(plan | {
        "jobs": [allocated(plan["jobs"][index], number, hosts)], "start_number": number,
        "begin": round(time.time() + BEGIN_SECONDS, 3)}, indent=1) + "\n")
    step = subprocess.Popen(["srun", "--ntasks-per-node=1", "--kill-on-bad-exit=1", "sh", "-c", TASK, "task",
                             str(NICENESS), program, str(path), str(files)])
    code = outcome(step, files, hosts)
    if step.poll() is None:
        end_step(step, f"{number}.0")
    return code


def end_step(step, name):
    """The endpoints end at SIGTERM, after they have written their counters."""
    subprocess.run(["scancel", "--signal=TERM", name])
    try:
        step.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        subprocess.run(["scancel", name])
        step.wait()


if __name__ == "__main__":
    sys.exit(main())
