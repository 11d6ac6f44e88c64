# SPDX-License-Identifier: BSD-3-Clause
"""A running appliance in a directory of its own, for tests that damage its surroundings."""

import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import time
import urllib.error
import urllib.request

START_SECONDS = 60
STOP_SECONDS = 60


class DidNotStart(Exception):
    """The appliance ended or said nothing before it served. `code`: exit code; negative: signal."""

    def __init__(self, code, log):
        super().__init__(f"the appliance did not start (exit code {code}): {log[-2000:]}")
        self.code = code
        self.log = log


class Appliance:
    """`rocescope run`. `config` is the complete configuration, except for ports of HTTP and gRPC."""

    def __init__(self, program, folder, config, environment=None, wait=True):
        self.program = pathlib.Path(program).resolve()
        self.folder = pathlib.Path(folder)
        whole = {"http": "127.0.0.1:0", "grpc": {"listen": ["127.0.0.1:0"]}, **config}
        (self.folder / "appliance.yaml").write_text(json.dumps(whole, indent=1))  # JSON is YAML
        self.log_path = self.folder / "log"
        self.events_path = self.folder / "events"
        with open(self.log_path, "wb") as log, open(self.events_path, "wb") as events:
            self.process = subprocess.Popen(
                [self.program, "run", "appliance.yaml", "-o", "json"], cwd=self.folder,
                stdout=events, stderr=log, env={**os.environ, **(environment or {})})
        self.page = self.grpc = ""
        if wait:
            try:
                self.wait_for_start()
            except DidNotStart:
                self.end(signal.SIGKILL)
                raise

    def wait_for_start(self):
        self.grpc = self.await_log(r"gRPC on ([0-9.:]+)")
        self.page = self.await_log(r"dashboard at (https?://[^/\s]+)/")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def await_log(self, pattern, seconds=START_SECONDS):
        """Returns the first group of the pattern in the log, as soon as it is there."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ended = self.process.poll() is not None
            if found := re.search(pattern, self.log()):
                return found.group(1)
            if ended:
                break
            time.sleep(0.01)
        raise DidNotStart(self.process.poll(), self.log())

    def addresses(self, what):
        """UDP addresses on which the appliance receives, for example of "sFlow"."""
        return [(host, int(port)) for host, port in
                re.findall(rf"listening for {what} on UDP ([0-9.]+):(\d+)", self.log())]

    def get(self, path, timeout=20):
        with urllib.request.urlopen(f"{self.page}{path}", timeout=timeout) as answer:
            return json.load(answer)

    def try_get(self, path):
        """None while there is no snapshot."""
        try:
            return self.get(path)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            return None

    def metric(self, name):
        """The value of a metric, added over its labels."""
        with urllib.request.urlopen(f"{self.page}/metrics", timeout=20) as answer:
            text = answer.read().decode()
        return sum(float(value) for value in
                   re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))

    def events(self):
        return [json.loads(line) for line in self.events_path.read_text().splitlines()]

    def run(self, *words, timeout=50):
        """Runs another command of the program."""
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True,
                              timeout=timeout)

    def job(self, *words, seconds=10):
        return self.run("job", *words, "--appliance", self.grpc, "--timeout", f"{seconds}s")

    def doctor(self):
        return self.run("doctor", self.page).stdout

    def resident(self):
        """In bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024

    def end(self, how=signal.SIGTERM):
        """Returns the exit code; negative: the signal that ended it; None: it did not end in time and
        was killed."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGKILL)


def wait_until(check, seconds=30, every=0.05):
    """Polls until the function returns a true value. Returns the last value."""
    end = time.monotonic() + seconds
    while not (value := check()) and time.monotonic() < end:
        time.sleep(every)
    return value


def slope(points):
    """The slope of a least-squares line in units of y per unit of x, and its standard error."""
    xs, ys = zip(*points)
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    found = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - found * (x - mean_x)) ** 2 for x, y in points)
    return found, (rest / max(1, len(points) - 2) / spread) ** 0.5
