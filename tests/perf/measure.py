# SPDX-License-Identifier: BSD-3-Clause
"""Shared by all benchmark groups: targets (bars), programs measured in CPU seconds, and cached
generated captures."""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / "build" / "perf"


class Unavailable(Exception):
    """A measurement is impossible: something is missing, or a program failed."""


@dataclasses.dataclass
class Bar:
    """A measured value. Without a goal it is informational."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    exactly: bool = False  # the value must equal the goal
    at_most: bool = False  # the value must not exceed the goal (default: at least the goal)
    not_held: str | None = None  # why the target is missed regardless of the value
    reference: dict | None = None  # name, value and unit, from the same run
    details: dict | None = None

    @property
    def holds(self):
        if self.goal is None:
            return None
        if self.not_held:
            return False
        if self.exactly:
            return self.value == self.goal
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def as_dict(self):
        return {"name": self.name, "value": self.value, "unit": self.unit, "goal": self.goal,
                "holds": self.holds, "not_held": self.not_held, "reference": self.reference, "details": self.details}


@dataclasses.dataclass
class Settings:
    build: pathlib.Path
    packets: int
    rounds: int
    appliance_seconds: int = 600
    soak_seconds: int = 900
    appliance_parts: list | None = None


@dataclasses.dataclass
class Program:
    """`check` receives standard output and standard error as text and raises Unavailable if the program
    did not do all of the work. `prepare` runs before each round."""

    name: str
    command: list
    check: object
    prepare: object = None


def say(message):
    print(message, file=sys.stderr, flush=True)


def built(build, name):
    """A program of the build directory."""
    for folder in (build, build / "appliance", build / "tests" / "perf", build / "bin"):
        if os.access(folder / name, os.X_OK) and (folder / name).is_file():
            return folder / name
    raise Unavailable(f"{name} is not in {build}; build it with:\n"
                      f"  cmake --preset release && cmake --build --preset release --target all benchmarks")


def installed(name, package):
    """A system program. Daemons are in sbin, which is not in every user's path."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise Unavailable(f"{name} is not installed: apt-get install {package} "
                          f"(docker/packages.txt, section test)")
    return path


def generated_capture(build, label, arguments):
    """A capture of rocescope-generate, cached in build/perf until the generator changes."""
    generate = built(build, "rocescope-generate")
    key = hashlib.sha256(generate.read_bytes() + repr(arguments).encode()).hexdigest()[:16]
    path = CACHE / f"{label}-{key}.pcap"
    truth = pathlib.Path(f"{path}.truth.json")
    if not truth.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{label}-*.pcap*"):
            old.unlink()
        say(f"Generating {path.relative_to(REPOSITORY)}")
        # The ground truth is written last: if it exists, the capture is complete.
        subprocess.run([str(generate), str(path), *arguments], check=True)
    return path, truth


def cpu_seconds(program):
    """Runs the program once. Returns the user and system time of all its threads."""
    if program.prepare:
        program.prepare()
    outputs = [CACHE / f"{program.name}.{stream}" for stream in ("stdout", "stderr")]
    with open(outputs[0], "wb") as out, open(outputs[1], "wb") as err:
        process = subprocess.Popen([str(word) for word in program.command], cwd=CACHE,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    out, err = (path.read_text(errors="replace") for path in outputs)
    if process.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, program.command))}: exit code "
                          f"{process.returncode}\n{err[-2000:]}")
    program.check(out, err)
    return usage.ru_utime + usage.ru_stime


def interleaved(programs, rounds):
    """CPU seconds by program, in rounds ABCABC, so that load peaks affect all programs equally. The
    first round warms up the page cache and is discarded."""
    seconds = {program.name: [] for program in programs}
    for round_number in range(rounds + 1):
        for program in programs:
            measured = cpu_seconds(program)
            if round_number > 0:
                seconds[program.name].append(measured)
        say(f"Round {round_number} of {rounds}" + (" (warm-up)" if round_number == 0 else ""))
    return seconds


def rate(name, packets, seconds):
    return {"name": name, "value": packets / statistics.median(seconds),
            "unit": "packets/CPU-s", "lowest": packets / max(seconds),
            "highest": packets / min(seconds)}
