# SPDX-License-Identifier: BSD-3-Clause
"""Group `box`: `rocescope run` under the load of a large fabric, from other processes."""

import json
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time

import measure
from running_box import Box, LCORE, Program, REST, play

RATE = 2_000_000  # frames/s
QUERIES = 2_500  # a second, for a bar of 2,000
MOST_LATE = 0.01  # of the frames
DISTURBED_SECONDS = 20
# Of a datagram on a socket: a sample or two, so that one sender's core makes more than any collector
# takes.
SOCKET_BYTES = 300


def not_held(found, rate, seconds):
    """Why a paced run counts for nothing; None if it counts."""
    due = rate * seconds
    sent = found["sent"] + found["missed"]
    if sent < (1 - MOST_LATE) * due:
        return f"the player sent {sent} of {due:.0f} frames: it had too little of its core. "
    if not found["balances"]:
        return "the ledger did not balance. "
    return None


def lost(found):
    """Frames that a mirror sent and the box does not know."""
    return found["sent"] + found["missed"] - found["received"]


# --- the mirror path ---------------------------------------------------------------------------

def mirror_bars(settings):
    seconds = settings.box_seconds
    with Box(settings) as box:
        found = play(settings, box, RATE, seconds, queries=QUERIES)
    queries = found["queries"]
    why = not_held(found, RATE, seconds)
    answered = queries["calls"] - queries["errors"]
    return [
        measure.Bar(name="mirror_2m_loss", value=lost(found), unit="packets", goal=0, exactly=True,
                    not_held=why, details=found),
        measure.Bar(name="queries_100k_qps", value=answered / queries["seconds"], unit="calls/s",
                    goal=2000, not_held="without paths or hotspots. "
                    if not (queries["paths"] and queries["hotspots"]) else None, details=queries),
        measure.Bar(name="queries_100k_qps_p99", value=queries["p99_ms"], unit="ms", goal=10,
                    at_most=True),
    ]


def limit_bars(settings, seconds=15):
    with Box(settings) as box:
        fastest = play(settings, box, 0, 6)
    limit = fastest["received"] / fastest["seconds"]
    with Box(settings) as box:
        found = play(settings, box, 0.7 * limit, seconds)
    return [measure.Bar(name="mirror_70_percent_unaccounted", value=found["sent"] - found["received"],
                        unit="packets", goal=0, exactly=True,
                        not_held=not_held(found, 0.7 * limit, seconds),
                        reference={"name": "limit", "value": limit, "unit": "packets/s"},
                        details=found)]


# --- telemetry ----------------------------------------------------------------------------------

def memory_bars(settings):
    bars = []
    for kind, name, goal in (("int", "int_decode", 10e6), ("sflow", "sflow_decode", 20e6)):
        found = Program(settings, "telemetry_load", "memory", "--kind", kind, "--rounds",
                        settings.rounds).result()
        bars.append(measure.Bar(
            name=name, value=found["rate"], unit="reports/CPU-s" if kind == "int" else
            "samples/CPU-s", goal=goal, details=found,
            not_held=None if found["records"] == found["units"] else "not all became records. "))
    return bars


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def kernel_drops(port):
    """Datagrams that the socket on this port had no room for."""
    for line in pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].split(":")[1], 16) == port:
            return int(fields[12])
    raise measure.Unavailable(f"nobody listens on UDP port {port}")


def cpu_seconds(pid):
    """That the threads of a process which goes on have taken."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def datagram_rate(settings, kind, command, port, seconds=6):
    """Of a flood from the second core: datagrams a second that a collector on the first one takes;
    how many came; and for how many a second of its core's time would do."""
    with tempfile.TemporaryFile() as said:
        collector = subprocess.Popen(["taskset", "-c", LCORE, *map(str, command)],
                                     stdout=said, stderr=said)
        try:
            time.sleep(1.5)
            before = cpu_seconds(collector.pid)
            sent = Program(settings, "telemetry_load", "send", "--kind", kind, "--port", port,
                           "--seconds", seconds, "--bytes", SOCKET_BYTES).result()
            time.sleep(0.5)
            drops = kernel_drops(port)
            spent = cpu_seconds(collector.pid) - before
        finally:
            collector.terminate()
            collector.wait(30)
    taken = sent["sent"] - drops
    return taken / sent["seconds"], sent["sent"] / sent["seconds"], taken / spent


