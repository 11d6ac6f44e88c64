#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that swapped and missing cables of simulated runs are reported as in the ground truth by each
sufficient kind of telemetry, and that other telemetry and correct fabrics give no finding.

usage: cabling_test.py PATH/rocescope-sim PATH/rocescope SCENARIOS [UNITTEST ARGUMENT...]
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SIMULATOR = ROCESCOPE = SCENARIOS = ""
ALL = "{mirror: all, int_exponent: 7, sflow_rate: 256}"


def simulate(folder, scenario, telemetry=ALL):
    text, count = re.subn(r"^telemetry: .*$", f"telemetry: {telemetry}",
                          pathlib.Path(SCENARIOS, scenario).read_text(), flags=re.M)
    assert count == 1
    path = pathlib.Path(folder, "scenario.yaml")
    path.write_text(text)
    subprocess.run([SIMULATOR, "run", path, "-d", pathlib.Path(folder, "run")],
                   capture_output=True, check=True)


def replay(folder, *words):
    done = subprocess.run([ROCESCOPE, "replay", pathlib.Path(folder, "run"), "-o", "json", *words],
                          capture_output=True, check=True)
    return json.loads(done.stdout)


class Swapped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        simulate(cls.folder, "swapped-cables.yaml")
        truth = json.loads(pathlib.Path(cls.folder, "run/truth.json").read_text())
        cls.truth = truth["faults"][0]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def expect_the_swap(self, *words):
        findings = replay(self.folder, *words)["cabling"]["findings"]
        self.assertEqual([finding["kind"] for finding in findings], ["KIND_SWAPPED"], findings)
        self.assertCountEqual(findings[0]["declared_links"], self.truth["declared_links"])
        real = [sorted([cable["a"], cable["b"]]) for cable in findings[0]["actual_cables"]]
        self.assertCountEqual(real, [sorted(link.split("-")) for link in self.truth["real_links"]])

    def test_is_found_with_all_telemetry(self):
        self.expect_the_swap()

    def test_is_found_with_each_sufficient_telemetry(self):
        for parts in ["port-mirror", "int", "sflow", "counters"]:
            with self.subTest(parts):
                self.expect_the_swap("--only", parts)

    def test_insufficient_telemetry_gives_no_finding(self):
        for parts in ["leaf-mirror", "nccl"]:
            with self.subTest(parts):
                self.assertEqual(replay(self.folder, "--only", parts)["cabling"]["findings"], [])


class AsDeclared(unittest.TestCase):
    def test_a_fabric_as_declared_gives_no_finding(self):
        for scenario in ["healthy.yaml", "link-down.yaml", "switch-crash.yaml"]:
            with tempfile.TemporaryDirectory() as folder:
                simulate(folder, scenario)
                for words in [(), ("--only", "port-mirror"), ("--only", "leaf-mirror"),
                              ("--only", "int"), ("--only", "sflow"), ("--only", "sflow,counters")]:
                    with self.subTest(scenario=scenario, words=words):
                        cabling = replay(folder, *words)["cabling"]
                        self.assertEqual(cabling["findings"], [])
                        self.assertGreater(int(cabling["confirmed_link_count"]), 0)

    def test_an_absent_declared_cable_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            simulate(folder, "healthy.yaml", "{mirror: leaf}")
            topology = pathlib.Path(folder, "run/topology.yaml")
            text = topology.read_text()
            for ports, more in [("Ethernet[1-20]", "Ethernet[1-21]"),
                                ("Ethernet[1-4]", "Ethernet[1-5]")]:
                assert ports in text
                text = text.replace(ports, more)
            declared = pathlib.Path(folder, "declared.yaml")
            declared.write_text(text.replace(
                "links:\n", 'links:\n  - ["leaf2:Ethernet21", "spine1:Ethernet5"]\n'))
            findings = replay(folder, "--topology", declared)["cabling"]["findings"]
            self.assertEqual([(finding["kind"], finding["declared_links"]) for finding in findings],
                             [("KIND_MISSING", ["leaf2:Ethernet21-spine1:Ethernet5"])])


class ReasonOfAChange(unittest.TestCase):
    # How many of all path changes have a reason of these kinds. Reasons with a place must name the
    # place of the ground truth, or a link of it.
    def expect_reasons(self, scenario, kinds):
        with tempfile.TemporaryDirectory() as folder:
            simulate(folder, scenario, "{mirror: leaf}")
            place = json.loads(pathlib.Path(folder, "run/truth.json").read_text())["faults"][0][
                "place"]
            reasons = collections.Counter()
            for path in replay(folder)["paths"]:
                for stretch in path["intervals"]:
                    if stretch["start_reason"] != "START_REASON_REROUTED":
                        continue
                    reasons[stretch["change_cause"].removeprefix("CHANGE_CAUSE_").lower()] += 1
                    if stretch["change_place"]:
                        self.assertIn(place, stretch["change_place"])
            for kind in kinds:
                self.assertGreater(reasons[kind], 0, reasons)
            self.assertLess(reasons["unknown"], 0.1 * reasons.total(), reasons)

    def test_is_the_link_that_went_down_and_came_up_again(self):
        self.expect_reasons("link-down.yaml", ["link_down", "link_up", "rehashed"])

    def test_is_the_switch_that_crashed(self):
        self.expect_reasons("switch-crash.yaml", ["switch_down", "link_up", "rehashed"])


if __name__ == "__main__":
    SIMULATOR, ROCESCOPE, SCENARIOS = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
