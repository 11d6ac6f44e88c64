#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A long life of an appliance, compressed by a wall clock that runs faster (fast_clock.cc).

    tests/resilience/soak.py ROCESCOPE LIBRARY -d DIR [--minutes N] [--factor F] [--restart]

With the default factor, one minute is one hour of the appliance's life: analysis windows, counters,
rows of the history, jobs and findings all have the times of that clock. In each hour, 8 jobs of about
an hour start and 8 end, with 64 new queue pairs each; an agent of another host starts with a new log, and
the previous one is killed; a link fails for some minutes; a dashboard and a scraper read. The
telemetry is sFlow with the counters of all ports every 30 s, and INT reports of the queue pairs.

DIR keeps the history, the jobs and the measured points: a further run continues the life with a new
process, on the same clock. Prints the slope of the resident memory by hour, by linear regression over each
process's points after its warm-up, which lasts until each host had an agent and new flows replace those of
ended jobs (8 hours).
Exit codes: 0 the slope is below 1 MB per hour in each process and no job was lost, 1 otherwise.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import threading
import time

import fabric
from appliance import Appliance, slope

NS = 10**9
WINDOW = 60  # seconds of the appliance's clock
PERIOD = 30  # between the counters
WARM_UP_HOURS = 8
JOBS_AN_HOUR = 8
QUEUE_PAIRS = 64  # per job
FRAMES = 10_000_000  # per period
GOAL = 1.0  # MB per hour


class Clock:
    def __init__(self, factor, zero_ns):
        self.factor, self.zero_ns = factor, zero_ns

    def now_ns(self):
        return self.zero_ns + self.factor * (time.time_ns() - self.zero_ns)

    def hours(self, since_ns):
        return (self.now_ns() - since_ns) / NS / 3600


class Telemetry(threading.Thread):
    def __init__(self, appliance, clock, life):
        super().__init__(daemon=True)
        self.appliance, self.clock, self.life = appliance, clock, life
        self.stopped = threading.Event()
        self.hour_ns = 3600 * NS

    def run(self):
        switches = fabric.switches()
        sflow, reports = (self.appliance.addresses(what)[0] for what in ("sFlow", "INT reports"))
        psn = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not self.stopped.wait(PERIOD / self.clock.factor):
                now = self.clock.now_ns()
                fails = now // self.hour_ns % 2 == 0 and now % self.hour_ns < self.hour_ns // 6
                switches[0].status[4] = fabric.DOWN if fails else fabric.UP
                for one in switches:
                    one.carry(FRAMES)
                    sender.sendto(one.sflow(), sflow)
                psn += 1
                for first, source, destination in list(self.life.flows.values()):
                    for i in range(QUEUE_PAIRS):
                        for one in (0, 2, 1):
                            sender.sendto(switches[one].int_report(
                                source, destination, psn, (1, 5), now, qpn=first + i), reports)

    def finish(self):
        self.stopped.set()
        self.join()


class Life:
    """The jobs and agents of the fabric."""

    def __init__(self, state, folder, environment):
        self.state, self.folder, self.environment = state, folder, environment
        self.chance = random.Random(len(state["points"]))
        self.flows = {}  # by job: first queue pair number, and two hosts
        self.agent = None
        for job in state["running"]:
            self.add_flows(job)

    def add_flows(self, job):
        self.flows[job] = (16 + job * QUEUE_PAIRS % (1 << 23), job % 4, 4 + job % 4)

    def change_jobs(self, appliance):
        """One job ends and another one starts. Returns whether both are durable."""
        running = self.state["running"]
        durable = True
        if len(running) >= JOBS_AN_HOUR:
            job = running.pop(0)
            done = appliance.job("end", job)
            durable = done.returncode == 0 and not done.stderr
            self.flows.pop(job, None)
        self.state["last"] += 1
        job = self.state["last"]
        done = appliance.job("register", job, "--nodes", f"host{job % 4},host{4 + job % 4}")
        running.append(job)
        self.add_flows(job)
        return durable and done.returncode == 0 and not done.stderr

    def change_agent(self, appliance):
        self.kill_agent()
        number = self.state["agents"] = self.state["agents"] + 1
        host = f"host{number % fabric.HOSTS}"
        own = self.folder / "agent"
        own.mkdir(exist_ok=True)
        with open(own / "nccl.log", "w", encoding="ascii") as log:
            for i in range(2000):
                log.write(f"{host}:{i}:{i} [0] NCCL INFO comm 0x{i:x} rank 0 nranks 2 cudaDev 0 nvmlDev 0 "
                          f"busId b000 commId 0x{number:x}{i % 8:x} - Init COMPLETE\n")
        (own / "agent.yaml").write_text(json.dumps(
            {"appliance": appliance.grpc, "host": host, "nccl_logs": ["nccl.log"], "root": str(own),
             "queue_pairs": False, "counters": False}))
        self.agent = subprocess.Popen([appliance.program, "agent", "agent.yaml"], cwd=own,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      env=self.environment)

    def kill_agent(self):
        if self.agent:
            self.agent.kill()
            self.agent.wait()


