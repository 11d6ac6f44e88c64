# SPDX-License-Identifier: BSD-3-Clause
"""Group `replay`: `rocescope replay` against flow meters that read the same capture, in packets per
CPU second, and its totals against the ground truth. The targets compare the programs with default
settings; the gain of tuning a reference, and the cost of our JSON output, are listed in addition."""

import json
import re
import shutil
import socket
import subprocess

import measure
import report_totals

VERSUS_NFPCAPD = 2.5
VERSUS_SOFTFLOWD = 3.0

# Capacity for exactly all flows. The default of 524288 nodes costs nfpcapd a tenth of its speed, so
# the row nfpcapd_tuned uses this.
FLOW_CACHE = 32768


def processed(pattern, packets):
    """A check that the program reports that it processed all packets."""

    def check(out, err):
        found = re.search(pattern, out + err)
        if found is None or found.group(1) != str(packets):
            raise measure.Unavailable(f"/{pattern}/ is not {packets}: the reference did not process "
                                      f"all packets\n{(out + err)[-2000:]}")

    return check


def nfpcapd(capture, packets, name, options):
    folder = measure.CACHE / name

    def empty_folder():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    command = [measure.installed("nfpcapd", "nfdump"), "-r", capture, "-w", folder, *options]
    return measure.Program(name, command, processed(r"Total: Processed: (\d+), skipped: 0",
                                                    packets), empty_folder)


def softflowd(capture, packets, collector):
    # It exports to an open socket. Otherwise each datagram would cause an ICMP error.
    host, port = collector.getsockname()
    command = [measure.installed("softflowd", "softflowd"), "-d", "-r", capture, "-m", FLOW_CACHE,
               "-n", f"{host}:{port}", "-c", "none", "-p", measure.CACHE / "softflowd.pid"]
    return measure.Program("softflowd", command, processed(r"Packets processed: (\d+)", packets))


def flows_in(folder):
    """The packets and flows in the files that nfpcapd wrote, according to nfdump."""
    command = [measure.installed("nfdump", "nfdump"), "-I", "-R", str(folder)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [int(re.search(rf"^{word}: (\d+)$", text, re.M).group(1))
            for word in ("Packets", "Flows")]


def bars(settings):
    capture, truth_path = measure.generated_capture(
        settings.build, f"replay-{settings.packets}", ["--packets", str(settings.packets)])
    truth = json.loads(truth_path.read_text())
    packets = truth["totals"]["packets"]
    loop = measure.Program("libpcap_loop", [measure.built(settings.build, "pcap_loop"), capture],
                           processed(r"^(\d+) ", packets))
    program = measure.built(settings.build, "rocescope")
    grouped = f"{packets:,}"
    rocescope = measure.Program("rocescope", [program, "replay", capture],
                                processed(rf"LEDGER: ({grouped}) frames received", grouped))
    as_json = measure.Program("rocescope_json", [program, "replay", "-o", "json", capture],
                              processed(r'"received": ?"?(\d+)', packets))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as collector:
        collector.bind(("127.0.0.1", 0))
        programs = [rocescope,
                    nfpcapd(capture, packets, "nfpcapd", []),
                    softflowd(capture, packets, collector),
                    loop,
                    as_json,
                    nfpcapd(capture, packets, "nfpcapd_tuned", ["-B", str(FLOW_CACHE)])]
        seconds = measure.interleaved(programs, settings.rounds)

    metered_packets, metered_flows = flows_in(measure.CACHE / "nfpcapd")
    if metered_packets != packets:
        raise measure.Unavailable(f"nfpcapd's files hold {metered_packets} of {packets} packets")

    rates = {name: measure.rate(name, packets, values) for name, values in seconds.items()}
    ours = rates["rocescope"]

    def versus(name, goal=None):
        return measure.Bar(name=f"replay_versus_{name}", value=ours["value"] / rates[name]["value"],
                           unit="x", goal=goal, reference=rates[name])

    with open(measure.CACHE / "rocescope_json.stdout", encoding="utf-8") as file:
        wrong = report_totals.differences(json.load(file), truth)
    return [
        measure.Bar(name="replay_rate", value=ours["value"], unit="packets/CPU-s", details=ours),
        versus("nfpcapd", VERSUS_NFPCAPD),
        versus("softflowd", VERSUS_SOFTFLOWD),
        versus("libpcap_loop"),
        versus("nfpcapd_tuned"),
        measure.Bar(name="replay_rate_json", value=rates["rocescope_json"]["value"],
                    unit="packets/CPU-s", details=rates["rocescope_json"]),
        measure.Bar(name="replay_differs_from_truth", value=len(wrong), unit="differences", goal=0,
                    exactly=True, details={"wrong": wrong},
                    reference={"name": "flows that nfpcapd distinguishes", "value": metered_flows,
                               "unit": "flows"}),
    ]
