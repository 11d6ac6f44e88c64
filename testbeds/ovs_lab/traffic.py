# SPDX-License-Identifier: BSD-3-Clause
"""The RoCEv2 endpoints of the hosts, and the plan file with the jobs that they run."""

import json
import pathlib
import shutil
import sys
import time

import slurm
import slurm_jobs
import truth
from problem import Problem, say
from state import write_atomically
from system import find_program

PROGRAM = "rocescope-lab-endpoint"
FOLDER = "testbeds/ovs_lab/endpoint"
# A machine that is busy with other programs delays packets by up to some tenths of a second.
ACK_TIMEOUT = "1s"
MOST_PACKETS, TOTAL_PACKETS = 1000, 8000  # per second: of a host, and of all hosts together
BEGIN_SECONDS = 1.5  # from the start of the endpoints to that of their jobs
LOG_SECONDS = 15


def default_jobs(fabric):
    """A ring over every second host, and an all-to-all over the others, so that both jobs use all leaves."""
    hosts = list(fabric.hosts)
    if len(hosts) < 4:
        return [job("pretrain", 1, hosts, "ring")]
    return [job("pretrain", 1, hosts[0::2], "ring"), job("finetune", 2, hosts[1::2], "all_to_all")]


def job(name, number, hosts, collective):
    return {"name": name, "id": number, "hosts": ",".join(hosts), "queue_pairs": 2,
            "phases": [{"name": collective, "collective": collective, "size": "256K", "compute": "200ms"}]}


def check_jobs(jobs, with_slurm, hosts):
    """Raises a Problem for what the commands of the lab cannot use. The endpoints check the jobs completely."""
    for number, one in enumerate(jobs or (), 1):
        if not isinstance(one, dict):
            raise Problem(f"job {number}: expected an object with the keys `name`, `hosts` and `phases`")
        where = f"job {one.get('name', number)}"
        if not isinstance(one.get("name", "job"), str) or not one.get("name", "job"):
            raise Problem(f"{where}: `name` is {one['name']!r}; expected a text")
        if type(one.get("id", number)) is not int:  # True is an int
            raise Problem(f"{where}: `id` is {one['id']!r}; expected a whole number")
        if "hosts" in one:
            check_hosts(where, one["hosts"], hosts)
        elif not with_slurm:
            raise Problem(f"{where}: the key `hosts` is missing; only Slurm chooses hosts (--slurm)")
        elif not isinstance(one.get("nodes"), int) or not 1 <= one["nodes"] <= len(hosts):
            raise Problem(f"{where}: expected the key `hosts`, or `nodes` with the number of hosts, from 1 to "
                          f"{len(hosts)}")
        phases = one.get("phases")
        if not isinstance(phases, list) or not phases or not all(
                isinstance(phase, dict) and "collective" in phase for phase in phases):
            raise Problem(f"{where}: expected the key `phases` with a list of objects that have the key `collective`")
    for key in ("name", "id"):
        values = [one[key] for one in with_defaults(jobs or ())]
        if twice := [value for value in dict.fromkeys(values) if values.count(value) > 1]:
            raise Problem(f"two jobs have the `{key}` {twice[0]!r} (without `{key}`, a job has its position in the "
                          "list)")


def check_hosts(where, text, hosts):
    try:
        names = truth.expand(text)
    except (TypeError, ValueError):
        raise Problem(f"{where}: `hosts` is {text!r}; expected names in one string, such as \"host[0-3]\" or "
                      "\"host0,host2\"") from None
    unknown = [name for name in names if name not in hosts]
    if unknown or not names:
        raise Problem(f"{where}: `hosts`: the lab has no host {', '.join(unknown) or text!r}; it has "
                      f"{', '.join(hosts)}")


def with_defaults(jobs):
    """The names and numbers that the endpoints use for jobs without."""
    return [{"name": f"job{number}", "id": number, **one} for number, one in enumerate(jobs, 1)]


def write_plan(state, fabric, jobs=None):
    write(state, {"topology": str(state.files / "topology.yaml"),
                  "jobs": with_defaults(jobs) if jobs else default_jobs(fabric),
                  "network": {"ack_timeout": ACK_TIMEOUT}, "start_number": 0,
                  "rate": f"{min(MOST_PACKETS, TOTAL_PACKETS // len(fabric.hosts))}pps"})


