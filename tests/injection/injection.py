#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails one call of `rocescope run` at a time, and checks how the appliance copes.

    tests/injection/injection.py ROCESCOPE LIBRARY -d DIR [--sample N] [--kind KIND]
                                 [--seconds S] [--seed S] [--jobs N] [--restart]

Each experiment is one short life of an appliance: it starts; sFlow, INT reports and an exporter report
faults; a scheduler registers and ends jobs; an agent reports a log; a client reads the HTTP API; and
SIGTERM ends it. During that life, one call fails, or all from one on:

    allocation  operator new throws std::bad_alloc, for each place in the program that allocates
    write       write, writev and pwrite fail with ENOSPC or EIO
    sync        fsync and fdatasync fail with EIO
    connect     connect fails with ECONNREFUSED
    clock       the wall clock is an hour ahead or back

Then the appliance starts again without failing calls. The checks: the exit code is one of the documented
ones and the appliance ended in time; if it ended early, its log says why; every change of a job
that it acknowledged as durable is known after the restart; no file was moved aside.

The first life counts the calls. Then the experiments run in random order until all are done, or
until `--sample` of each kind are. DIR contains one line for each experiment that is done
(results.jsonl): a second run continues. The appliance restricts itself as usual (`sandbox: auto`).
Prints the figures as JSON. Exit codes: 0 all checks hold, 1 a check fails.
"""
import argparse
import concurrent.futures
import contextlib
import errno
import http.server
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from failing_calls import ALL, KINDS, Plan

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "resilience"))
import fabric  # noqa: E402
from appliance import Appliance, DidNotStart  # noqa: E402
from scheduler import Scheduler  # noqa: E402

HOUR_NS = 3600 * 10**9
PATHS = ["/api/v1/health", "/api/v1/findings", "/api/v1/jobs", "/metrics"]
DOCUMENTED = {0, 1, 3, 4}
PERIOD = 0.02
FRAMES = 20_000
LONG_ENOUGH = 60  # seconds until an appliance that got SIGTERM counts as hanging


class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = b'fabric_port_fcs_errors{node="leaf0",port="Ethernet5"} 7\n'
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(OSError):  # the appliance has ended
            self.wfile.write(text)

    def log_message(self, *_):
        pass


class World:
    """What is around the appliance: an exporter, and the configuration."""

    def __init__(self, program):
        self.program = program
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.config = {
            "topology": "fabric.yaml", "analysis_window": "100ms", "memory": "1G",
            "udp": {"sflow": ["127.0.0.1:0"], "int": ["127.0.0.1:0"], "senders": ["127.0.0.1"]},
            "scrape": {"targets": [{"period": "100ms", "url":
                                    f"http://127.0.0.1:{self.server.server_address[1]}/metrics"}]},
            "history": {"file": "history.db"}, "jobs": {"file": "jobs.db"}}
        with tempfile.NamedTemporaryFile() as file:
            fabric.write_topology(program, file.name)
            self.topology = pathlib.Path(file.name).read_bytes()

    def furnish(self, folder):
        pathlib.Path(folder, "fabric.yaml").write_bytes(self.topology)
        pathlib.Path(folder, "nccl.log").write_text(
            "host0:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId b000 "
            "commId 0xabc - Init COMPLETE\n")


def send_telemetry(appliance, stopped):
    switches = fabric.switches()
    sflow, reports = (appliance.addresses(what)[0] for what in ("sFlow", "INT reports"))
    number = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while not stopped.wait(PERIOD):
            number += 1
            for one in switches:
                one.carry(FRAMES)
                one.fcs_errors[0] += FRAMES // 5
                one.status[-1] = fabric.DOWN if number % 20 < 10 else fabric.UP
                sender.sendto(one.sflow(), sflow)
                sender.sendto(one.int_report(number % 8, (number + 3) % 8, number, (1, 5),
                                             time.time_ns()), reports)


@contextlib.contextmanager
def agent(appliance, folder):
    pathlib.Path(folder, "agent.yaml").write_text(json.dumps(
        {"appliance": appliance.grpc, "host": "host0", "nccl_logs": ["nccl.log"], "root": folder,
         "queue_pairs": False, "counters": False}))
    process = subprocess.Popen([appliance.program, "agent", "agent.yaml"], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def live(appliance, folder, scheduler, seconds):
    """The scripted second. Ends early if the appliance does."""
    stopped = threading.Event()
    telemetry = threading.Thread(target=send_telemetry, args=(appliance, stopped), daemon=True)
    telemetry.start()
    end = time.monotonic() + seconds
    last_health = {}
    with agent(appliance, folder):
        while True:
            for path in PATHS:
                with contextlib.suppress(OSError, ValueError):
                    answer = appliance.get(path, timeout=2) if path != "/metrics" else \
                        appliance.metric("rocescope_source_up")
                    last_health = answer if path == PATHS[0] else last_health
            if appliance.process.poll() is not None or time.monotonic() > end:
                break
            scheduler.request(appliance, 2)
    stopped.set()
    telemetry.join()
    return last_health


def stop(appliance):
    """SIGTERM. Returns the exit code; None: it did not end in time."""
    if appliance.process.poll() is None:
        appliance.process.send_signal(signal.SIGTERM)
    try:
        return appliance.process.wait(LONG_ENOUGH)
    except subprocess.TimeoutExpired:
        return None


def experiment(world, library, what, seconds):
    """One life with a failing call, and one without. Returns the observations."""
    with tempfile.TemporaryDirectory() as folder:
        world.furnish(folder)
        plan = Plan(pathlib.Path(folder, "plan"))
        plan.fail(**what)
        scheduler = Scheduler()
        result = {"what": what, "wrong": []}
        wrong = result["wrong"]
        with Appliance(world.program, folder, world.config, plan.environment(library),
                       wait=False) as appliance:
            health = {}
            try:
                appliance.wait_for_start()
                health = live(appliance, folder, scheduler, seconds)
            except DidNotStart:
                result["started"] = False
            ended_early = appliance.process.poll() is not None
            code = stop(appliance)
            log = appliance.log()
        result |= {"exit_code": code, "ended_early": ended_early, "failed_calls": plan.failed(),
                   "calls": plan.calls(), "acknowledged": scheduler.acknowledged}
        if what["first"] == 0:
            result["sites"] = {str(site): calls for site, calls in plan.sites().items()}
        plan.close()
        if code not in DOCUMENTED:
            wrong.append("does not end after SIGTERM" if code is None else f"exit code {code}")
        if ended_early and "ERROR" not in log and "rocescope: " not in log:
            wrong.append("ended without a message")
        result["reported"] = ended_early or "ERROR" in log or "WARNING history" in log or \
            any("history" in one or "jobs" in one for one in health.get("problems", []))
        if wrong:
            result["log"] = log[-1500:]
        try:
            with Appliance(world.program, folder, world.config) as again:
                wrong += scheduler.lost(again)
                if (code := again.end()) != 0:
                    wrong.append(f"restart: exit code {code}")
        except DidNotStart as problem:
            wrong.append(f"restart: {problem}")
        wrong += [f"{path.name} was moved aside"
                  for path in pathlib.Path(folder).glob("*.broken-*")]
        return result


def experiments(counted, chance, sample):
    """All experiments, or `sample` of each kind, in random order. Allocations fail at the first and at
    a random later call of each place that allocates."""
    calls = counted["calls"]
    every = {kind: [] for kind in KINDS}
    for site, count in sorted(counted["sites"].items()):
        every["allocation"].append({"site": int(site), "first": 1})
        if count > 1:
            later = random.Random(int(site)).randrange(2, count + 1)
            every["allocation"].append({"site": int(site), "first": later})
    errors = {"write": [errno.ENOSPC, errno.EIO], "sync": [errno.EIO],
              "connect": [errno.ECONNREFUSED]}
    for kind, numbers in errors.items():
        for first in range(1, calls[kind] + 1):
            every[kind] += [{"first": first, "error": error, "count": count}
                            for error in numbers for count in (1, ALL)]
    every["clock"] = [{"first": first, "count": count, "clock_ns": ahead}
                      for first in range(1, calls["clock"] + 1) for count in (1, ALL)
                      for ahead in (HOUR_NS, -HOUR_NS)]
    chosen = []
    for kind, some in every.items():
        chance.shuffle(some)
        chosen += [{"kind": kind, **one} for one in some[:sample]]
    return chosen, {kind: len(some) for kind, some in every.items()}


def summary(results, possible):
    table = {}
    for kind in KINDS:
        own = [one for one in results if one["what"]["kind"] == kind and one["what"]["first"]]
        table[kind] = {"possible": possible[kind], "done": len(own),
                       "call_reached": sum(one["failed_calls"] > 0 for one in own),
                       "ended_early": sum(one["ended_early"] for one in own),
                       "reported": sum(one["reported"] for one in own),
                       "acknowledged_changes": sum(one["acknowledged"] for one in own),
                       "failed": sum(bool(one["wrong"]) for one in own)}
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocescope", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("-d", "--directory", type=pathlib.Path, required=True)
    parser.add_argument("--restart", action="store_true", help="delete the results in DIR first")
    parser.add_argument("--sample", type=int, help="experiments of each kind; default: all")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--life", type=float, default=1, help="seconds of each life")
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="start no experiment after this time; 0: print the figures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="experiments at the same time")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    arguments.directory.mkdir(parents=True, exist_ok=True)
    store = arguments.directory / "results.jsonl"
    if arguments.restart:
        store.unlink(missing_ok=True)
    world = World(arguments.rocescope.resolve())
    library = arguments.library.resolve()
    results = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    with open(store, "a", encoding="utf-8") as file:
        def keep(result):
            results.append(result)
            file.write(json.dumps(result) + "\n")
            file.flush()
        if not results:
            keep(experiment(world, library, {"kind": "write", "first": 0}, arguments.life))
            if results[0]["wrong"] or not results[0]["acknowledged"]:
                print(json.dumps(results[0], indent=1))
                return 1
        chosen, possible = experiments(results[0], random.Random(arguments.seed), arguments.sample)
        done = [one["what"] for one in results]
        random.Random(arguments.seed).shuffle(chosen)
        due = [what for what in chosen if what not in done and
               (not arguments.kind or what["kind"] in arguments.kind)]

        def run(what):
            if time.monotonic() < end:
                return experiment(world, library, what, arguments.life)
            return None

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for result in pool.map(run, due):
                if result is None:
                    continue
                keep(result)
                if result["wrong"]:
                    print(result["what"], result["wrong"], file=sys.stderr, flush=True)
    print(json.dumps({"counted": results[0]["calls"], "kinds": summary(results, possible),
                      "failed": [{"what": one["what"], "wrong": one["wrong"]}
                                 for one in results if one["wrong"]][:20]}, indent=1))
    return 1 if any(one["wrong"] for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