def socket_bars(settings):
    program = measure.built(settings.build, "telemetry_load")
    sfcapd = measure.installed("sfcapd", "nfdump-sflow")
    rates = {"int": [], "sflow": [], "sfcapd": [], "offered": []}
    per_core = {"int": [], "sflow": [], "sfcapd": []}
    for _ in range(3):
        for kind in ("int", "sflow"):
            port = free_port()
            rate, offered, of_core = datagram_rate(
                settings, kind, [program, "receive", "--kind", kind, "--port", port], port)
            rates[kind].append(rate)
            per_core[kind].append(of_core)
            rates["offered"].append(offered)
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            rate, _, of_core = datagram_rate(settings, "sflow", [
                sfcapd, "-b", "127.0.0.1", "-p", port, "-w", folder, "-B", 16 << 20], port)
            rates["sfcapd"].append(rate)
            per_core["sfcapd"].append(of_core)
    ours = {kind: statistics.median(found) for kind, found in per_core.items()}
    unit = "datagrams/CPU-s"
    reference = {"name": "sfcapd", "value": ours["sfcapd"], "unit": unit}
    return [
        measure.Bar(name="int_socket", value=ours["int"], unit=unit, goal=300e3),
        measure.Bar(name="sflow_socket", value=ours["sflow"], unit=unit, goal=300e3,
                    reference=reference),
        measure.Bar(name="sflow_socket_ratio", value=ours["sflow"] / ours["sfcapd"],
                    unit="of sfcapd", goal=1.5, reference=reference,
                    details={"taken_per_s": rates, "per_cpu_s": per_core}),
    ]


# --- what must not cost a frame -----------------------------------------------------------------

