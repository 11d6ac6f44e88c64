#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the map of a fabric of 1,024 hosts follows the mouse in a browser while the appliance
updates the loads of all links. Screenshots are written to SHOTS.

usage: fluid_test.py PATH/rocescope DASHBOARD SHOTS
"""

import contextlib
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

HOSTS, LEAVES, SPINES = 1024, 32, 16
HOSTS_OF_A_LEAF = HOSTS // LEAVES
CHROMIUM = pathlib.Path("/usr/bin/chromium")
ROCESCOPE = DASHBOARD = SHOTS = None


class Exporter(http.server.BaseHTTPRequestHandler):
    """Exports the bytes that each leaf port has sent; the load depends on the number of the port."""

    began = time.time()

    def do_GET(self):
        seconds = time.time() - self.began
        text = "".join(
            f'fabric_port_tx_bytes{{node="leaf{leaf}",port="Ethernet{port}"}} '
            f"{int(seconds * 5e8 * ((leaf * 7 + port * 5) % 25 + 1))}\n"
            for leaf in range(LEAVES) for port in range(1, HOSTS_OF_A_LEAF + SPINES + 1)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class LargeFabric(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        self.addCleanup(lambda: (exporter.shutdown(), exporter.server_close()))
        with open(pathlib.Path(folder.name, "fabric.yaml"), "wb") as topology:
            subprocess.run([ROCESCOPE, "topology", "generate", "leaf-spine", "--hosts", str(HOSTS),
                            "--leaves", str(LEAVES), "--spines", str(SPINES)], stdout=topology, check=True)
        config = pathlib.Path(folder.name, "appliance.yaml")
        url = f"http://127.0.0.1:{exporter.server_port}/metrics"
        config.write_text(json.dumps({"topology": "fabric.yaml", "http": "127.0.0.1:0", "analysis_window": "1s",
                                      "scrape": {"targets": [{"url": url, "period": "1s"}]}}))
        self.appliance = subprocess.Popen([ROCESCOPE, "run", config], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (self.appliance.kill(), self.appliance.communicate()))
        heard = ""
        while not (page := re.search(r"http://[\d.:]+/", heard)):
            line = self.appliance.stderr.readline()
            self.assertTrue(line, heard)
            heard += line
        self.page = page.group(0)

    def wait_for_loads(self):
        for _ in range(60):
            with contextlib.suppress(urllib.error.HTTPError):  # no snapshot yet
                with urllib.request.urlopen(f"{self.page}api/v1/links", timeout=20) as answer:
                    if json.load(answer).get("link_loads"):
                        return
            time.sleep(0.5)
        self.fail("the appliance has no link loads")

    def test_follows_the_mouse(self):
        self.wait_for_loads()
        looked = subprocess.run(["node", DASHBOARD / "browser" / "fluid_test.mjs", self.page, str(HOSTS), SHOTS],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(looked.returncode, 0, looked.stdout + looked.stderr)
        print(looked.stdout)  # durations of the frames


if __name__ == "__main__":
    words = sys.argv[1:]
    ROCESCOPE = words[0]
    DASHBOARD, SHOTS = (pathlib.Path(word) for word in words[1:3])
    if not CHROMIUM.exists() or not (DASHBOARD / "node_modules").exists():
        print(f"skipped: {CHROMIUM} or the packages of the dashboard are not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + words[3:])