def plan_of(state):
    """With Slurm: the jobs that have started, on the hosts that Slurm allocated."""
    plan = read(state)
    return plan | {"jobs": slurm_jobs.started(state)} if slurm.is_used(state) else plan


def read(state):
    return json.loads((state.files / "plan.yaml").read_text())


def write(state, plan):
    write_atomically(state.files / "plan.yaml", json.dumps(plan, indent=1) + "\n")


def find_endpoint(given):
    program = find_program(given, PROGRAM, FOLDER)
    if program is None:
        raise Problem(f"the program {PROGRAM} was not found; build it (ninja -C build/release {PROGRAM}), or name it "
                      "with --endpoint")
    return program


def start(state, fabric, program):
    """Starts all endpoints again, with new queue pairs, as if the jobs were submitted again. Returns the process
    of each host; with Slurm none."""
    stop(state)
    plan = read(state)
    keep_earlier(state)
    if slurm.is_used(state):
        slurm_jobs.submit(state, plan["jobs"], program)
        return {}
    write(state, plan | {"start_number": plan["start_number"] + 1, "begin": round(time.time() + BEGIN_SECONDS, 3)})
    processes = {host.name: start_one(state, host, program) for host in fabric.hosts.values()}
    say(f"started {len(fabric.hosts)} endpoints; their logs are {state.files}/endpoint-HOST.log")
    return processes


def keep_earlier(state):
    """Copies the files of the endpoints, which the next start replaces. A capture contains both starts."""
    earlier = state.files / truth.EARLIER
    folder = earlier / str(1 + max((int(path.name) for path in earlier.glob("*")), default=-1))
    for part in ("nccl", "rdma", "endpoint"):
        if (state.files / part).exists():
            shutil.copytree(state.files / part, folder / part, dirs_exist_ok=True)
    if folder.exists():
        (folder / truth.STOPPED).write_text(f"{time.time_ns()}\n")


def wait_for_logs(state, fabric, processes):
    """Waits until the jobs have written their NCCL logs, which the appliance reads only at SIGHUP. Raises a Problem
    if one of the processes has ended."""
    end = time.monotonic() + LOG_SECONDS
    expected = {host.name for job in truth.plan_jobs(fabric, plan_of(state)) for host in job["hosts"]}
    while time.monotonic() < end:
        if all(log_is_complete(state.files / "nccl" / f"{name}.log") for name in expected):
            return True
        for host, process in processes.items():
            if process.poll() is not None:
                raise Problem(f"the endpoint of {host} has ended; {state.log_end(f'endpoint-{host}')}")
        time.sleep(0.1)
    return False


def failed_jobs(state):
    """Jobs that ended because a peer stopped answering."""
    return sorted({line["job"] for path in (state.files / "endpoint").glob("*.jsonl")
                   for line in truth.json_lines(path) if line.get("event") == "job_failed"})


def log_is_complete(path):
    return path.exists() and "Init COMPLETE" in path.read_text(errors="replace")


def start_one(state, host, program):
    return state.start(f"endpoint-{host.name}", [
        program, state.files / "plan.yaml", "--host", host.name, "--interface", "eth0", "-d", state.files],
        host.name, {"ROCESCOPE_LAB_HOST": host.name}, prompt=True)


def endpoints(state):
    """The processes of the endpoints by host."""
    found = {}
    for pid in state.processes():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                for entry in file.read().split(b"\0"):
                    if entry.startswith(b"ROCESCOPE_LAB_HOST="):
                        found[entry.partition(b"=")[2].decode()] = pid
        except OSError:
            continue
    return found


def stop(state):
    if slurm.is_used(state):
        slurm_jobs.cancel(state)
    state.stop_processes(set(endpoints(state).values()))


def start_burst(state, source, destination, rate):
    """Traffic from one host to another that is not RoCE. Returns the process."""
    return state.start(f"burst-{source.name}", [
        sys.executable, "-B", pathlib.Path(__file__).resolve().parent / "burst.py", "eth0",
        source.address, source.mac, destination.address, destination.mac, rate], source.name)
