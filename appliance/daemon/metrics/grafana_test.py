#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds grafana.json and alerts.yaml against what metrics.cc tells, and each query against promtool.

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
        cls.told = {"rocescope_" + name for name in
                    re.findall(r'\.(?:Gauge|Counter)\(\s*"(\w+)"', (FOLDER / "metrics.cc").read_text())}
        cls.queries = [target["expr"] for panel in cls.dashboard["panels"]
                       for target in panel.get("targets", [])]

    def test_asks_for_metrics_that_there_are(self):
        self.assertGreater(len(self.told), 30)
        self.assertGreater(len(self.queries), 15)
        asked = set(itertools.chain.from_iterable(map(OURS.findall, self.queries)))
        asked |= set(OURS.findall(json.dumps(self.dashboard["templating"])))
        self.assertEqual(asked - self.told, set())

    def test_alerts_ask_for_metrics_that_there_are(self):
        asked = set(OURS.findall((FOLDER / "alerts.yaml").read_text()))
        self.assertEqual(asked - self.told, set())

    def test_prometheus_understands_every_query(self):
        rules = {"groups": [{"name": "dashboard", "rules": [
            {"record": f"query:{number}", "expr": query.replace("$instance", ".*")}
            for number, query in enumerate(self.queries)]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(rules, file)  # JSON is YAML
            file.flush()
            done = subprocess.run([PROMTOOL, "check", "rules", file.name], capture_output=True,
                                  text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_panels_lie_beside_each_other(self):
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
