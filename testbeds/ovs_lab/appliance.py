# SPDX-License-Identifier: BSD-3-Clause
"""`rocescope run` in the namespace of the collector, and its dashboard on the loopback address of this
machine."""

import json
import os
import pathlib
import re
import signal
import sys
import time
import urllib.request

import telemetry
from problem import Problem

HTTP_PORT, GRPC_PORT = 8080, 50051  # within the namespace
START_SECONDS = 60
RECEIVE_BUFFER = "16M"


def config(state, window):
    files = state.files
    return {
        "topology": "topology.yaml",
        "record_interval": "100ms",
        "analysis_window": f"{window}s",
        "interfaces": [{"name": "eth0", "filter": "ip proto 47", "snap": telemetry.MTU,
                        "buffer": RECEIVE_BUFFER}],
        "udp": {"sflow": [f"{telemetry.COLLECTOR_ADDRESS}:{telemetry.SFLOW_PORT}"],
                # All switches run on one machine and send from its address.
                "senders": [telemetry.UNDERLAY_ADDRESS]},
        # One exporter reports for all switches and hosts: the target has no `node`.
        "scrape": {"targets": [{
            "url": f"http://{telemetry.UNDERLAY_ADDRESS}:{telemetry.EXPORTER_PORT}/metrics",
            "period": "1s"}]},
        "host_files": {"nccl_logs": [str(files / "nccl")], "rdma": [str(files / "rdma")]},
        "http": f"127.0.0.1:{HTTP_PORT}",
        "grpc": {"listen": [f"127.0.0.1:{GRPC_PORT}"]},
        "history": {"file": "history.db"},
    }


def start(state, rocescope, window):
    for folder in ("nccl", "rdma", "endpoint"):
        (state.files / folder).mkdir(exist_ok=True)
    (state.files / "appliance.yaml").write_text(json.dumps(config(state, window), indent=1) + "\n")
    process = state.start("appliance", [rocescope, "run", "appliance.yaml", "-o", "json"],
                          telemetry.NAMESPACE)
    end = time.monotonic() + START_SECONDS
    while not re.search(r"dashboard at ", log(state)):
        if process.poll() is not None or time.monotonic() > end:
            raise Problem(f"rocescope run did not start; the end of {state.files}/appliance.log: "
                          f"{log(state)[-600:].strip()}")
        time.sleep(0.05)
    return process.pid


def log(state):
    return (state.files / "appliance.log").read_text(errors="replace")


def read_host_files(state):
    """Makes the appliance read NCCL logs and queue pairs again."""
    for pid, command in state.processes().items():
        if command == "rocescope":
            os.kill(pid, signal.SIGHUP)


def start_exporter(state):
    state.start("exporter", [sys.executable, "-B", source("exporter.py"), state.path,
                             telemetry.UNDERLAY_ADDRESS, telemetry.EXPORTER_PORT], "fabric", prompt=True)


def start_forwarder(state, http, grpc):
    process = state.start("forwarder", [sys.executable, "-B", source("forwarder.py"),
                                        state.namespace(telemetry.NAMESPACE),
                                        f"{http}:{HTTP_PORT}", f"{grpc}:{GRPC_PORT}"])
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return get(http, "/api/v1/health")
        except (OSError, ValueError) as error:
            if process.poll() is not None:
                raise Problem(f"the ports {http} and {grpc} of 127.0.0.1 cannot be used; choose others with "
                              f"--http and --grpc; see {state.files}/forwarder.log") from None
            if time.monotonic() > end:
                raise Problem(f"the appliance does not answer on 127.0.0.1:{http}: {error}") from None
        time.sleep(0.05)


def get(port, path, timeout=20):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
        return json.load(answer)


def source(name):
    return pathlib.Path(__file__).resolve().parent / name

