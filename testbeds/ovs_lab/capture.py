# SPDX-License-Identifier: BSD-3-Clause
"""The command `capture`: a run directory (dataplane/run/README.md) with what the collector receives."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import fault_kinds
import faults
import slurm
import telemetry
import traffic
import truth
import wires
from fabric import Fabric
from paths import PathRecorder, read_flows
from problem import Problem, say
from system import require_program

SECOND = 10**9
STEP_SECONDS = 1.0
START_SECONDS = 10
END_SECONDS = 20
PARTS = ("run.json", "topology.yaml", "mirror.pcap", "sflow.pcap", "counters.jsonl", "nccl", "rdma", "slurm.json",
         "truth.json")


def capture(state, folder, seconds, planned):
    """`planned`: faults to inject, as (onset, duration, kind, place, value). If it fails, it removes what it has
    written."""
    lab = state.require_complete()
    fabric = Fabric(lab["fabric"])
    check_planned(state, fabric, planned)
    existed = pathlib.Path(folder).exists()
    folder = prepare(folder)
    try:
        start_ns, end_ns, recorder = record_run(state, fabric, folder, seconds, planned)
        write(state, lab, fabric, folder, recorder, start_ns, end_ns)
    except BaseException as error:
        say(f"the capture has failed; removing its files in {folder}")
        remove_parts(folder)
        if not existed:
            with contextlib.suppress(OSError):  # it is not empty
                folder.rmdir()
        if isinstance(error, OSError):
            raise Problem(f"{folder}: the capture cannot be written: {error}") from None
        raise
    say(f"{folder}: {seconds:g} s; analyse it with `rocescope replay {folder}`, and score it with "
        f"`testbeds/lab score {folder}`")
    if failed := traffic.failed_jobs(state):
        say(f"warning: these jobs have failed and may have sent no packets: {', '.join(failed)}; start all jobs again "
            f"with `testbeds/lab traffic{state.option()} start`")


def check_planned(state, fabric, planned):
    """Checks the places and the values of the faults, and that no two of them are active at the same place."""
    earlier = []
    for onset, duration, kind, place, value in planned:
        claims = set(fault_kinds.make(state, fabric, kind, place, value).claims())
        for other_onset, other_end, other, other_claims in earlier:
            if claims & other_claims and onset < other_end and other_onset < onset + duration:
                raise Problem(f"--fault: the faults {other} and {kind} {place} are active at the same place at the "
                              "same time; change their times")
        earlier.append((onset, onset + duration, f"{kind} {place}", claims))


def record_run(state, fabric, folder, seconds, planned):
    """Returns the times of start and end, and the PathRecorder."""
    url = f"http://{telemetry.UNDERLAY_ADDRESS}:{telemetry.EXPORTER_PORT}/metrics"
    process = state.start("recorder", [sys.executable, "-B", pathlib.Path(__file__).with_name("recorder.py"),
                                       folder, url], telemetry.NAMESPACE)
    try:
        wait_for_captures(state, process, folder)
        start_ns = time.time_ns()
        try:
            recorder = record(state, fabric, process, seconds, sorted(planned, key=lambda one: one[0]))
        finally:
            end_ns = time.time_ns()
            faults.heal(state)
    finally:
        code = stop_recorder(process)
    if code != 0:
        raise Problem(f"the recorder failed with exit code {code}; {state.log_end('recorder')}")
    return start_ns, end_ns, recorder


def stop_recorder(process):
    process.terminate()
    try:
        return process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with its tcpdump processes
        return process.wait()


def prepare(folder):
    require_program("tcpdump", "tcpdump")
    if not str(folder):
        raise Problem("-d: the name of the directory is empty")
    folder = pathlib.Path(folder).resolve()
    try:
        for part in PARTS:
            if (folder / part).exists():
                raise Problem(f"{folder / part} exists already; remove it, or choose another directory with -d")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(f"-d {folder}: cannot create the directory: {error.strerror}") from None
    return folder


def remove_parts(folder):
    """Removes what a capture has written. Other files remain."""
    for part in PARTS:
        if (folder / part).is_dir():
            shutil.rmtree(folder / part, ignore_errors=True)
        else:
            (folder / part).unlink(missing_ok=True)


def wait_for_captures(state, process, folder):
    end = time.monotonic() + START_SECONDS
    while not all((folder / name).exists() for name in ("mirror.pcap", "sflow.pcap")):
        if process.poll() is not None or time.monotonic() > end:
            raise Problem(f"the recorder did not start; {state.log_end('recorder')}")
        time.sleep(0.05)


def record(state, fabric, process, seconds, planned):
    """Injects the faults at their times, and records the paths of all flows."""
    recorder = PathRecorder()
    begin, last_ns, steps = time.monotonic(), time.time_ns(), 0
    with wires.maps(state) as maps:
        while True:
            now_ns = time.time_ns()
            conditions = state.conditions()
            real = fabric.rewired(conditions["swaps"]) if conditions["swaps"] else fabric
            recorder.take(real, read_flows(maps["wire_flows"].items()), last_ns, now_ns)
            last_ns = now_ns
            if time.monotonic() >= begin + seconds:
                return recorder
            if process.poll() is not None:
                raise Problem(f"the recorder has ended early; {state.log_end('recorder')}")
            while planned and time.monotonic() >= begin + planned[0][0]:
                _, duration, kind, place, value = planned.pop(0)
                faults.inject(state, kind, place, value, duration)
            steps = max(steps, int((time.monotonic() - begin) / STEP_SECONDS)) + 1
            due = min(begin + steps * STEP_SECONDS, begin + seconds, *(begin + one[0] for one in planned[:1]))
            time.sleep(max(0, due - time.monotonic()))


def write(state, lab, fabric, folder, recorder, start_ns, end_ns):
    shutil.copyfile(state.files / "topology.yaml", folder / "topology.yaml")
    # NCCL writes a log for each process. The queue pairs are those that exist at the end.
    *earlier, last = truth.starts_within(state.files, start_ns, end_ns)
    logs = {}
    for part in ("nccl", "rdma"):
        logs[part] = any((last / part).iterdir())
        if logs[part]:
            shutil.copytree(last / part, folder / part, dirs_exist_ok=True)
    for start in earlier:
        for log in (start / "nccl").glob("*.log"):
            (folder / "nccl").mkdir(exist_ok=True)
            shutil.copyfile(log, folder / "nccl" / f"{log.stem}.{start.name}.log")
    if slurm.is_used(state):
        (folder / "slurm.json").write_text(slurm.client(state, "squeue", "--json"))
    content = truth.build(state.name, fabric, traffic.plan_of(state), state.files, recorder,
                          faults.all_of(state), start_ns, end_ns, lab["sflow_rate"])
    (folder / "truth.json").write_text(json.dumps(content, indent=1) + "\n")
    manifest = {
        "schema_version": 1, "scenario": state.name, "seed": 0, "epoch_ns": start_ns,
        "duration_ns": end_ns - start_ns, "record_interval_ns": SECOND // 10,
        "analysis_window_ns": lab["window"] * SECOND, "counter_period_ns": SECOND, "time_scale": 1,
        "ports": {"int_reports": 32766, "int_md": 555, "sflow": telemetry.SFLOW_PORT},
        "telemetry": {"mirror": True, "int_reports": False, "sflow": True, "counters": True,
                      "nccl_logs": logs["nccl"], "rdma": logs["rdma"]}}
    # Last, so that a directory with run.json is complete.
    (folder / "run.json").write_text(json.dumps(manifest, indent=2) + "\n")
