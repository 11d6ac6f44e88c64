# SPDX-License-Identifier: BSD-3-Clause
"""The state directory of a lab. Every resource is recorded before it is created, so that `down` removes
all of them even if `up` was killed.

    lab.json          options, and what the other commands need
    resources.jsonl   namespaces, one line each
    run/              files and logs of the programs, and what the endpoints write
    conditions.json   what the faults changed
    faults/           the faults and their ground truth
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from problem import Problem, say
from system import NAMESPACES, in_namespace, namespaces_of_process, run

ROOT = pathlib.Path(os.environ.get("ROCESCOPE_LAB_STATE", "/run/rocescope-lab"))
MARK = "ROCESCOPE_LAB"  # environment variable of all processes of a lab: its state directory
UNMARKED = ("slurmctld", "slurmstepd")  # programs that overwrite their environment
KILLED = (*UNMARKED, "srun")  # after SIGTERM, they would wait for each other
STOP_SECONDS = 5
NICENESS = -20
PERMITTED_NAME = r"[a-z][a-z0-9-]{0,15}"


class State:
    def __init__(self, name):
        if not re.fullmatch(PERMITTED_NAME, name):
            raise Problem(f"{name!r} cannot be the name of a lab; expected at most 16 lower-case letters, "
                          "digits and hyphens")
        self.name = name
        self.path = ROOT / name
        self.files = self.path / "run"

    def exists(self):
        return self.path.exists()

    def refuse_existing(self):
        if self.path.exists():
            raise Problem(f"the lab {self.name} exists, or an earlier one was not removed ({self.path}); "
                          f"remove it with `testbeds/lab down{self.option()}`")

    def create(self):
        try:
            self.path.mkdir(parents=True)
            self.files.mkdir()
        except FileExistsError:
            self.refuse_existing()
        except OSError as error:
            raise Problem(f"{self.path}: {error.strerror}") from None

    def option(self):
        """How to name this lab on the command line."""
        return "" if self.name == "lab" else f" --name {self.name}"

    def require(self):
        """The content of lab.json of a lab that is up."""
        try:
            return json.loads((self.path / "lab.json").read_text())
        except FileNotFoundError:
            raise Problem(f"the lab {self.name} is not up; `testbeds/lab up{self.option()}` builds it") from None

    def save(self, content):
        write_atomically(self.path / "lab.json", json.dumps(content, indent=1) + "\n")

    def conditions(self):
        """What faults changed and other programs must know: links that are down, switches that use one
        port of each group (`polarised`), pairs of ports whose cables are exchanged (`swaps`), hosts that
        export no counters (`silent`), reduced speeds of links (`speeds`), and packets that the NICs of hosts
        discarded (`discards`)."""
        try:
            found = json.loads((self.path / "conditions.json").read_text())
        except FileNotFoundError:
            found = {}
        return {"down": [], "polarised": [], "swaps": [], "silent": [], "speeds": {}, "discards": {}} | found

    @contextlib.contextmanager
    def changed_conditions(self):
        """Several faults may change them at the same time."""
        with open(self.path / "conditions.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            conditions = self.conditions()
            yield conditions
            write_atomically(self.path / "conditions.json", json.dumps(conditions) + "\n")

    def append(self, file, line):
        with open(self.path / file, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def lines(self, file):
        """The lines of a file. A last line that was not completed is ignored."""
        try:
            text = (self.path / file).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.split("\n")[:-1]]

    # Namespaces

    def namespace(self, role):
        return f"{self.name}-{role}"

    def create_namespaces(self, roles):
        for name in map(self.namespace, roles):
            if (NAMESPACES / name).exists():
                raise Problem(f"the network namespace {name} exists and does not belong to a lab; delete it "
                              f"(ip netns del {name}), or choose another name for the lab with --name")
        for name in map(self.namespace, roles):
            self.append("resources.jsonl", {"namespace": name})
            run("ip", "netns", "add", name)
            # The kernels of hosts and switches must not send anything by themselves.
            run("sh", "-c", "for of in all default; do echo 1 > /proc/sys/net/ipv6/conf/$of/disable_ipv6; done "
                            "2> /dev/null; ip link set lo up", namespace=name)

    def namespaces(self):
        return [line["namespace"] for line in self.lines("resources.jsonl") if "namespace" in line]

    def identities(self):
        """Device and inode of each namespace that exists."""
        found = set()
        for name in self.namespaces():
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(NAMESPACES / name)
                found.add((status.st_dev, status.st_ino))
        return found

    # Processes

    def start(self, title, command, role=None, environment=None, prompt=False):
        """Starts a program in the background. Its output goes to run/TITLE.log. `prompt`: the scheduler
        prefers it, as hardware that forwards packets does not wait for programs. Returns the process."""
        if prompt:
            command = ["nice", "-n", NICENESS, *command]
        namespace = self.namespace(role) if role else None
        with open(self.files / f"{title}.log", "ab") as log:
            return subprocess.Popen(
                in_namespace(namespace, command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.files, start_new_session=True, env=self.environment(environment))

    def environment(self, more=None):
        return {**os.environ, MARK: str(self.path), **(more or {})}

    def processes(self):
        """The processes of this lab, by their environment: pid -> command. Some programs of Slurm overwrite
        their environment with a title; the namespace shows that they belong to the lab."""
        mark = f"{MARK}={self.path}".encode()
        found, inside = {}, self.identities()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().split(b"\0")
                    found[int(entry.name)] = pathlib.Path(command[0].decode(errors="replace")).name
                elif (program := (entry / "exe").readlink().name).startswith(UNMARKED) and \
                        namespaces_of_process(entry.name) in inside:
                    found[int(entry.name)] = program
        return found

    def stop_processes(self, pids=None):
        """Ends the given processes of the lab, or all of them."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            running = self.processes()
            left = {pid for pid in running if pids is None or pid in pids}
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if running[pid].startswith(KILLED) else how)
                    os.kill(pid, signal.SIGCONT)  # a slow endpoint may be stopped
            end = time.monotonic() + STOP_SECONDS
            while time.monotonic() < end and left & set(self.processes()):
                time.sleep(0.05)
        if left := {pid for pid in self.processes() if pids is None or pid in pids}:
            raise Problem(f"processes of the lab do not end: {', '.join(map(str, sorted(left)))}")

    # Removal

    def remove(self):
        """Removes everything that belongs to the lab. May be repeated after a failure."""
        self.stop_processes()
        for name in self.namespaces():
            if (NAMESPACES / name).exists():
                say_foreign_processes(name)
                run("ip", "netns", "del", name)
        shutil.rmtree(self.path)


def say_foreign_processes(namespace):
    """A namespace lives as long as its last process."""
    found = os.stat(NAMESPACES / namespace)
    inside = [entry.name for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()
              and namespaces_of_process(entry.name) == (found.st_dev, found.st_ino)]
    if inside:
        say(f"other processes still use the namespace {namespace}: {', '.join(inside)}; its interfaces "
            "remain until these processes end")


def write_atomically(path, text):
    """Another process reads either the old or the new content."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)
