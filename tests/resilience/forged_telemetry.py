#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends forged sFlow and INT reports to an appliance that also receives the telemetry of a healthy
fabric, and checks what the appliance makes of them.

    tests/resilience/forged_telemetry.py ROCESCOPE [--datagrams N] [--rate N] [--seed S] [-o FILE]

1. The forged datagrams come from 127.0.0.2, which is not a sender of the topology: there must be no
   finding and no event, `rocescope doctor` must name the sender, each forged datagram must be counted,
   and no datagram of the switches may be lost.
2. The same datagrams come from an accepted address, as with a forged source address: the confidence
   of each finding must be at most 0.75, and its evidence must say why. There must be a finding:
   otherwise the first part would prove nothing.

The forged datagrams describe FCS errors and links that are down, of all switches of the topology, and
impossible paths of packets; a part of them is mutated at random. Prints the figures as JSON.
Exit codes: 0 all checks hold, 1 a check fails.
"""
import argparse
import json
import pathlib
import random
import socket
import sqlite3
import sys
import tempfile
import threading
import time

import fabric
from appliance import Appliance, wait_until

PERIOD = 0.1  # seconds between the counters of a switch
FRAMES = 100_000  # per period and port
STRANGER = "127.0.0.2"
MUTATED = 0.3  # share of the forged datagrams
BURST = 50
KEPT_FINDINGS = 5


class Telemetry(threading.Thread):
    """The switches of a healthy fabric. All of them send at the same time, from 127.0.0.1."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address = address
        self.switches = fabric.switches()
        self.stopped = threading.Event()
        self.sent = 0

    def run(self):
        due = time.monotonic()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind(("127.0.0.1", 0))
            while not self.stopped.is_set():
                for one in self.switches:
                    one.carry(FRAMES)
                    sender.sendto(one.sflow(), self.address)
                    self.sent += 1
                due += PERIOD
                self.stopped.wait(max(0, due - time.monotonic()))

    def finish(self):
        self.stopped.set()
        self.join()


