#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One agent with a valid certificate attacks an appliance to which an honest agent reports.

    tests/resilience/hostile_agent.py ROCESCOPE STUBS [--megabytes N] [-o FILE]

STUBS: folder with the Python classes of appliance/api (tests/service/CMakeLists.txt makes them). The
hostile certificate contains 21 host names, and the appliance has 16 places for hosts. The attack:

1. It takes all places. The honest agent, whose host is in the topology, connects after that.
2. It claims thousands of other hosts, one of them the honest one.
3. It opens many connections at a time, and opens and closes sessions.
4. It sends logs, queue pairs, devices, processes and counters as fast as it can, with names of its own
   choice and invalid messages, until it has sent N megabytes or the time is over.

The checks: the honest agent stays connected, each line of its log arrives within seconds, no batch of
it is lost, and the rank that its log names is still known at the end; claims of other hosts are refused; the
appliance stays within its memory budget (512 MB) and ends normally. Prints the figures as JSON.
Exit codes: 0 all checks hold, 1 a check fails.
"""
import argparse
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error

import grpc

import fabric
from appliance import Appliance, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tls_test import make_authority, sign  # noqa: E402

BUDGET = 512 << 20
PLACES = 16
NAMES = [f"evil-{number}.gpu.example" for number in range(PLACES + 5)]
RATE = 64 << 20  # bytes per second that the appliance accepts from a certificate
CLAIMS = 2000
CONNECTIONS = 100
COMMUNICATOR = 0xabc  # the commId that the honest agent's log names
PATIENCE = 10  # seconds until a line of the honest log must have arrived
LINE = "step {}: NCCL INFO Channel 00/0 : 0[0] -> 1[1]\n"


def rank_line(host, rank, ranks, communicator):
    return (f"{host}:{4100 + rank}:{4100 + rank} [{rank}] NCCL INFO comm 0x{rank + 1:x} rank {rank} "
            f"nranks {ranks} cudaDev {rank % 8} nvmlDev {rank % 8} busId {0x1b + rank % 8:x}000 "
            f"commId 0x{communicator:x} - Init COMPLETE\n")


class Hostile:
    def __init__(self, agent, folder, target, seed=1):
        self.pb = agent[0]
        self.stub = agent[1].AgentsStub
        self.chance = random.Random(seed)
        read = lambda name: (folder / name).read_bytes()  # noqa: E731
        self.credentials = grpc.ssl_channel_credentials(read("ca.pem"), read("evil.key"),
                                                        read("evil.pem"))
        self.target = target
        self.outcomes = {}
        self.sent_bytes = 0
        self.stopped = threading.Event()
        self.lock = threading.Lock()

    def channel(self):
        return grpc.secure_channel(self.target, self.credentials, options=[
            ("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)])

    def count(self, what):
        with self.lock:
            self.outcomes[what] = self.outcomes.get(what, 0) + 1

    def hello(self, host, session=None):
        return self.pb.AgentMessage(hello=self.pb.AgentHello(
            host=host, session_id=session or self.chance.randrange(1, 1 << 63), version="1"))

    def report(self, stub, messages, hold=None):
        """A call. Returns the name of its status; "ACCEPTED" as soon as the hello is. `hold`: keeps the
        call open until this event."""
        done = threading.Event()

        def feed():
            yield from messages
            (hold or done).wait(60)
        call = stub.Report(feed(), timeout=60)
        try:
            for _ in call:
                if hold is None:
                    return "ACCEPTED"
            return "ENDED"
        except grpc.RpcError as error:
            return error.code().name
        finally:
            done.set()
            call.cancel()

    def take_places(self):
        """Returns an event that ends the calls."""
        end = threading.Event()
        for name in NAMES:
            channel = self.channel()
            threading.Thread(target=self.report, daemon=True,
                             args=(self.stub(channel), [self.hello(name)], end)).start()
        return end

    def claim_hosts(self):
        with self.channel() as channel:
            stub = self.stub(channel)
            names = ["host0", "HOST0", "host0.gpu.example", "host0.gpu.example.", "", "a" * 300,
                     "evil-0.gpu.example/../host0"]
            for number in range(CLAIMS):
                name = names[number] if number < len(names) else f"host{number}.gpu.example"
                self.count("claim " + self.report(stub, [self.hello(name)]))

    def open_connections(self):
        with contextlib.ExitStack() as stack:
            end = threading.Event()
            threads = []
            for number in range(CONNECTIONS):
                stub = self.stub(stack.enter_context(self.channel()))
                threads.append(threading.Thread(
                    target=lambda stub=stub, number=number: self.count(
                        "connection " + self.report(stub, [self.hello(NAMES[number % 21])], end)),
                    daemon=True))
                threads[-1].start()
            time.sleep(3)
            end.set()
            for thread in threads:
                thread.join(20)

    def batches(self, name):
        """Never ends. Each batch has up to 1 MB."""
        pb, chance = self.pb, self.chance
        host = name.partition(".")[0]
        yield self.hello(name)
        sequence = 0
        while not self.stopped.is_set():
            sequence += 1
            number = chance.randrange(1 << 62)
            text = "".join(rank_line(host, (number + i) % 8, 1 << 20, number + i)
                           for i in range(3000)).encode()
            batch = pb.AgentBatch(sequence=sequence, read_ns=time.time_ns() + chance.choice([0, 1 << 60]))
            kind = chance.random()
            if kind < 0.7:
                batch.logs.add(log_id=chance.randrange(6000), path=f"/{number}" * 20, text=text)
            elif kind < 0.8:
                group = batch.queue_pairs.groups.add(device=f"mlx{number}" * 10, port=1, type="RC",
                                                     process_id=number)
                group.local_qpns.extend(range(number % 1000, number % 1000 + 100_000))
            elif kind < 0.9:
                for i in range(2000):
                    one = batch.counters.add(kind="nic", port=f"port{number + i}",
                                             metrics=["rx_bytes", f"x{i}"], values=[i, i])
                    one.event_ns = -1 if i % 2 else 0
            else:
                for i in range(4096):
                    batch.processes.processes.add(process_id=i, command="x" * 100, rank=i,
                                                  scheduler_job_id=number + i, world_size=1 << 20)
                device = batch.inventory.devices.add(name="mlx")
                device.ports.add(number=1).addresses.extend(f"10.{i >> 8}.{i & 255}.1"
                                                            for i in range(4000))
            message = pb.AgentMessage(batch=batch)
            with self.lock:
                self.sent_bytes += message.ByteSize()
            yield message
            if sequence % 50 == 49:
                yield pb.AgentMessage(heartbeat=pb.AgentHeartbeat(
                    now_ns=-1, lost_batches=(1 << 64) - 1, problems=["p" * 10_000] * 100))
            if chance.random() < 0.01:
                return

    def flood(self, name):
        while not self.stopped.is_set():
            with self.channel() as channel:
                try:
                    for _ in self.stub(channel).Report(self.batches(name), timeout=60):
                        pass
                    self.count("flood ENDED")
                except grpc.RpcError as error:
                    self.count("flood " + error.code().name)
            time.sleep(0.05)


def honest_agent(appliance, certificates, folder):
    own = folder / "honest"
    own.mkdir()
    (own / "nccl.log").write_text(rank_line("host0", 0, 1, COMMUNICATOR))
    (own / "agent.yaml").write_text(json.dumps({
        "appliance": appliance.grpc, "host": "host0", "nccl_logs": [str(own / "*.log")],
        "root": str(own), "queue_pairs": False, "counters": False, "log_period": "50ms",
        "tls": {"certificate": str(certificates / "host0.pem"), "key": str(certificates / "host0.key"),
                "appliance_ca": str(certificates / "ca.pem")}}))
    with open(own / "said", "wb") as said:
        return own, subprocess.Popen([appliance.program, "agent", own / "agent.yaml"], stdout=said,
                                     stderr=said)


def host_state(appliance, host="host0"):
    for source in appliance.get("/api/v1/sources")["sources"]:
        for one in source.get("agents", []):
            if one["host"] == host:
                return one
    return {}


def knows_rank(appliance):
    # Not from the list of jobs: the hostile agent can add more jobs than a page has.
    try:
        answer = appliance.get(f"/api/v1/jobs/nccl-{COMMUNICATOR:x}")
    except urllib.error.HTTPError as error:
        if error.code not in (404, 503):  # unknown job, no snapshot
            raise
        return False
    return any(rank.get("host") == "host0" for rank in answer["job"]["ranks"])


def line_arrives(appliance, log, number):
    """Appends a line to the honest log. Returns the seconds until the appliance counts it, or None."""
    before = int(host_state(appliance).get("log_lines", 0))
    begin = time.monotonic()
    with open(log, "a", encoding="ascii") as file:
        file.write(rank_line("host0", 0, 1, COMMUNICATOR))
    found = wait_until(lambda: int(host_state(appliance).get("log_lines", 0)) > before, PATIENCE)
    return time.monotonic() - begin if found else None


def attack(arguments, stubs):
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        certificates = folder / "tls"
        make_authority(certificates)
        sign(certificates, "appliance", "IP:127.0.0.1")
        sign(certificates, "host0", "DNS:host0.gpu.example")
        sign(certificates, "evil", ",".join(f"DNS:{one}" for one in NAMES))
        fabric.write_topology(arguments.rocescope, folder / "fabric.yaml")
        config = {"topology": "fabric.yaml", "analysis_window": "500ms", "memory": "512M",
                  "udp": {"sflow": ["127.0.0.1:0"]},
                  "grpc": {"listen": ["127.0.0.1:0"], "certificate": "tls/appliance.pem",
                           "key": "tls/appliance.key", "client_ca": "tls/ca.pem",
                           "agents": ["*.gpu.example"]},
                  "agents": {"max_hosts": PLACES, "domains": ["gpu.example"],
                             "max_bytes_per_second": RATE}}
        with Appliance(arguments.rocescope, folder, config) as appliance:
            hostile = Hostile(stubs, certificates, appliance.grpc)
            places = hostile.take_places()
            taken = wait_until(lambda: sum(len(one.get("agents", [])) for one in
                                           appliance.get("/api/v1/sources")["sources"]) >= PLACES)
            own, process = honest_agent(appliance, certificates, folder)
            try:
                connected = wait_until(lambda: host_state(appliance).get("connected"))
                known = wait_until(lambda: knows_rank(appliance))
                places.set()
                floods = [threading.Thread(target=hostile.flood, args=(one,), daemon=True)
                          for one in NAMES[:4]]
                others = [threading.Thread(target=one, daemon=True)
                          for one in (hostile.claim_hosts, hostile.open_connections)]
                for thread in floods + others:
                    thread.start()
                resident, delays = [], []
                end = time.monotonic() + arguments.seconds
                while time.monotonic() < end and hostile.sent_bytes < arguments.megabytes << 20:
                    delays.append(line_arrives(appliance, own / "nccl.log", len(delays)))
                    resident.append(appliance.resident())
                    time.sleep(0.2)
                hostile.stopped.set()
                for thread in others:
                    thread.join(60)
                time.sleep(1)
                resident.append(appliance.resident())
                state = host_state(appliance)
                still_known = wait_until(lambda: knows_rank(appliance), 60)
                health = appliance.get("/api/v1/health")
            finally:
                process.terminate()
                process.wait(30)
            code = appliance.end()
    worst = max((one for one in delays if one is not None), default=0)
    figures |= {"places_taken": bool(taken), "honest_connected": bool(connected),
                "honest_rank_known": bool(known), "honest_rank_known_after": bool(still_known),
                "honest_connections": int(state.get("connection_count", 0)),
                "honest_lost_batches": int(state.get("lost_batches", 0)),
                "honest_lines": len(delays), "lines_late": delays.count(None),
                "worst_delay_s": round(worst, 2), "outcomes": hostile.outcomes,
                "sent_megabytes": hostile.sent_bytes >> 20,
                "resident_mb": [round(one / 1e6) for one in resident[::max(1, len(resident) // 10)]],
                "highest_resident_mb": round(max(resident) / 1e6), "health": health["problems"][:5],
                "exit_code": code, "state": {key: state.get(key) for key in ("connected", "log_lines")}}
    wrong = []
    for holds, sentence in (
            (taken, "the hostile agent did not take all places"),
            (connected and known, "the honest agent got no place"),
            (state.get("connected"), "the honest agent lost its place"),
            (still_known, "the stored log of the honest agent was lost"),
            (not figures["lines_late"] and delays, f"lines took longer than {PATIENCE} s"),
            (not figures["honest_lost_batches"], "the honest agent lost batches"),
            (hostile.outcomes.get("claim PERMISSION_DENIED") and
             not hostile.outcomes.get("claim ACCEPTED"), "claims of other hosts were accepted"),
            (max(resident) <= BUDGET, "more memory than the budget"),
            (code == 0, f"exit code {code}")):
        if not holds:
            wrong.append(sentence)
    return figures | {"failed": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocescope", type=pathlib.Path)
    parser.add_argument("wheel", type=pathlib.Path, help="the Python package")
    parser.add_argument("--megabytes", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.wheel))
    from rocescope.v1 import agent_pb2, agent_pb2_grpc
    figures = attack(arguments, (agent_pb2, agent_pb2_grpc))
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
