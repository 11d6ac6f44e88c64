# SPDX-License-Identifier: BSD-3-Clause
"""Writes a run directory (dataplane/run/README.md): run.json, topology.yaml and the counters."""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess

from metrics import ROOT
from problem import Problem

SECOND = 10**9
PORTS = {"int_reports": 32766, "int_md": 555, "sflow": 6343}
LONGEST_NAME = 128  # bytes, as in dataplane/run/manifest.h
PARTS = ("run.json", "topology.yaml", "counters.jsonl", "counters.columns")


def find_program(given):
    """The path of rocescope, or None."""
    if given:
        if not pathlib.Path(given).is_file():
            raise Problem(f"{given}: not a file; --rocescope expects the program")
        return str(given)
    built = max(ROOT.glob("build/*/appliance/rocescope"), key=lambda path: path.stat().st_mtime, default=None)
    return shutil.which("rocescope") or (str(built) if built else None)


def run_name(given, path):
    """The name of the run: `given`, or the name of the directory, cut to the limit of replay."""
    name = given or path.resolve().name or "imported"
    try:
        return name.encode()[:LONGEST_NAME].decode(errors="ignore")
    except UnicodeEncodeError:
        raise Problem(f"{json.dumps(name)} cannot be the name of the run: not UTF-8; give another by --name") from None


class RunDirectory:
    def __init__(self, path, form, program):
        self.path, self.form, self.program = pathlib.Path(path), form, program
        if form == "columns" and not program:
            raise Problem("rocescope was not found, which writes counters.columns: name it by --rocescope, "
                          "or use --form lines")
        for part in PARTS:
            if (self.path / part).exists():
                raise Problem(f"{self.path / part}: exists; remove it, or choose another directory")
        # The directories that this import creates, the innermost first.
        self.created = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Problem(f"{path}: {error.strerror}") from None

    def remove(self):
        """Removes the files and directories of an import that failed."""
        for part in PARTS:
            (self.path / part).unlink(missing_ok=True)
        for folder in self.created:
            if any(folder.iterdir()):
                break  # another program has written to it
            folder.rmdir()

    def write(self, part, lines):
        try:
            with open(self.path / part, "w", encoding="utf-8") as file:
                file.writelines(lines)
        except OSError as error:
            raise Problem(f"{self.path / part}: {error.strerror}") from None

    def write_counters(self, lines):
        if self.form == "lines":
            self.write("counters.jsonl", lines)
            return
        command = [self.program, "counters", "convert", "-", self.path / "counters.columns"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              encoding="utf-8") as convert:
            try:
                with contextlib.suppress(BrokenPipeError):  # the message on its standard error says why
                    convert.stdin.writelines(lines)
            except BaseException:
                convert.kill()
                raise
            finally:
                with contextlib.suppress(BrokenPipeError):  # lines that are left in the buffer
                    convert.stdin.close()
            message = convert.stderr.read()
            if convert.wait() != 0:
                raise Problem(f"rocescope counters convert: {message.strip()}")

    def copy_topology(self, source):
        try:
            shutil.copyfile(source, self.path / "topology.yaml")
        except OSError as error:
            raise Problem(f"{source}: {error.strerror}") from None
        self.validate(source)

    def write_topology(self, ports):
        """The devices as switches without links; `ports` are pairs of names."""
        devices = {}
        for device, port in ports:
            devices.setdefault(device, []).append(port)
        lines = ["# The devices and ports of the export. Links, hosts and tiers are unknown.",
                 "name: imported", "switches:"]
        for device in sorted(devices, key=natural):
            lines += [f"  - name: {json.dumps(device)}", "    tier: leaf", "    ports:"]
            lines += [f"      - {{name: {json.dumps(port)}, number: {number}}}"
                      for number, port in enumerate(sorted(devices[device], key=natural), 1)]
        self.write("topology.yaml", [line + "\n" for line in lines])
        self.validate(self.path / "topology.yaml")

    def validate(self, name):
        if not self.program:
            return
        done = subprocess.run([self.program, "topology", "validate", self.path / "topology.yaml"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Problem(f"{name} is not a valid topology:\n{done.stderr.strip()}")

    def unknown_ports(self, ports, kind):
        """The ports that the topology does not have; none if they cannot be compared."""
        if not self.program:
            return []
        shown = json.loads(subprocess.run(
            [self.program, "topology", "show", self.path / "topology.yaml", "-o", "json"],
            capture_output=True, text=True, check=True).stdout)
        if kind == "nic":
            known = {(host["name"], nic["device"]) for host in shown["hosts"] for nic in host["nics"]}
        else:
            known = {(switch["name"], port["name"]) for switch in shown["switches"]
                     for port in switch["ports"]}
        nodes = {name for name, _ in known}
        return [(device, port) for device, port in ports
                if (device if device in nodes else device.split(".")[0], port) not in known]

    def write_manifest(self, name, readings):
        """Last, so that a directory with run.json is complete."""
        period = readings.period()
        window = min(max(1, -(-period // SECOND)), 3600) * SECOND
        manifest = {
            "schema_version": 1, "scenario": name, "seed": 0, "epoch_ns": readings.first,
            "duration_ns": readings.last - readings.first + 1, "record_interval_ns": SECOND,
            "analysis_window_ns": window, "counter_period_ns": period, "time_scale": 1,
            "ports": PORTS,
            "telemetry": {"mirror": False, "int_reports": False, "sflow": False, "counters": True,
                          "nccl_logs": False, "rdma": False}}
        self.write("run.json", [json.dumps(manifest, indent=2) + "\n"])


def natural(name):
    """Sorts Ethernet10 after Ethernet9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
