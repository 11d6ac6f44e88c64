#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens every view of the dashboard of a running appliance in a browser: light and dark, wide and
narrow. Screenshots are written to SHOTS.

usage: browser_test.py PATH/rocescope-sim PATH/rocescope SCENARIO PLAY DASHBOARD SHOTS
"""

import pathlib
import subprocess
import sys
import time
import unittest

import played_run

CHROMIUM = pathlib.Path("/usr/bin/chromium")
DASHBOARD = SHOTS = None


class Browser(played_run.PlayedRun):
    def test_every_view_works(self):
        # The fault is detected at that time. The rest of the run is played while the views are checked.
        time.sleep(max(0, self.epoch + played_run.FAULT[0] + 6 - time.time()))
        looked = subprocess.run(
            ["node", DASHBOARD / "browser" / "dashboard_test.mjs", self.page, SHOTS],
            capture_output=True, text=True, timeout=240)
        self.assertEqual(looked.returncode, 0, looked.stdout + looked.stderr)


if __name__ == "__main__":
    words = sys.argv[1:]
    Browser.take_programs(words)
    DASHBOARD, SHOTS = (pathlib.Path(word) for word in words[:2])
    if not CHROMIUM.exists() or not (DASHBOARD / "node_modules").exists():
        print(f"skipped: {CHROMIUM} or the packages of the dashboard are not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + words[2:])