class Forger:
    """Makes forged datagrams of the switches of the topology."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.switches = fabric.switches()
        self.begin = time.monotonic()

    def sflow(self):
        one = self.chance.choice(self.switches)
        # As much traffic as the switches report, with one damaged frame of five at one port of each
        # switch. One link is down at times.
        one.frames = [int((time.monotonic() - self.begin) / PERIOD) * FRAMES] * one.ports
        one.fcs_errors[0] = one.frames[0] // 5
        one.status[-1] = fabric.DOWN if self.chance.random() < 0.5 else fabric.UP
        return one.sflow()

    def int_report(self):
        one = self.chance.choice(self.switches)
        pick = self.chance.randrange
        return one.int_report(pick(fabric.HOSTS), pick(fabric.HOSTS), pick(1 << 24),
                              (pick(one.ports) + 1, pick(one.ports) + 1), time.time_ns(),
                              pick(1 << 24))

    def mutate(self, datagram):
        data = bytearray(datagram)
        for _ in range(self.chance.randrange(1, 5)):
            data[self.chance.randrange(len(data))] = self.chance.randrange(256)
        if self.chance.random() < 0.2:
            del data[self.chance.randrange(1, len(data)):]
        return bytes(data)

    def burst(self, make):
        made = [make() for _ in range(BURST // 5)]
        return [self.mutate(one) if self.chance.random() < MUTATED else one
                for one in made for _ in range(5)]


def forge(appliance, source, datagrams, rate, seed):
    """Half of the datagrams are sFlow. Returns how many were sent, and in which time."""
    forger = Forger(seed)
    targets = [(forger.sflow, appliance.addresses("sFlow")[0]),
               (forger.int_report, appliance.addresses("INT reports")[0])]
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((source, 0))
        begin = time.monotonic()
        while sent < datagrams:
            for make, address in targets:
                for datagram in forger.burst(make):
                    sender.sendto(datagram, address)
                    sent += 1
            time.sleep(max(0, begin + sent / rate - time.monotonic()))
        return sent, time.monotonic() - begin


def source_of(appliance):
    return next(one for one in appliance.get("/api/v1/sources")["sources"]
                if one["kind"] == "KIND_UDP")


def dropped(source, reason):
    return sum(int(one["count"]) for one in source["ledger"]["dropped"] if one["reason"] == reason)


def attack(arguments, senders):
    """Returns the figures of one appliance."""
    with tempfile.TemporaryDirectory() as folder:
        fabric.write_topology(arguments.rocescope, pathlib.Path(folder, "fabric.yaml"))
        config = {"topology": "fabric.yaml", "analysis_window": "500ms", "memory": "1G",
                  "udp": {"sflow": ["127.0.0.1:0"], "int": ["127.0.0.1:0"], "senders": senders},
                  "history": {"file": "history.db"}}
        with Appliance(arguments.rocescope, folder, config) as appliance:
            telemetry = Telemetry(appliance.addresses("sFlow")[0])
            telemetry.start()
            time.sleep(2)
            sent, seconds = forge(appliance, STRANGER, arguments.datagrams, arguments.rate,
                                  arguments.seed)
            time.sleep(1.5)  # a window after the last datagram
            findings = appliance.get("/api/v1/findings").get("findings", [])
            doctor = appliance.doctor()
            health = appliance.get("/api/v1/health")
            resident = appliance.resident()
            telemetry.finish()
            total = sent + telemetry.sent
            wait_until(lambda: int(source_of(appliance)["ledger"]["received"]) >= total, 5)
            source = source_of(appliance)
            code = appliance.end()
            events = appliance.events()
            with sqlite3.connect(pathlib.Path(folder, "history.db")) as history:
                stored = history.execute("SELECT count(*) FROM events").fetchone()[0]
            history.close()
    started = [event["finding"] for event in events if event["kind"] == "KIND_FAULT_STARTED"]
    return {"forged": sent, "forged_per_second": round(sent / seconds),
            "from_switches": telemetry.sent, "received": int(source["ledger"]["received"]),
            "missed": int(source.get("missed", 0)),
            "refused": dropped(source, "unknown_sender"),
            "decoded": int(source["ledger"]["decoded"]),
            "findings": len(findings), "events": len(events), "stored_events": stored,
            "confidences": sorted({round(one["confidence"], 3) for one in findings + started}),
            "without_note": sum("based on sFlow or INT telemetry" not in json.dumps(one)
                                for one in findings + started),
            "kinds": sorted({one["kind"] for one in findings + started}),
            "doctor_names_sender": STRANGER in doctor and "unknown sender" in doctor,
            "health_names_them": "unknown senders" in json.dumps(health.get("external_problems", [])),
            "resident_mb": round(resident / 1e6), "exit_code": code}


def check(unknown, accepted):
    """Returns a sentence for each check that fails."""
    wrong = []

    def expect(holds, sentence):
        if not holds:
            wrong.append(sentence)
    expect(unknown["findings"] == 0 and unknown["events"] == 0 and unknown["stored_events"] == 0,
           "unknown sender: findings or events")
    expect(unknown["received"] == unknown["forged"] + unknown["from_switches"],
           "unknown sender: datagrams were lost")
    expect(unknown["decoded"] == unknown["from_switches"],
           "unknown sender: not exactly the datagrams of the switches were decoded")
    expect(unknown["doctor_names_sender"], "unknown sender: `rocescope doctor` does not name it")
    expect(unknown["health_names_them"], "unknown sender: health does not mention such senders")
    expect(accepted["findings"] + accepted["events"] > 0,
           "accepted sender: no finding, so the forged datagrams prove nothing")
    expect(all(one <= 0.75 for one in accepted["confidences"]),
           "accepted sender: a confidence above 0.75")
    expect(accepted["without_note"] == 0, "accepted sender: a finding does not say that it can be forged")
    for one in (unknown, accepted):
        expect(one["exit_code"] == 0, f"exit code {one['exit_code']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocescope", type=pathlib.Path)
    parser.add_argument("--datagrams", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=10_000, help="per second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    figures = {"unknown_sender": attack(arguments, ["127.0.0.1"]),
               "accepted_sender": attack(arguments, ["127.0.0.0/8"])}
    figures["failed"] = check(figures["unknown_sender"], figures["accepted_sender"])
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
