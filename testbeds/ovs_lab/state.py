# SPDX-License-Identifier: BSD-3-Clause
"""The state directory of a lab. Each resource is recorded before it is created, so that `down` removes
all of them even if `up` was killed.

    lab.json          options of `up`, and the fabric, for the other commands
    resources.jsonl   namespaces, one line each
    run/              files and logs of the programs, and what the endpoints write
    conditions.json   what the active faults change (State.conditions)
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

ROOT = pathlib.Path(os.environ.get("ROCESCOPE_LAB_STATE", "/run/rocescope-lab")).absolute()
MARK = "ROCESCOPE_LAB"  # environment variable of all processes of a lab: its state directory
UNMARKED = ("slurmctld", "slurmstepd")  # programs that overwrite their environment
KILLED = (*UNMARKED, "srun")  # after SIGTERM, they would wait for each other
STOP_SECONDS = 5
NICENESS = -20
PERMITTED_NAME = r"[a-z][a-z0-9-]{0,15}"


class State:
    def __init__(self, name):
        if not re.fullmatch(PERMITTED_NAME, name):
            raise Problem(f"--name: {name!r} cannot be the name of a lab; expected a lower-case letter, then at most "
                          "15 lower-case letters, digits and hyphens, such as lab2")
        self.name = name
        self.path = ROOT / name
        self.files = self.path / "run"

    def exists(self):
        return self.path.exists()

    def refuse_existing(self):
        if self.path.exists():
            raise Problem(f"the lab \"{self.name}\" exists, or an earlier one was not removed ({self.path}); "
                          f"remove it with `testbeds/lab down{self.option()}`")

    def create(self):
        try:
            self.path.mkdir(parents=True)
            # Locked until this process ends (refuse_running_up).
            self.lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            self.files.mkdir()
        except FileExistsError:
            self.refuse_existing()
        except OSError as error:
            shutil.rmtree(self.path, ignore_errors=True)
            raise Problem(f"{self.path}: cannot create the state directory: {error.strerror}") from None

    def refuse_running_up(self):
        """Raises a Problem if the process that builds the lab still runs: it would continue to create resources that
        nobody removes."""
        lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Problem(f"`up` or `regression` of the lab \"{self.name}\" still runs; interrupt it (Ctrl-C), which "
                          "removes the lab, or wait until it ends") from None
        finally:
            os.close(lock)

    def option(self):
        """The option that selects this lab on the command line."""
        return "" if self.name == "lab" else f" --name {self.name}"

    def require(self):
        """The content of lab.json. The lab may be incomplete: `up` runs, or was killed."""
        file = self.path / "lab.json"
        try:
            return json.loads(file.read_text())
        except FileNotFoundError:
            if self.path.exists():
                raise Problem(self.incomplete()) from None
            raise Problem(f"the lab \"{self.name}\" is not up; `testbeds/lab up{self.option()}` builds it") from None
        except ValueError as error:
            raise Problem(f"{file}: not a JSON file: {error}; `testbeds/lab down{self.option()}` removes the "
                          "lab") from None
        except OSError as error:
            raise Problem(f"{file}: {error.strerror}; run the command as root (sudo)") from None

    def require_complete(self):
        """The content of lab.json of a lab that is up."""
        content = self.require()
        if not content.get("complete"):
            raise Problem(self.incomplete())
        return content

    def incomplete(self):
        return (f"the lab \"{self.name}\" is not complete: `up` still runs, or was killed; "
                f"`testbeds/lab down{self.option()}` removes what was built")

    def save(self, content):
        write_atomically(self.path / "lab.json", json.dumps(content, indent=1) + "\n")

    def conditions(self):
        """What the faults changed and other programs must know: links that are down (`down`), switches that use
        one port of each group (`polarised`), pairs of ports whose cables are swapped (`swaps`), hosts that
        export no counters (`silent`), reduced link speeds (`speeds`), and the number of packets that the NICs of
        hosts discarded (`discards`)."""
        try:
            found = json.loads((self.path / "conditions.json").read_text())
        except FileNotFoundError:
            found = {}
        return {"down": [], "polarised": [], "swaps": [], "silent": [], "speeds": {}, "discards": {}} | found

    @contextlib.contextmanager
    def changed_conditions(self):
        """The conditions, to change. Locked, because several faults may change them at the same time."""
        with open(self.path / "conditions.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            conditions = self.conditions()
            yield conditions
            write_atomically(self.path / "conditions.json", json.dumps(conditions) + "\n")

    def append(self, file, line):
        with open(self.path / file, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def lines(self, file):
        """The lines of a file that are objects. Others are ignored: a full disk leaves incomplete lines."""
        try:
            text = (self.path / file).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = []
        for line in text.split("\n")[:-1]:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return [one for one in found if isinstance(one, dict)]

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
            # Without IPv6, the kernel sends no packets of its own, such as router solicitations.
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
        """Starts a program in the background. Its output goes to run/TITLE.log. `prompt`: it runs with high
        priority, because it emulates hardware. Returns the process."""
        if prompt:
            command = ["nice", "-n", NICENESS, *command]
        namespace = self.namespace(role) if role else None
        with open(self.files / f"{title}.log", "ab") as log:
            return subprocess.Popen(
                in_namespace(namespace, command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.files, start_new_session=True, env=self.environment(environment))

    def log_end(self, title):
        """The last lines of run/TITLE.log, for the message of a Problem."""
        path = self.files / f"{title}.log"
        text = path.read_text(errors="replace")[-600:].strip()
        return f"the end of {path}: {text}" if text else f"{path} is empty"

    def environment(self, more=None):
        return {**os.environ, MARK: str(self.path), **(more or {})}

    def processes(self):
        """The processes of this lab, recognised by their environment: pid -> command. Some programs of Slurm
        overwrite their environment with a title; their namespace shows that they belong to the lab."""
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
            raise Problem(f"processes of the lab do not end: {', '.join(map(str, sorted(left)))}; end them, then run "
                          f"`testbeds/lab down{self.option()}`")

    # Removal

    def remove(self):
        """Removes everything that belongs to the lab. May be repeated after a failure."""
        self.stop_processes()
        for name in self.namespaces():
            if (NAMESPACES / name).exists():
                say_foreign_processes(name)
                run("ip", "netns", "del", name)
        if self.path.is_dir():
            shutil.rmtree(self.path)
        else:
            self.path.unlink()


def say_foreign_processes(namespace):
    """A namespace exists until its last process ends."""
    found = os.stat(NAMESPACES / namespace)
    inside = [entry.name for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()
              and namespaces_of_process(entry.name) == (found.st_dev, found.st_ino)]
    if inside:
        say(f"other processes still use the namespace {namespace}: {', '.join(inside)}; its interfaces "
            "remain until these processes end")


def write_atomically(path, text):
    """Another process reads either the old or the new content. If it fails, the old content remains."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise Problem(f"{path}: cannot be written: {error.strerror}") from None
