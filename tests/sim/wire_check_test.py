#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests a simulated fabric's frames, captured completely at every switch: tshark must dissect all of
them without errors, and they must agree with the ground truth.

    wire_check_test.py ROCESCOPE_SIM SCENARIO
"""

import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def fields(capture, *names, display_filter=None):
    command = ["tshark", "-r", str(capture), "-T", "fields"]
    for name in names:
        command += ["-e", name]
    if display_filter:
        command += ["-Y", display_filter]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def main():
    if shutil.which("tshark") is None:
        print("skipped: tshark is not installed")
        return SKIPPED
    program, scenario = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([program, "run", scenario, "-d", directory], check=True)
        capture = pathlib.Path(directory) / "mirror.pcap"
        truth = json.loads((pathlib.Path(directory) / "truth.json").read_text())

        broken = fields(capture, "frame.number", display_filter="_ws.malformed || _ws.expert")
        assert not broken, f"tshark reports malformed frames {broken[:5]}"
        rows = fields(capture, "erspan.spanid", "ip.src", "ip.dst", "infiniband.bth.opcode",
                      "infiniband.bth.destqp", "infiniband.bth.psn")
        assert rows and all(row[3] for row in rows), "tshark does not decode a frame as RoCE"

        # Every queue pair that received something is in the ground truth, with its address.
        known = {(end["address"], end["qpn"]) for connection in truth["connections"]
                 for end in (connection["first"], connection["second"])}
        seen = {(row[2].split(",")[-1], int(row[4], 16)) for row in rows}
        assert seen == known, f"not in the ground truth: {seen - known}, not observed: {known - seen}"

        # A frame is copied on ingress into each switch: once for each hop of its path.
        assert int(truth["frames"]["sent"]) == int(truth["frames"]["delivered"]) + int(
            truth["frames"]["in_flight"])
        hops = collections.Counter()
        for connection in truth["connections"]:
            for sender, receiver, paths in (("first", "second", "forward"),
                                            ("second", "first", "backward")):
                end = connection[receiver]
                hops[(connection[sender]["address"], end["address"], end["qpn"])] = len(
                    paths and connection[paths][0]["ports"])
        copies = collections.Counter()
        for row in rows:
            source, destination = row[1].split(",")[-1], row[2].split(",")[-1]
            copies[(source, destination, int(row[4], 16), row[3], row[5])] += 1
        whole = 0
        for (source, destination, qpn, _, _), count in copies.items():
            whole += count % hops[(source, destination, qpn)] == 0
        # Only frames that are in flight at the end have passed only some of their switches.
        assert len(copies) - whole <= int(truth["frames"]["in_flight"]), (len(copies), whole)
    print(f"{len(rows)} frames dissected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