def lost_jobs(appliance, state):
    listed = json.loads(appliance.job("list", "-o", "json").stdout)["registered_jobs"]
    return sorted(set(state["running"]) ^ {int(one["scheduler_job_id"]) for one in listed})


def read(appliance):
    for path in ("health", "findings", "jobs", "sources", "hotspots"):
        appliance.try_get(f"/api/v1/{path}")
    appliance.metric("rocescope_source_up")


def live(arguments, folder, state):
    """One process. Adds to the state: points of (process, hours since its start, megabytes)."""
    clock = Clock(arguments.factor, state["zero_ns"])
    environment = {"LD_PRELOAD": str(arguments.library.resolve()),
                   "FAST_CLOCK": f"{arguments.factor} {state['zero_ns']}"}
    config = {"topology": "fabric.yaml", "analysis_window": f"{WINDOW}s", "memory": "1G",
              "record_interval": "4s", "agents": {"silent_after": "1h"},
              "udp": {"sflow": ["127.0.0.1:0"], "int": ["127.0.0.1:0"], "senders": ["127.0.0.1"]},
              "history": {"file": "history.db"}, "jobs": {"file": "jobs.db"}}
    fabric.write_topology(arguments.rocescope, folder / "fabric.yaml")
    wrong = []
    process = state["processes"] = state["processes"] + 1
    begin = clock.now_ns()
    with Appliance(arguments.rocescope, folder, config, environment) as appliance:
        if lost := lost_jobs(appliance, state):
            wrong.append(f"jobs {lost} differ after the restart")
        life = Life(state, folder, {**os.environ, **environment})
        telemetry = Telemetry(appliance, clock, life)
        telemetry.start()
        end = time.monotonic() + 60 * arguments.minutes
        step = 0
        while time.monotonic() < end and appliance.process.poll() is None:
            if not life.change_jobs(appliance):
                wrong.append(f"job {state['last']}: not durable")
            if step % JOBS_AN_HOUR == 0:
                life.change_agent(appliance)
            read(appliance)
            state["points"].append((process, round(clock.hours(begin), 3),
                                    appliance.resident() / 1e6))
            (folder / "state.json").write_text(json.dumps(state))
            step += 1
            due = begin + step * 3600 * NS // JOBS_AN_HOUR
            time.sleep(max(0, (due - clock.now_ns()) / NS / arguments.factor))
        health = appliance.get("/api/v1/health")["problems"]
        telemetry.finish()
        life.kill_agent()
        events = len(appliance.events())
        if (code := appliance.end()) != 0:
            wrong.append(f"exit code {code}")
    state["lives"].append({"process": process, "hours": round(clock.hours(begin), 2),
                           "events": events, "health": health, "wrong": wrong})
    (folder / "state.json").write_text(json.dumps(state))


def trends(state):
    table = []
    for life in state["lives"]:
        points = [(hours, size) for process, hours, size in map(tuple, state["points"])
                  if process == life["process"]]
        late = [one for one in points if one[0] > WARM_UP_HOURS]
        row = {**life, "points": len(points), "last_mb": round(points[-1][1], 1)}
        if len(late) > 2:
            found, error = slope(late)
            row |= {"warm_mb": round(late[0][1], 1), "mb_per_hour": round(found, 3),
                    "standard_error": round(error, 3)}
        table.append(row)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocescope", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("-d", "--directory", type=pathlib.Path, required=True)
    parser.add_argument("--restart", action="store_true", help="begin a new life")
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--factor", type=int, default=60)
    arguments = parser.parse_args()
    folder = arguments.directory.resolve()
    if arguments.restart:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "state.json"
    state = json.loads(store.read_text()) if store.exists() else \
        {"zero_ns": time.time_ns(), "processes": 0, "running": [], "last": 0, "agents": 0,
         "points": [], "lives": []}
    live(arguments, folder, state)
    table = trends(state)
    print(json.dumps(table, indent=1))
    return 1 if any(one["wrong"] or one.get("mb_per_hour", 0) >= GOAL for one in table) else 0


if __name__ == "__main__":
    sys.exit(main())
