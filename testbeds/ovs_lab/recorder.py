# SPDX-License-Identifier: BSD-3-Clause
"""Records the telemetry that arrives at the collector. It runs in the namespace of the collector.

    recorder.py DIR URL

Writes mirror.pcap and sflow.pcap with tcpdump, and counters.jsonl with the metrics of the exporter at URL, until
SIGTERM. The exit code is not 0 if one of them fails.
"""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

FAILED = 1
PERIOD = 1.0  # seconds between scrapes
SAMPLE = re.compile(r"fabric_([a-z]+)_([a-z0-9_]+)\{([^}]*)\} (\d+) (\d+)$")
LABEL = re.compile(r'([a-z]+)="([^"]*)"')
CAPTURES = {"mirror.pcap": "ip proto 47", "sflow.pcap": "udp port 6343"}
BUFFER = 32768  # KiB, of tcpdump


METRICS = frozenset(re.findall(
    r'ROW\(\w+, "(\w+)", (?:Counter|Gauge)',
    (pathlib.Path(__file__).resolve().parents[2] / "dataplane/record/metric.h").read_text(encoding="utf-8")))


def readings(text, arrival_ns, known):
    """The lines of counters.jsonl for a scrape, with the metrics that rocescope knows. `known`: the time of the last
    reading of each entity."""
    found = {}
    for line in text.splitlines():
        match = SAMPLE.match(line)
        if not match:
            continue
        kind, metric, labels, value, time_ms = match.groups()
        if metric not in METRICS:
            continue
        entity = dict(LABEL.findall(labels))
        key = (kind, tuple(sorted(entity.items())), int(time_ms))
        if known.get(key[:2]) == key[2]:
            continue
        found.setdefault(key, (entity, {}))[1][metric] = int(value)
    # The readings of an entity can have different times.
    for (kind, labels, time_ms), (entity, metrics) in sorted(found.items(), key=lambda item: item[0][2]):
        known[kind, labels] = time_ms
        if "priority" in entity:
            entity["priority"] = int(entity["priority"])
        yield {"time_ns": time_ms * 1_000_000, "arrival_ns": arrival_ns, "kind": kind, "entity": entity,
               "metrics": metrics}


def scrape(path, url, stopped, dumps, parent):
    """Returns when `stopped` is set, or one of the tcpdump processes or `capture` (`parent`) has ended."""
    known = {}
    with open(path, "w", encoding="utf-8") as file:
        while not stopped.wait(PERIOD) and os.getppid() == parent and all(
                dump.poll() is None for dump in dumps):
            with urllib.request.urlopen(url, timeout=10) as answer:
                text = answer.read().decode()
            for line in readings(text, time.time_ns(), known):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
            file.flush()


def main():
    parent = os.getppid()
    folder = pathlib.Path(sys.argv[1])
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    dumps = [subprocess.Popen(["tcpdump", "-n", "-i", "eth0", "-s", "0", "-B", str(BUFFER), "-Z", "root",
                               "--time-stamp-precision=nano", "-U", "-w", folder / name, program])
             for name, program in CAPTURES.items()]
    codes = []
    try:
        scrape(folder / "counters.jsonl", sys.argv[2], stopped, dumps, parent)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"recorder: cannot record the metrics of {sys.argv[2]} in {folder}/counters.jsonl: {error}",
              file=sys.stderr)
        codes = [FAILED]
    finally:
        for dump in dumps:
            dump.send_signal(signal.SIGINT)
        codes += [dump.wait() for dump in dumps]
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
