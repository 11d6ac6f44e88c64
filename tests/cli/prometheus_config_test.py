#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""promtool accepts the Prometheus configuration and alerts of compose.yaml.

usage: prometheus_config_test.py REPOSITORY
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

promtool = shutil.which("promtool")
if not promtool:
    print("skipped: promtool (Debian: prometheus) is not there")
    sys.exit(77)
repository = pathlib.Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    # In one directory, as in the container: one refers to the other.
    shutil.copy(repository / "docker/prometheus.yaml", folder)
    shutil.copy(repository / "appliance/daemon/metrics/alerts.yaml", folder)
    checked = subprocess.run([promtool, "check", "config", "prometheus.yaml"], cwd=folder,
                             capture_output=True, text=True, timeout=50)
print(checked.stdout + checked.stderr)
if "1 rule files found" not in checked.stdout + checked.stderr:
    sys.exit("promtool did not find alerts.yaml by the name in prometheus.yaml")
sys.exit(checked.returncode)
