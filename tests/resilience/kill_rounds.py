#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills an appliance with SIGKILL at random times and restarts it, while a scheduler registers and
ends jobs, and events are written to the history.

    tests/resilience/kill_rounds.py ROCESCOPE [--rounds N] [--seed S] [-o FILE]

After each restart: the log reports no damage, neither file was moved aside, every acknowledged
registration and end of a job is there, and so is every event that could be read before the kill. One
round in five kills the appliance while it starts. At the end, SQLite's integrity check passes for
both files. Prints the figures as JSON.
Exit codes: 0 all checks hold, 1 a check fails.
"""
import argparse
import json
import pathlib
import random
import re
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import time

import fabric
from appliance import Appliance, DidNotStart
from scheduler import Requests, Scheduler

CONFIG = {"topology": "fabric.yaml", "analysis_window": "100ms", "memory": "1G",
          "udp": {"sflow": ["127.0.0.1:0"], "senders": ["127.0.0.1"]},
          "history": {"file": "history.db"}, "jobs": {"file": "jobs.db"}}
PERIOD = 0.02
FRAMES = 20_000


class Faults(threading.Thread):
    """sFlow of switches with links that go down and come up, so that there are events all the time."""

    def __init__(self, address, chance):
        super().__init__(daemon=True)
        self.address, self.chance = address, chance
        self.stopped = threading.Event()

    def run(self):
        switches = fabric.switches()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not self.stopped.wait(PERIOD):
                for one in switches:
                    one.carry(FRAMES)
                    if self.chance.random() < 0.1:
                        port = self.chance.randrange(one.ports)
                        one.status[port] = fabric.UP + fabric.DOWN - one.status[port]
                    one.fcs_errors[0] += self.chance.randrange(FRAMES)
                    sender.sendto(one.sflow(), self.address)

    def finish(self):
        self.stopped.set()
        self.join()


def stored_events(folder):
    """The events that a reader of the history sees."""
    path = pathlib.Path(folder, "history.db")
    if not path.exists():
        return set()
    history = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
    try:
        return set(history.execute("SELECT id, at_ns, kind, place FROM events"))
    finally:
        history.close()


def intact(path):
    database = sqlite3.connect(path)
    try:
        return database.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        database.close()


def examine(appliance, scheduler, seen, wrong):
    """Checks an appliance after a restart."""
    if found := re.search(r".*(damaged|moved|broken|malformed|corrupt).*", appliance.log()):
        wrong.append(f"log: {found.group(0)}")
    wrong += [f"{path.name} was moved aside" for path in appliance.folder.glob("*.broken-*")]
    wrong += scheduler.lost(appliance)
    if lost := seen - stored_events(appliance.folder):
        wrong.append(f"{len(lost)} events were lost, for example {min(lost)}")


def kill_at_start(program, folder, chance):
    appliance = Appliance(program, folder, CONFIG, wait=False)
    time.sleep(chance.uniform(0, 0.3))
    appliance.end(signal.SIGKILL)


def kill_round(program, folder, chance, scheduler, seen):
    """Returns the events that were seen before the kill, and sentences about failures."""
    wrong = []
    with Appliance(program, folder, CONFIG) as appliance:
        examine(appliance, scheduler, seen, wrong)
        faults = Faults(appliance.addresses("sFlow")[0], random.Random(chance.random()))
        requests = [Requests(scheduler, appliance) for _ in range(2)]
        for one in (faults, *requests):
            one.start()
        time.sleep(chance.uniform(0.1, 1.8))
        seen = seen | stored_events(folder)
        time.sleep(chance.uniform(0, 0.2))
        appliance.end(signal.SIGKILL)
        for one in (faults, *requests):
            one.finish()
    return seen, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocescope", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    scheduler = Scheduler(arguments.seed)
    wrong, seen = [], set()
    at_start = 0
    with tempfile.TemporaryDirectory() as folder:
        fabric.write_topology(arguments.rocescope, pathlib.Path(folder, "fabric.yaml"))
        for number in range(arguments.rounds):
            if number % 20 == 0:
                print(f"{number} rounds, {len(wrong)} failures", file=sys.stderr, flush=True)
            try:
                if number % 5 == 4:
                    kill_at_start(arguments.rocescope, folder, chance)
                    at_start += 1
                    continue
                seen, failed = kill_round(arguments.rocescope, folder, chance, scheduler, seen)
                wrong += [f"round {number}: {one}" for one in failed]
            except DidNotStart as problem:
                wrong.append(f"round {number}: {problem}")
        with Appliance(arguments.rocescope, folder, CONFIG) as appliance:
            examine(appliance, scheduler, seen, wrong)
            if (code := appliance.end()) != 0:
                wrong.append(f"exit code {code}")
        wrong += [f"{name}: {found}" for name in ("history.db", "jobs.db")
                  if (found := intact(pathlib.Path(folder, name))) != "ok"]
    figures = {"rounds": arguments.rounds, "killed_while_starting": at_start,
               "acknowledged_requests": scheduler.acknowledged, "jobs_running": len(scheduler.running),
               "jobs_ended": len(scheduler.ended), "unanswered_requests": scheduler.unanswered,
               "refused_requests": scheduler.refused, "not_durable": scheduler.not_durable,
               "events_seen": len(seen), "failed": wrong}
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    if not scheduler.acknowledged or not seen:
        return 1  # nothing was tested
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
