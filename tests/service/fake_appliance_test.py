#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens the dashboard on a fake appliance, which has a history and known faults, in a browser.
Screenshots are written to SHOTS.

usage: fake_appliance_test.py DASHBOARD SHOTS
"""

import pathlib
import shutil
import subprocess
import sys

CHROMIUM = pathlib.Path("/usr/bin/chromium")


def main(dashboard, shots):
    missing = [path for path in (CHROMIUM, dashboard / "node_modules", dashboard / "dist" / "index.html")
               if not path.exists()]
    if missing or not shutil.which("node"):
        print(f"skipped: missing {', '.join(map(str, missing)) or 'node'}")
        return 77
    return subprocess.run(["node", dashboard / "browser" / "fake_test.mjs", shots], timeout=280).returncode


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(word) for word in sys.argv[1:3])))
