#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rocescope replay -o html`: compares the file with the report of the same replay, and opens it in a
browser.

usage: page_file_test.py PATH/rocescope-sim PATH/rocescope SCENARIO DASHBOARD SHOTS
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

SIMULATOR = ROCESCOPE = SCENARIO = DASHBOARD = SHOTS = None


class PageFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        run = pathlib.Path(cls.folder.name, "run")
        subprocess.run([SIMULATOR, "run", SCENARIO, "-d", run], check=True, capture_output=True)
        cls.file = pathlib.Path(cls.folder.name, "page.html")
        with open(cls.file, "wb") as file:
            subprocess.run([ROCESCOPE, "replay", run, "-o", "html"], check=True, stdout=file)
        cls.page = cls.file.read_text()
        cls.report = json.loads(subprocess.run([ROCESCOPE, "replay", run, "-o", "json"], check=True,
                                               capture_output=True).stdout)
        held = re.search(r'<script type="application/json" id="rocescope-data">(.*?)</script>',
                         cls.page, re.S).group(1)
        assert "<" not in held
        cls.held = json.loads(held)

    def at(self, path):
        return self.held["/api/v1/" + path]

    def test_contains_the_data_of_the_report(self):
        findings = self.report["findings"]
        self.assertTrue(findings)
        self.assertEqual([(f["kind"], f["place"], f["confidence"]) for f in self.at("findings")["findings"]],
                         [(f["kind"], f["place"], f["confidence"]) for f in findings])
        jobs = self.at("jobs")["jobs"]
        self.assertEqual({j["job_id"] for j in jobs}, {j["job_id"] for j in self.report["jobs"]})
        for job in jobs:
            self.assertEqual(self.at(f"jobs/{job['job_id']}")["job"]["job_id"], job["job_id"])
            paths = self.at(f"paths?job_id={job['job_id']}")
            self.assertEqual(len(paths["paths"]), paths["total_size"])
        self.assertEqual(len(self.at("hotspots")["hotspots"]), self.at("hotspots")["total_size"])
        self.assertTrue(self.at("topology")["links"])

    def test_has_the_dependents_of_the_places_of_findings(self):
        for finding in self.at("findings")["findings"]:
            element = urllib.parse.quote(finding["place"], safe="-_.!~*'()")
            held = self.at(f"dependencies?question=QUESTION_BLAST_RADIUS&element={element}")
            self.assertEqual(held["dependency"]["name"], finding["place"])

    def test_answers_all_of_its_links(self):
        followed = subprocess.run(["node", "node_modules/vitest/vitest.mjs", "run", "source/links_test.tsx"],
                                  cwd=DASHBOARD, env={**os.environ, "ROCESCOPE_PAGE": str(self.file)},
                                  capture_output=True, text=True, timeout=170)
        self.assertEqual(followed.returncode, 0, followed.stdout + followed.stderr)

    def test_loads_nothing_and_is_small(self):
        self.assertIn("default-src 'none'", self.page)
        outside = self.page.replace(json.dumps(self.held), "")
        self.assertFalse(re.search(r'<(script|link|img)[^>]*(src|href)=', outside))
        self.assertLess(len(self.page), 20e6)

    def test_shows_its_views_in_a_browser(self):
        if not pathlib.Path("/usr/bin/chromium").exists():
            self.skipTest("no /usr/bin/chromium")
        looked = subprocess.run(["node", DASHBOARD / "browser" / "page_test.mjs", self.file, SHOTS],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(looked.returncode, 0, looked.stdout + looked.stderr)


if __name__ == "__main__":
    words = sys.argv[1:]
    SIMULATOR, ROCESCOPE, SCENARIO = words[:3]
    DASHBOARD, SHOTS = (pathlib.Path(word) for word in words[3:5])
    if not (DASHBOARD / "node_modules").exists():
        print("skipped: the packages of the dashboard are not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + words[5:])
