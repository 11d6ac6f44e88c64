# SPDX-License-Identifier: BSD-3-Clause
"""Base of tests with a running appliance: plays a simulated run to it in real time."""

import pathlib
import re
import socket
import subprocess
import tempfile
import time
import unittest

SECONDS = 20  # duration of the run
FAULT = (4, 15)  # start and end of the fault, in seconds


def shortened(text):
    """Returns the scenario with durations in milliseconds in place of seconds."""
    text = re.sub(r"^duration: .*$", f"duration: {SECONDS}ms", text, flags=re.M)
    return re.sub(r"onset: \w+, duration: \w+",
                  f"onset: {FAULT[0]}ms, duration: {FAULT[1] - FAULT[0]}ms", text)


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


class PlayedRun(unittest.TestCase):
    """After setUp, `appliance` is running and serves at `page` and `grpc`; the run starts at `epoch`."""

    SIMULATOR = ROCESCOPE = SCENARIO = PLAY = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name, "run")
        self.simulate(pathlib.Path(folder.name, "scenario.yaml"))
        self.grpc = free_address()
        player, _ = self.start(self.PLAY, self.run_folder, "--http", "127.0.0.1:0", "--grpc",
                               self.grpc, "--agents", self.ROCESCOPE, until=r"rocescope run")
        self.addCleanup(lambda: (player.terminate(), player.communicate()))  # also stops its agents
        self.appliance, page = self.start(self.ROCESCOPE, "run", self.run_folder / "appliance.yaml", "-o",
                                    "json", until=r"http://\S+/")
        self.page = page.group(0)
        self.assertLess(time.time(), self.epoch, "the appliance started too late")

    def simulate(self, scenario):
        scenario.write_text(shortened(pathlib.Path(self.SCENARIO).read_text()))
        begin = time.time()
        for lead in (10, 30, 90):  # until the simulation finishes in time
            self.epoch = int(time.time()) + lead
            subprocess.run([self.SIMULATOR, "run", scenario, "-d", self.run_folder, "--dilate",
                            "1000", "--epoch", str(self.epoch)], capture_output=True, check=True)
            if time.time() < self.epoch - 4:
                return
        self.fail(f"the simulation takes too long: {time.time() - begin:.0f} s for all attempts")

    def start(self, *words, until):
        """Starts a process and waits until its log matches `until`. Returns the process and the match."""
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        heard = ""
        while not (found := re.search(until, heard)):
            line = process.stderr.readline()
            self.assertTrue(line, heard)
            heard += line
        return process, found

    @classmethod
    def take_programs(cls, words):
        cls.SIMULATOR, cls.ROCESCOPE, cls.SCENARIO, cls.PLAY = words[:4]
        del words[:4]
