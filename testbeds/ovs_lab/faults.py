# SPDX-License-Identifier: BSD-3-Clause
"""Injects and ends faults. Each fault has a process that starts, observes and ends it, so that the command
`fault` returns when the fault has started.

    faults.py STATE_DIRECTORY NUMBER      (only started by `testbeds/lab fault`)

faults/NUMBER.json in the state directory describes the fault: the arguments of the command, and its ground truth.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import effects  # noqa: E402
import fault_kinds  # noqa: E402
import traffic  # noqa: E402
from fabric import Fabric  # noqa: E402
from problem import Problem, say  # noqa: E402
from state import State, write_atomically  # noqa: E402

VISIBLE_FRAMES = 10  # sim/fault/README.md
TICK_SECONDS = 0.02
LOOK_SECONDS = 0.1
START_SECONDS = 20
END_SECONDS = 20


def path_of(state, number):
    return state.path / "faults" / f"{number}.json"


def all_of(state):
    """Number -> content, of all faults that were injected since the lab was built."""
    found = {}
    for path in (state.path / "faults").glob("*.json"):
        found[int(path.stem)] = json.loads(path.read_text())
    return dict(sorted(found.items()))


def is_active(fault):
    return "start_ns" in fault["truth"] and "end_ns" not in fault["truth"]


def inject(state, name, place, value, duration):
    """Returns the number of the fault when it has started."""
    lab = state.require_complete()
    # Checks the place and the value.
    claims = list(fault_kinds.make(state, Fabric(lab["fabric"]), name, place, value).claims())
    folder = state.path / "faults"
    folder.mkdir(exist_ok=True)
    # Another command may inject a fault at the same time.
    with open(state.path / "faults.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for other, fault in all_of(state).items():
            if is_active(fault) and set(claims) & set(fault.get("claims", ())):
                raise Problem(f"fault {name}: fault {other} ({fault['name']} {fault['place']}) is active at the same "
                              f"place; end it first (`testbeds/lab heal{state.option()} {other}`)")
        number = 1 + max(all_of(state), default=0)
        wanted = {"name": name, "place": place, "value": value, "seconds": duration, "claims": claims, "truth": {}}
        write_atomically(path_of(state, number), json.dumps(wanted) + "\n")
        process = state.start(f"fault-{number}", [sys.executable, "-B", os.path.abspath(__file__), state.path, number])
        try:
            wait_for_start(state, number, process)
        except BaseException:
            process.terminate()  # a fault that starts later would be unknown to the user
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
            raise
    return number


def wait_for_start(state, number, process):
    end = time.monotonic() + START_SECONDS
    while True:
        ended = process.poll() is not None
        fault = all_of(state)[number]
        if "start_ns" in fault["truth"]:
            return
        if "problem" in fault or ended or time.monotonic() > end:
            raise Problem(fault.get("problem", f"fault {fault['name']}: it did not start; "
                                               f"{state.log_end(f'fault-{number}')}"))
        time.sleep(0.01)


def heal(state, numbers=None):
    """Ends faults: those with the given numbers, or all. Returns them."""
    faults = all_of(state)
    for number in numbers or ():
        if number not in faults:
            raise Problem(f"there is no fault {number}; `testbeds/lab status{state.option()}` lists the faults")
    active = [number for number, fault in faults.items()
              if is_active(fault) and (not numbers or number in numbers)]
    running = state.processes()
    for number in active:
        try:
            if faults[number]["pid"] not in running:
                raise ProcessLookupError  # another program may have the number now
            os.kill(faults[number]["pid"], signal.SIGTERM)
        except ProcessLookupError:
            if not is_active(all_of(state)[number]):
                continue  # it has ended by itself
            raise Problem(f"fault {number} cannot be ended, because its process has ended "
                          f"({state.files}/fault-{number}.log); build the lab again: `testbeds/lab "
                          f"down{state.option()}`, then `up`") from None
    end = time.monotonic() + END_SECONDS
    while any(is_active(all_of(state)[number]) for number in active):
        if time.monotonic() > end:
            raise Problem(f"a fault does not end within {END_SECONDS} s; see {state.files}/fault-*.log")
        time.sleep(0.02)
    return active


class Runner:
    def __init__(self, state, number):
        self.state, self.number = state, number
        self.fault = json.loads(path_of(state, number).read_text())
        self.fault["pid"] = os.getpid()
        self.stopped = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.stopped = True

    def save(self, **more):
        self.fault["truth"] |= more
        write_atomically(path_of(self.state, self.number), json.dumps(self.fault) + "\n")

    def run(self):
        fabric = Fabric(self.state.require()["fabric"])
        try:
            effect = fault_kinds.make(self.state, fabric, self.fault["name"], self.fault["place"],
                                      self.fault["value"])
            start = time.time_ns()
            effect.begin()
        except (Problem, OSError) as problem:
            self.fault["problem"] = str(problem)
            self.save()
            return
        self.fault["benign"] = effect.benign
        self.save(**effect.truth, start_ns=start,
                  **({"visible_ns": start} if effect.visible_at_once or effect.benign else {}))
        try:
            self.watch(effect)
        except (Problem, OSError) as problem:
            say(f"the fault ends early: {problem}")
            self.fault["problem"] = f"ended early: {problem}"
        end = time.time_ns()
        effect.end()
        affected = getattr(effect, "last", None)
        self.look(effect, affected[0] if isinstance(affected, tuple) else affected)
        if failed := traffic.failed_jobs(self.state):
            say(f"submitting the jobs again, because these have failed: {', '.join(failed)}")
            effects.restart_jobs(self.state, fabric)
        self.save(end_ns=end)  # last, because a capture reads the files of the jobs then

    def watch(self, effect):
        seconds = self.fault["seconds"]
        until = None if seconds is None else time.monotonic() + seconds
        look_at = 0
        while not self.stopped and (until is None or time.monotonic() < until):
            now = time.monotonic()
            effect.tick(now)
            if now >= look_at and "visible_ns" not in self.fault["truth"]:
                self.look(effect, effect.affected())
                look_at = now + LOOK_SECONDS
            time.sleep(TICK_SECONDS)

    def look(self, effect, affected):
        """Records how many frames the fault affected, and since when it is visible."""
        if affected is None:
            if "visible_ns" not in self.fault["truth"]:
                self.save(visible_ns=self.fault["truth"]["start_ns"])
            return
        more = {"affected_frames": affected}
        if affected >= VISIBLE_FRAMES and "visible_ns" not in self.fault["truth"]:
            more["visible_ns"] = effect.visible_ns() or time.time_ns()
        self.save(**more)


def main():
    state = State(os.path.basename(sys.argv[1]))
    try:
        Runner(state, int(sys.argv[2])).run()
    except Problem as problem:
        say(str(problem))
        sys.exit(1)


if __name__ == "__main__":
    main()
