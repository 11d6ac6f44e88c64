# SPDX-License-Identifier: BSD-3-Clause
"""For tests of a box that runs: a simulated run, played to it as it happens."""

import pathlib
import re
import socket
import subprocess
import tempfile
import time
import unittest

SECONDS = 20  # that the run is told to take
FAULT = (4, 15)  # its seconds


def shortened(text):
    """The scenario, cut to as many milliseconds as there are to be seconds."""
    text = re.sub(r"^duration: .*$", f"duration: {SECONDS}ms", text, flags=re.M)
    return re.sub(r"onset: \w+, duration: \w+",
                  f"onset: {FAULT[0]}ms, duration: {FAULT[1] - FAULT[0]}ms", text)


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


class PlayedRun(unittest.TestCase):
    """After setUp `box` runs and serves at `page` and `grpc`, and the run begins at `epoch`."""

    SIMULATOR = ROCESCOPE = SCENARIO = PLAY = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name, "run")
        self.simulate(pathlib.Path(folder.name, "scenario.yaml"))
        self.grpc = free_address()
        player, _ = self.start(self.PLAY, self.run_folder, "--http", "127.0.0.1:0", "--grpc",
                               self.grpc, "--agents", self.ROCESCOPE, until=r"rocescope run")
        self.addCleanup(lambda: (player.terminate(), player.communicate()))  # and its agents
        self.box, page = self.start(self.ROCESCOPE, "run", self.run_folder / "box.yaml", "-o",
                                    "json", until=r"http://\S+/")
        self.page = page.group(0)
        self.assertLess(time.time(), self.epoch, "the box began too late")

    def simulate(self, scenario):
        scenario.write_text(shortened(pathlib.Path(self.SCENARIO).read_text()))
        begin = time.time()
        for lead in (10, 30, 90):  # until it is there in time
            self.epoch = int(time.time()) + lead
            subprocess.run([self.SIMULATOR, "run", scenario, "-d", self.run_folder, "--dilate",
                            "1000", "--epoch", str(self.epoch)], capture_output=True, check=True)
            if time.time() < self.epoch - 4:
                return
        self.fail(f"it takes too long to simulate: {time.time() - begin:.0f} s for all tries")

    def start(self, *words, until):
        """The process, once it has said this; and what matched."""
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
