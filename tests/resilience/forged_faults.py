#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forges the telemetry of faults from an accepted address, as an attacker who knows the topology could.

    tests/resilience/forged_faults.py ROCESCOPE [--seconds 16] [-o FILE]

Each attack has an appliance of its own; all run at the same time:

- `crash`: sFlow of the leaves reports that their links to spine0 are down. spine0 sends nothing.
- `contradicted_crash`: the same, while both spines are scraped and report healthy ports.
- `longer_wire`: INT reports show that the link from leaf0 to spine0 became 20 us longer.
- `late_cnps`: INT reports show that leaf0 queues CNPs with data, and the other switches do not.
- `places_of_errors`: the NICs' iCRC errors are genuine and scraped. sFlow reports which paths the flows take.

The confidence of each finding and event must be at most 0.75. Each attack except `contradicted_crash` must cause a
finding; otherwise it proves nothing. `contradicted_crash` must cause none at the end. Prints the figures as JSON.
Exit codes: 0 all checks hold, 1 a check fails.
"""
import argparse
import concurrent.futures
import http.server
import json
import pathlib
import socket
import struct
import sys
import tempfile
import threading
import time

import fabric
from appliance import Appliance, wait_until

PERIOD = 0.1  # seconds between the datagrams of a switch
FRAMES = 100_000  # per period and port
MOST = 0.75
UPLINKS = fabric.HOSTS // fabric.LEAVES  # the index of a leaf's first port to a spine
RC_WRITE_ONLY, CNP, RC_WRITE_MIDDLE = 0x0a, 0x81, 0x07


class Exporter:
    """A scraped exporter. `read` returns its text from the seconds since its start."""

    def __init__(self, read):
        begin = time.monotonic()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = "".join(f"{line}\n" for line in read(time.monotonic() - begin)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def target(self):
        return {"url": f"http://127.0.0.1:{self.server.server_port}/metrics", "period": "500ms"}


def traffic(prefix, at, seconds):
    """The lines of an exporter for a port or NIC that receives and sends the same."""
    frames = int(seconds / PERIOD) * FRAMES
    for way in ("rx", "tx"):
        yield f"{prefix}_{way}_packets{at} {frames}"
        yield f"{prefix}_{way}_bytes{at} {frames * fabric.FRAME}"


class Attack:
    exporter = None
    is_contradicted = False

    def __init__(self, seconds):
        self.switches = fabric.switches()
        self.half = seconds / 2
        self.psn = 0

    def counters(self):
        """sFlow of a healthy fabric."""
        for one in self.switches:
            one.carry(FRAMES)
            yield "sFlow", one.sflow()


class Crash(Attack):
    def datagrams(self, seconds):
        for one in self.switches[:fabric.LEAVES]:
            one.carry(FRAMES)
            if seconds > self.half:
                one.status[UPLINKS] = fabric.DOWN
                one.frames[UPLINKS] -= FRAMES
            yield "sFlow", one.sflow()


class ContradictedCrash(Crash):
    is_contradicted = True

    def __init__(self, seconds):
        super().__init__(seconds)
        self.exporter = Exporter(self.metrics)

    @staticmethod
    def metrics(seconds):
        for spine in range(fabric.SPINES):
            for port in range(fabric.LEAVES):
                at = f'{{node="spine{spine}",port="Ethernet{port + 1}"}}'
                yield f"fabric_port_link_up{at} 1"
                yield f"fabric_port_admin_up{at} 1"
                yield from traffic("fabric_port", at, seconds)


class LongerWire(Attack):
    def datagrams(self, seconds):
        yield from self.counters()
        leaf, spine = self.switches[0], self.switches[fabric.LEAVES]
        wire = 500 if seconds < self.half else 20_500  # ns
        for _ in range(10):
            self.psn += 1
            then = time.time_ns() - 1_000_000
            for one, ports, begin, ttl in ((leaf, (1, UPLINKS + 1), then, 64),
                                           (spine, (1, 2), then + 1000 + wire, 63)):
                yield "INT reports", one.int_transit(ports, 0, (begin, begin + 1000),
                                                     fabric.packet(RC_WRITE_ONLY, 0, 5, 17, self.psn, ttl, 80))


class LateCnps(Attack):
    def datagrams(self, seconds):
        yield from self.counters()
        for one in self.switches:
            now = time.time_ns()
            for _ in range(8):
                self.psn += 1
                yield "INT reports", one.int_transit((1, 2), 0, (now, now + 1000),
                                                     fabric.packet(RC_WRITE_ONLY, 0, 5, 17, self.psn, 64, 80))
            queue = 0 if one.index == 0 and seconds > 3 else 6
            for _ in range(2):
                yield "INT reports", one.int_transit((1, 2), queue, (now, now + 1000),
                                                     fabric.packet(CNP, 5, 0, 18, 0, 64, 16))


class PlacesOfErrors(Attack):
    FLOWS = ((0, 4), (1, 5), (2, 6), (3, 7), (0, 5), (1, 4))  # (from, to) by host

    def __init__(self, seconds):
        super().__init__(seconds)
        self.exporter = Exporter(self.metrics)

    @staticmethod
    def metrics(seconds):
        errors = int(max(0, seconds - 3) * 40)
        for host in range(fabric.HOSTS):
            at = f'{{node="host{host}",port="mlx5_0"}}'
            yield from traffic("fabric_nic", at, seconds)
            yield f"fabric_nic_rx_icrc_encapsulated{at} {errors if host in (4, 5) else 0}"

    def datagrams(self, _):
        first, second, *spines = self.switches
        for source, to in self.FLOWS:
            spine = 0 if source < 2 else 1  # those with errors pass spine0
            for _ in range(3):
                self.psn += 1
                for one, ports, ttl in ((first, (source + 1, UPLINKS + spine + 1), 64),
                                        (spines[spine], (1, 2), 63),
                                        (second, (UPLINKS + spine + 1, to - 3), 62)):
                    yield "sFlow", one.sflow_packet(ports, fabric.packet(
                        RC_WRITE_MIDDLE, source, to, 17 + source * 8 + to, self.psn, ttl, 60))


ATTACKS = {"crash": Crash, "contradicted_crash": ContradictedCrash, "longer_wire": LongerWire,
           "late_cnps": LateCnps, "places_of_errors": PlacesOfErrors}


def run(program, make, seconds):
    """Returns the figures of one attack."""
    attack = make(seconds)
    with tempfile.TemporaryDirectory() as folder:
        fabric.write_topology(program, pathlib.Path(folder, "fabric.yaml"))
        config = {"topology": "fabric.yaml", "analysis_window": "500ms", "memory": "1G",
                  "udp": {"sflow": ["127.0.0.1:0"], "int": ["127.0.0.1:0"], "senders": ["127.0.0.1"]}}
        if attack.exporter:
            config["scrape"] = {"targets": [attack.exporter.target()]}
        with Appliance(program, folder, config) as appliance, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind(("127.0.0.1", 0))
            to = {name: appliance.addresses(name)[0] for name in ("sFlow", "INT reports")}
            shown = {}  # kind and place: (confidence, whether the evidence says that it may be forged)
            begin = time.monotonic()
            while (passed := time.monotonic() - begin) < seconds:
                for name, datagram in attack.datagrams(passed):
                    sender.sendto(datagram, to[name])
                note(shown, appliance.try_get("/api/v1/findings") or {})
                time.sleep(PERIOD)
            wait_until(lambda: shown or note(shown, appliance.get("/api/v1/findings")), 5)
            last = [one["kind"] for one in appliance.get("/api/v1/findings").get("findings", [])]
            code = appliance.end()
            started = [event["finding"] for event in appliance.events() if event["kind"] == "KIND_FAULT_STARTED"]
    return {"shown": shown, "events": [(one["kind"], one["place"], round(one["confidence"], 3)) for one in started],
            "most": max([one[0] for one in shown.values()] + [one["confidence"] for one in started], default=None),
            "last": last, "is_contradicted": attack.is_contradicted, "exit_code": code}


def note(shown, answer):
    """Adds the findings of an answer. Returns whether there is any."""
    for one in answer.get("findings", []) + answer.get("suspected_findings", []):
        key = f"{one['kind']} {one['place']}"
        is_noted = "based on sFlow or INT telemetry" in json.dumps(one)
        shown[key] = max(shown.get(key, (0, True)), (round(one.get("confidence", 0), 3), is_noted))
    return bool(shown)


def check(figures):
    """Returns a sentence for each check that fails."""
    wrong = []
    for name, one in figures.items():
        if one["exit_code"] != 0:
            wrong.append(f"{name}: exit code {one['exit_code']}")
        if one["most"] is None:
            if one["is_contradicted"]:
                continue
            wrong.append(f"{name}: no finding, so the forged telemetry proves nothing")
            continue
        if one["most"] > MOST:
            wrong.append(f"{name}: a confidence of {one['most']}")
        if any(confidence == MOST and not is_noted for confidence, is_noted in one["shown"].values()):
            wrong.append(f"{name}: a finding does not say that it can be forged")
        if one["is_contradicted"] and one["last"]:
            wrong.append(f"{name}: still a finding, although the switch itself contradicts it")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocescope", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=16)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(len(ATTACKS)) as pool:
        runs = {name: pool.submit(run, arguments.rocescope, make, arguments.seconds)
                for name, make in ATTACKS.items()}
        figures = {name: one.result() for name, one in runs.items()}
    figures["failed"] = check(dict(figures))
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
