# SPDX-License-Identifier: BSD-3-Clause
"""A running appliance, the mirror traffic of a large fabric, and clients.

The lcore has the first core to itself, as in production. Everything else, including the load
generators, shares the second core."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

import measure

LCORE, REST = "0", "1"
FABRIC = ["leaf-spine", "--hosts", "2048", "--nics", "8", "--leaves", "256", "--spines", "64"]
QUEUE_PAIRS = 100_000


def cores():
    if len(os.sched_getaffinity(0)) < 2:
        raise measure.Unavailable("the group `appliance` requires two cores, one of them for the lcore")


def stolen_seconds():
    """CPU time that the hypervisor stole since boot."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Appliance:
    """rocescope run, in a separate directory. `config` is added to the configuration."""

    def __init__(self, settings, config=None, environment=None, folder=None, dpdk=True,
                 wrap=()):
        cores()
        self.settings = settings
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="rocescope-appliance-"))
        self.temporary = folder is None
        self.program = measure.built(settings.build, "rocescope")
        self.socket = self.folder / "mirror.sock"
        self.socket.unlink(missing_ok=True)
        fabric = self.folder / "fabric.yaml"
        if not fabric.exists():
            with open(fabric, "wb") as file:
                subprocess.run([self.program, "topology", "generate", *FABRIC], stdout=file,
                               check=True)
        whole = {"topology": "fabric.yaml", "http": "127.0.0.1:0",
                 "grpc": {"listen": ["127.0.0.1:0"]},
                 "history": {"file": "history.db"}}
        if dpdk:
            whole["dpdk"] = {"eal": [
                "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m", "512", "-l", LCORE,
                f"--vdev=net_memif0,role=server,socket={self.socket},socket-abstract=no,bsize=256,"
                "rsize=14"]}
        whole.update(config or {})
        (self.folder / "appliance.yaml").write_text(json.dumps(whole, indent=1))
        self.errors = open(self.folder / "stderr", "w+", encoding="utf-8")
        self.events = open(self.folder / "events", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [*wrap, "taskset", "-c", REST, self.program, "run", "appliance.yaml", "-o", "json"],
            cwd=self.folder, stdout=self.events, stderr=self.errors,
            env={**os.environ, **(environment or {})})
        self.page = self.await_said(r"dashboard at (http://[0-9.:]+)/")
        self.grpc = self.await_said(r"gRPC on ([0-9.:]+)")

    def said(self):
        return (self.folder / "stderr").read_text(errors="replace")

    def await_said(self, pattern, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := re.search(pattern, self.said()):
                return found.group(1)
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise measure.Unavailable(f"the appliance did not start: {self.said()[-2000:]}")

    def get(self, path, timeout=20):
        with urllib.request.urlopen(self.page + path, timeout=timeout) as answer:
            return json.load(answer)

    def source(self, kind):
        return next(s for s in self.get("/api/v1/sources")["sources"] if s["kind"] == f"KIND_{kind.upper()}")

    def resident(self):
        """In bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)
        self.errors.close()
        self.events.close()
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)


class Program:
    """A program of tests/perf that prints one JSON object at its end. It runs on the second core."""

    def __init__(self, settings, name, *words):
        self.name = name
        # The traffic generator must not wait for the appliance or the other load.
        nice = {"mirror_player": "-10", "telemetry_load": "10"}.get(name)
        first = ["nice", "-n", nice] if nice and os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [*first, "taskset", "-c", REST, measure.built(settings.build, name), *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self):
        out, err = self.process.communicate()
        if self.process.returncode != 0:
            raise measure.Unavailable(f"{self.name}: status {self.process.returncode}\n{err[-2000:]}")
        return json.loads(out) | ({"said": err.splitlines()[-20:]} if err.count("\n") > 1 else {})


class Reader(threading.Thread):
    """Sends the requests of a dashboard and a scraper every two seconds, and counts failures."""

    PATHS = ["/api/v1/health", "/api/v1/sources", "/api/v1/jobs", "/api/v1/findings",
             "/api/v1/hotspots", "/metrics"]

    def __init__(self, appliance):
        super().__init__(daemon=True)
        self.appliance = appliance
        self.stopped = threading.Event()
        self.asked = self.failed = 0
        self.worst = 0.0  # seconds

    def run(self):
        while not self.stopped.wait(2):
            for path in self.PATHS:
                begin = time.monotonic()
                try:
                    with urllib.request.urlopen(self.appliance.page + path, timeout=20) as answer:
                        answer.read()
                except OSError:
                    self.failed += 1
                self.asked += 1
                self.worst = max(self.worst, time.monotonic() - begin)

    def finish(self):
        self.stopped.set()
        self.join()
        return {"http_asked": self.asked, "http_failed": self.failed,
                "http_worst_s": round(self.worst, 3)}


def play(settings, appliance, rate, seconds, queries=0, churn=0, meanwhile=None):
    """Plays the mirror traffic and returns the result. `queries`: gRPC calls per second after all queue
    pairs have been observed. `meanwhile(appliance)` runs in parallel."""
    stolen = stolen_seconds()
    before = appliance.source("dpdk")
    player = Program(settings, "mirror_player", appliance.socket, "--rate", rate, "--seconds", seconds,
                     "--churn", churn, "--queue-pairs", QUEUE_PAIRS)
    reader = Reader(appliance)
    reader.start()
    warm = min(10, seconds / 3)
    time.sleep(warm)
    asker = Program(settings, "service_load", "--appliance", appliance.grpc, "--rate", queries, "--seconds",
                    seconds - warm - 1, "--queue-pairs", QUEUE_PAIRS) if queries else None
    if meanwhile:
        meanwhile(appliance)
    found = player.result()
    found |= reader.finish()
    if asker:
        found["queries"] = asker.result()
    time.sleep(1)
    found |= received(appliance, before)
    found["stolen_s"] = round(stolen_seconds() - stolen, 2)
    found["resident"] = appliance.resident()
    return found


def received(appliance, before):
    """The frames that the appliance has counted since then, by result."""
    end = time.monotonic() + 10
    last = None
    while (now := appliance.source("dpdk")) != last and time.monotonic() < end:
        last = now
        time.sleep(0.3)
    ledger, old = now["ledger"], before["ledger"]
    dropped = sum(int(d["count"]) for d in ledger["dropped"]) - \
        sum(int(d["count"]) for d in old["dropped"])
    decoded = int(ledger["decoded"]) - int(old["decoded"])
    total = int(ledger["received"]) - int(old["received"])
    return {"received": total, "decoded": decoded, "dropped": dropped,
            "balances": total == decoded + dropped,
            "records": int(now["records"]) - int(before["records"]),
            "records_dropped": int(now["dropped_records"]) - int(before["dropped_records"])}
