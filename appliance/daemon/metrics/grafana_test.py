#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that grafana.json and alerts.yaml use metrics that metrics.cc exports, and that promtool accepts each query.

    grafana_test.py PROMTOOL FOLDER
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROMTOOL, FOLDER = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
OURS = re.compile(r"\brocescope_\w+")


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dashboard = json.loads((FOLDER / "grafana.json").read_text())
        cls.exported = {"rocescope_" + name for name in
                    re.findall(r'\.(?:Gauge|Counter)\(\s*"(\w+)"', (FOLDER / "metrics.cc").read_text())}
        cls.queries = [target["expr"] for panel in cls.dashboard["panels"]
                       for target in panel.get("targets", [])]

    def test_dashboard_uses_existing_metrics(self):
        self.assertGreater(len(self.exported), 30)
        self.assertGreater(len(self.queries), 15)
        used = set(itertools.chain.from_iterable(map(OURS.findall, self.queries)))
        used |= set(OURS.findall(json.dumps(self.dashboard["templating"])))
        self.assertEqual(used - self.exported, set())

    def test_alerts_use_existing_metrics(self):
        used = set(OURS.findall((FOLDER / "alerts.yaml").read_text()))
        self.assertEqual(used - self.exported, set())

    def test_prometheus_accepts_every_query(self):
        rules = {"groups": [{"name": "dashboard", "rules": [
            {"record": f"query:{number}", "expr": query.replace("$instance", ".*")}
            for number, query in enumerate(self.queries)]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(rules, file)  # JSON is YAML
            file.flush()
            done = subprocess.run([PROMTOOL, "check", "rules", file.name], capture_output=True,
                                  text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in self.dashboard["panels"]:
            at = panel["gridPos"]
            cells = set(itertools.product(range(at["x"], at["x"] + at["w"]),
                                          range(at["y"], at["y"] + at["h"])))
            self.assertLessEqual(at["x"] + at["w"], 24)
            self.assertFalse(taken & cells, panel["title"])
            taken |= cells
        numbers = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(numbers), len(set(numbers)))


if __name__ == "__main__":
    unittest.main()