class Sockets:
    """Clients that ask and never read, scrape targets that never answer."""

    def __init__(self):
        self.open = []

    def ask(self, page, path, times):
        host, port = page.removeprefix("http://").split(":")
        for _ in range(times):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port)))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            self.open.append(client)

    def silent_exporter(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.open.append(server)
        return f"http://127.0.0.1:{server.getsockname()[1]}/metrics"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.open:
            one.close()


def stalled_clients(settings):
    with Sockets() as sockets, Box(settings) as box:
        def stall(box):
            sockets.ask(box.page, "/api/v1/events", 20)
            sockets.ask(box.page, "/api/v1/topology", 20)
            sockets.ask(box.page, "/api/v1/jobs", 20)
            Program(settings, "service_load", "--box", box.grpc, "--rate", 100, "--seconds",
                    DISTURBED_SECONDS * 0.5, "--stalled", 20).result()
        return play(settings, box, RATE, DISTURBED_SECONDS, meanwhile=stall)


def dead_scraper(settings):
    with Sockets() as sockets:
        targets = [{"url": sockets.silent_exporter(), "period": "1s"} for _ in range(20)]
        targets += [{"url": f"http://127.0.0.1:{free_port()}/metrics", "period": "1s"}]
        with Box(settings, {"scrape": {"targets": targets}}) as box:
            return play(settings, box, RATE, DISTURBED_SECONDS)


def full_disk(settings):
    """The history lies on a disk of its own that is full from the first second on."""
    if os.geteuid() != 0:
        raise measure.Unavailable("the bar `full_disk` mounts a small tmpfs: run it as root")
    with tempfile.TemporaryDirectory() as disk:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
        try:
            with Box(settings, {"history": {"file": f"{disk}/history.db"}}) as box:
                def fill(_):
                    try:
                        with open(f"{disk}/rest", "wb") as file:
                            file.write(bytes(2 << 20))
                    except OSError:
                        pass
                return play(settings, box, RATE, DISTURBED_SECONDS, meanwhile=fill)
        finally:
            subprocess.run(["umount", disk], check=True)


def malformed_flood(settings):
    ports = {"int": free_port(), "sflow": free_port()}
    config = {"udp": {kind: [f"127.0.0.1:{port}"] for kind, port in ports.items()}}
    with Box(settings, config) as box:
        def flood(_):
            for kind, port in ports.items():
                Program(settings, "telemetry_load", "send", "--kind", kind, "--port", port,
                        "--garbled", "--rate", 50_000, "--seconds", 5).result()
        found = play(settings, box, RATE, DISTURBED_SECONDS, meanwhile=flood)
        found["garbled"] = box.source("udp")["ledger"]["received"]
        return found


def clock_jump(settings):
    """An hour ahead, and back."""
    with tempfile.NamedTemporaryFile() as offset:
        def jump(seconds):
            offset.seek(0)
            offset.write(struct.pack("<q", seconds * 1_000_000_000))
            offset.flush()
        jump(0)
        library = settings.build / "tests" / "perf" / "libclock_jump.so"
        with Box(settings, environment={"LD_PRELOAD": str(library),
                                        "CLOCK_JUMP": offset.name}) as box:
            def jumps(_):
                jump(3600)
                time.sleep(4)
                jump(0)
            found = play(settings, box, RATE, DISTURBED_SECONDS, meanwhile=jumps)
            found["health"] = box.get("/api/v1/health")
            return found


def begin_agent(box, folder, host):
    """An agent of a host that has a log, NCCL's, in a folder of its own; it yields to the load."""
    own = folder / host
    own.mkdir(exist_ok=True)
    (own / "agent.yaml").write_text(json.dumps({
        "box": box.grpc, "host": host, "nccl_logs": [str(own / "nccl-*.log")], "root": str(own),
        "queue_pairs": False}))
    with open(own / "said", "ab") as said:
        return subprocess.Popen(["nice", "-n", "10", "taskset", "-c", REST, box.program, "agent",
                                 own / "agent.yaml"], stdout=said, stderr=said)


def log_lines(folder, host, count=200):
    with open(folder / host / "nccl-0.log", "a", encoding="ascii") as log:
        log.write(f"{host}:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1]\n" * count)


AGENTS = 8


def killed_agents(settings):
    """Agents of some hosts, each with a log that grows: killed at random moments and begun again, one
    of them stopped for good in the middle of what it says."""
    chance = random.Random(2)
    with Box(settings) as box, tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def begin(host):
            return begin_agent(box, folder, f"host-{host}")

        def disturb(_):
            agents = [begin(host) for host in range(AGENTS)]
            try:
                end = time.monotonic() + DISTURBED_SECONDS * 0.6
                while time.monotonic() < end:
                    for host in range(AGENTS):
                        log_lines(folder, f"host-{host}")
                    victim = chance.randrange(1, AGENTS)
                    agents[victim].kill()
                    agents[victim].wait()
                    agents[victim] = begin(victim)
                    time.sleep(chance.uniform(0.1, 0.6))
                    agents[0].send_signal(signal.SIGSTOP)
            finally:
                for agent in agents:
                    agent.kill()
                    agent.wait()
        found = play(settings, box, RATE, DISTURBED_SECONDS, meanwhile=disturb)
        agents = box.source("agents")["agents"]
        found["agents"] = {what: sum(int(agent[what]) for agent in agents)
                           for what in ("sessions", "batches", "log_lines", "lost_batches")}
        return found


DISTURBANCES = {"killed_agents": killed_agents, "stalled_clients": stalled_clients, "dead_scraper": dead_scraper,
                "full_disk": full_disk, "malformed_flood": malformed_flood,
                "clock_jump": clock_jump}


def disturbance_bars(settings):
    bars = []
    for name, disturb in DISTURBANCES.items():
        measure.say(f"Box: {name}")
        found = disturb(settings)
        bars.append(measure.Bar(name=f"{name}_loss", value=lost(found), unit="packets", goal=0,
                                exactly=True, not_held=not_held(found, RATE, DISTURBED_SECONDS),
                                details=found))
    return bars


# --- a long life ---------------------------------------------------------------------------------

def slope(points):
    """Of the least squares' line, in units of y per unit of x; and its standard error."""
    xs, ys = zip(*points)
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    found = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - found * (x - mean_x)) ** 2 for x, y in points)
    return found, (rest / max(1, len(points) - 2) / spread) ** 0.5


def job(box, *words):
    """What `rocescope job` prints."""
    done = subprocess.run(["nice", "-n", "10", "taskset", "-c", REST, box.program, "job",
                           *map(str, words), "--box", box.grpc], capture_output=True, text=True,
                          timeout=60)
    if done.returncode != 0:
        raise measure.Unavailable(f"rocescope job {words[0]}: {done.stderr}")
    return done.stdout


