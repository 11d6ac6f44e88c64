# SPDX-License-Identifier: BSD-3-Clause
"""Sends the telemetry of a simulated run to an appliance in real time: parts of `play` and `live`."""
import http.server
import json
import mmap
import os
import shutil
import socket
import struct
import subprocess
import threading
import time

FILE_HEADER, RECORD_HEADER = 24, 16
OUTER = 14 + 20 + 8  # Ethernet, IPv4, UDP
STEP = 0.01  # seconds
EAL = ["--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m", "256", "-l", "0"]


class Capture:
    """The records of a nanosecond pcap file, in order of time."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.at = FILE_HEADER

    def header(self):
        return self.data[:FILE_HEADER]

    def ended(self):
        return self.at + RECORD_HEADER > len(self.data)

    def due(self, now):
        """Returns the records that are due: their headers and frames."""
        while not self.ended():
            seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", self.data, self.at)
            if seconds + nanoseconds / 1e9 > now:
                return
            begin, self.at = self.at, self.at + RECORD_HEADER + length
            yield self.data[begin:self.at]


def play_frames(capture, pipe):
    os.write(pipe, capture.header())
    while not capture.ended():
        rest = memoryview(b"".join(capture.due(time.time())))
        try:
            while rest:
                rest = rest[os.write(pipe, rest):]
        except BrokenPipeError:  # the appliance has ended
            break
        time.sleep(STEP)
    os.close(pipe)


def play_datagrams(capture, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while not capture.ended():
            for record in capture.due(time.time()):
                sender.sendto(record[RECORD_HEADER + OUTER:], address)
            time.sleep(STEP)


class Counters:
    """The metrics of an exporter: the last reading of each counter, with its time. `lines` is a file of
    readings, in order of time."""

    def __init__(self, lines):
        self.lines = lines
        self.next = None
        self.values = {}
        self.lock = threading.Lock()

    def text(self):
        with self.lock:
            now = time.time_ns()
            while self.next is None or self.next.get("arrival_ns", self.next["time_ns"]) <= now:
                if self.next is not None:
                    self.take(self.next)
                line = self.lines.readline()
                if not line:
                    break
                self.next = json.loads(line)
            return "".join(f"{name} {value}\n" for name, value in self.values.items())

    def take(self, line):
        entity = line["entity"]
        labels = {"node": entity["node"], "port": entity.get("port"),
                  "priority": entity.get("priority"), "gpu": entity.get("index")}
        inside = ",".join(f'{key}="{value}"' for key, value in labels.items() if value is not None)
        for metric, value in line["metrics"].items():
            name = f"fabric_{line['kind']}_{metric}{{{inside}}}"
            self.values[name] = f"{value} {line['time_ns'] // 1_000_000}"


def serve(counters):
    class Exporter(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = counters.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Agents:
    """Runs `rocescope agent` for each host that has a log. A directory emulates the host, and the NCCL
    log appears in it when the job starts."""

    def __init__(self, rocescope, run, appliance):
        self.folder = run / "agents"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.logs = {}  # by host
        for log in sorted((run / "nccl").glob("*.log")):
            self.logs.setdefault(log.stem.rpartition("-")[0], []).append(log)
        self.processes = []
        for host in self.logs:
            own = self.folder / host
            own.mkdir(parents=True)
            (own / "agent.yaml").write_text(json.dumps(
                {"appliance": appliance, "host": host, "nccl_logs": [str(own / "*.log")], "root": str(own),
                 "queue_pairs": False, "counters": False}))
            with open(own / "said", "wb") as said:
                self.processes.append(subprocess.Popen(
                    [rocescope, "agent", own / "agent.yaml"], stdout=said, stderr=said))

    def play(self, begin):
        time.sleep(max(0, begin - time.time()))
        for host, logs in self.logs.items():
            for log in logs:
                shutil.copy(log, self.folder / host)

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def duration(nanoseconds):
    return f"{int(nanoseconds) // 1_000_000}ms"


def write_config(run, manifest, pipe, port, arguments):
    """Writes the configuration of the appliance, RUN/appliance.yaml."""
    ports, telemetry = manifest["ports"], manifest["telemetry"]
    config = {"topology": "topology.yaml",
              "record_interval": duration(manifest["record_interval_ns"]),
              "analysis_window": duration(manifest["analysis_window_ns"]),
              "udp": {"senders": ["127.0.0.1"]}, "http": arguments.http, "grpc": {"listen": [arguments.grpc]},
              "history": {"file": "history.db"},
              "host_files": {key: [name] for key, name in
                             (("nccl_logs", "nccl"), ("rdma", "rdma"), ("slurm", "slurm.json"))
                             if (run / name).exists() and
                             not (arguments.agents and key == "nccl_logs")}}
    if telemetry["mirror"]:
        config["dpdk"] = {"eal": EAL + [f"--vdev=net_pcap0,rx_pcap={pipe}"]}
    if telemetry["int_reports"]:
        config["udp"]["int"] = [f"127.0.0.1:{ports['int_reports']}"]
    if telemetry["sflow"]:
        config["udp"]["sflow"] = [f"127.0.0.1:{ports['sflow']}"]
    if telemetry["counters"]:
        config["scrape"] = {"targets": [{"url": f"http://127.0.0.1:{port}/metrics",
                                         "period": duration(manifest["counter_period_ns"])}]}
    (run / "appliance.yaml").write_text(json.dumps(config, indent=2) + "\n")  # JSON is YAML
