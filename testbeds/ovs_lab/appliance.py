# SPDX-License-Identifier: BSD-3-Clause
"""`rocescope run` in the namespace of the collector, and its dashboard on the loopback address of this
machine."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
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
            raise Problem(f"rocescope run did not start; {state.log_end('appliance')}")
        time.sleep(0.05)
    return process.pid


def log(state):
    return (state.files / "appliance.log").read_text(errors="replace")


def read_host_files(state):
    """Makes the appliance read the NCCL logs and the lists of queue pairs again."""
    for pid, command in state.processes().items():
        if command == "rocescope":
            os.kill(pid, signal.SIGHUP)


def start_exporter(state):
    state.start("exporter", [sys.executable, "-B", source("exporter.py"), state.path,
                             telemetry.UNDERLAY_ADDRESS, telemetry.EXPORTER_PORT], "fabric", prompt=True)


def check_ports(http_port, grpc_port):
    """Raises a Problem if the forwarder cannot use these ports of 127.0.0.1."""
    if http_port == grpc_port:
        raise Problem(f"--http and --grpc are the same port {http_port}; choose two ports")
    for option, number in (("--http", http_port), ("--grpc", grpc_port)):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("127.0.0.1", number))
                one.listen()
            except OSError as error:
                raise Problem(f"port {number} of 127.0.0.1 cannot be used: {error.strerror}; choose another port with "
                              f"{option}") from None


def start_forwarder(state, http_port, grpc_port):
    process = state.start("forwarder", [sys.executable, "-B", source("forwarder.py"),
                                        state.namespace(telemetry.NAMESPACE),
                                        f"{http_port}:{HTTP_PORT}", f"{grpc_port}:{GRPC_PORT}"])
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return get(http_port, "/api/v1/health")
        except (OSError, ValueError) as error:
            if process.poll() is not None:
                raise Problem(f"the ports {http_port} and {grpc_port} of 127.0.0.1 cannot be used; choose others with "
                              f"--http and --grpc; {state.log_end('forwarder')}") from None
            if time.monotonic() > end:
                raise Problem(f"the appliance does not answer on 127.0.0.1:{http_port}: {error}; "
                              f"{state.log_end('appliance')}") from None
        time.sleep(0.05)


def get(port, path, timeout=20):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
        return json.load(answer)


def ask(state, lab, path):
    """`get` for a command: raises a Problem if there is no answer."""
    try:
        return get(lab["http"], path)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Problem(f"the appliance does not answer on 127.0.0.1:{lab['http']}: {error}; see "
                      f"{state.files}/appliance.log") from None


def source(name):
    return pathlib.Path(__file__).resolve().parent / name