def change_jobs_and_agents(box, folder, stop):
    """Jobs are registered and end, agents of 64 hosts in turn begin, read a new job's log and are
    killed."""
    number = 0
    agent = None
    while not stop.wait(0.25):
        number += 1
        job(box, "register", number, "--nodes", f"host[{number % 2000}-{number % 2000 + 15}]")
        if number > 20:
            job(box, "end", number - 20)
        if number % 8 == 0:
            if agent:
                agent.kill()
                agent.wait()
            host = f"host{number % 512}"
            (folder / host / "nccl-0.log").unlink(missing_ok=True)
            agent = begin_agent(box, folder, host)
            log_lines(folder, host, 2000)
    if agent:
        agent.kill()
        agent.wait()


def soak_bars(settings):
    """A day's changes in the time that there is, ten times as many: of 100,000 queue pairs each is
    replaced 24 times a day, which is a job of an hour; so many in `seconds`, and ten times that."""
    seconds = settings.soak_seconds
    replaced = 10 * 24 * 50_000  # connections
    churn = replaced / seconds
    points = []
    with Box(settings, {"jobs": {"file": "jobs.json"}}) as box:
        stop = threading.Event()
        changes = threading.Thread(target=change_jobs_and_agents, args=(box, box.folder, stop),
                                   daemon=True)

        def watch():
            begin = time.monotonic()
            while not stop.wait(1):
                points.append((time.monotonic() - begin, box.resident()))
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        changes.start()
        found = play(settings, box, RATE / 4, seconds, churn=churn)
        if not changes.is_alive():
            raise measure.Unavailable("jobs and agents did not go on changing")
        stop.set()
        watcher.join()
        changes.join()
    late = [(x, y) for x, y in points if x > seconds / 3]
    by_second, error = slope(late)
    mean = statistics.fmean(y for _, y in late)
    growth = by_second * (late[-1][0] - late[0][0]) / mean
    return [measure.Bar(
        name="soak_growth", value=round(growth, 4), unit="of the memory, after warm-up", goal=0.02,
        at_most=True,
        details=found | {"resident_mb": [round(y / 1e6) for _, y in points[::max(1, len(points) // 20)]],
                         "bytes_per_s": round(by_second), "standard_error": round(error),
                         "churn_per_s": round(churn)})]


def kill_bars(settings, times=100):
    """kill -9 at a random moment, and again: each start clean, and what was registered a second
    before known."""
    chance = random.Random(1)
    unclean = []
    registered = {}  # by job: when its answer had come
    killed = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(times):
            try:
                port = free_port()
                with Box(settings, folder=folder, dpdk=False,
                         config={"udp": {"sflow": [f"127.0.0.1:{port}"]},
                                 "jobs": {"file": "jobs.json"}}) as box:
                    said = box.said()
                    if re.search(r"broken|malformed|damaged", said):
                        unclean.append(said)
                    health = box.get("/api/v1/health")
                    if health["state"] == "STATE_DEGRADED":
                        unclean.append(str(health))
                    known = {int(one["id"]) for one in
                             json.loads(job(box, "list", "-o", "json")).get("jobs", [])}
                    unclean += [f"job {one} is not known" for one, at in registered.items()
                                if at < killed - 1 and one not in known]
                    registered = {one: at for one, at in registered.items() if one in known}
                    sender = Program(settings, "telemetry_load", "send", "--kind", "sflow", "--port",
                                     port, "--rate", 2000, "--seconds", 2)
                    end = time.monotonic() + chance.uniform(0, 1.5)
                    while time.monotonic() < end:
                        name = len(registered) + 1000 * (i + 1)
                        job(box, "register", name, "--nodes", "host0")
                        registered[name] = time.monotonic()
                        time.sleep(chance.uniform(0, 0.3))
                    box.stop(signal.SIGKILL)
                    killed = time.monotonic()
                    sender.result()
            except measure.Unavailable as problem:
                unclean.append(str(problem))
            if i % 20 == 19:
                measure.say(f"Box: killed {i + 1} times")
    return [measure.Bar(name="kill_9_unclean_starts", value=len(unclean), unit=f"of {times}", goal=0,
                        exactly=True, details={"jobs_known": len(registered),
                                               "first": unclean[:3]})]


PARTS = {"memory": memory_bars, "socket": socket_bars, "mirror": mirror_bars, "limit": limit_bars,
         "disturbance": disturbance_bars, "soak": soak_bars, "kill": kill_bars}


def bars(settings):
    found = []
    for part in settings.box_parts or PARTS:
        measure.say(f"Box: {part}")
        found += PARTS[part](settings)
    return found
