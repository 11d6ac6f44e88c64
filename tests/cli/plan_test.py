#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocescope plan: its output and files, and that they are valid.

usage: plan_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import pathlib
import subprocess
import sys
import unittest

import command_line
from command_line import OUTPUT, SUCCESS, UNREADABLE, USAGE, CommandLine

LEAF_SPINE = ["leaf-spine", "--hosts", "128", "--leaves", "8", "--spines", "16"]
COLLECTOR = "ens1f0=400G@leaf0:Ethernet33,172.31.0.1"


class Plan(CommandLine):
    def setUp(self):
        super().setUp()
        fabric = self.run_it("topology", "generate", *LEAF_SPINE, expect=SUCCESS).stdout
        self.fabric = self.file("fabric.yaml", fabric.encode())

    def plan(self, *words, expect=SUCCESS, collector=COLLECTOR, **options):
        return self.run_it("plan", self.fabric, "--collector", collector, *words, expect=expect,
                           **options)

    def mirrors(self, path):
        return json.loads(self.run_it("topology", "show", path, "-o", "json",
                                      expect=SUCCESS).stdout)["mirrors"]

    def test_the_answer_comes_first_and_is_in_json_too(self):
        text = self.plan().stdout
        plan = json.loads(self.plan("-o", "json").stdout)
        # The kernel, and the lcores of one appliance, cannot receive this rate.
        self.assertTrue(text.startswith("WARNINGS\n\n  - " + plan["warnings"][0]), text)
        self.assertIn(f"\n\nMIRRORS: {plan['mirror']} (", text)
        self.assertEqual([c["mirror"] for c in plan["choices"]],
                         ["nics-both", "nics", "second-leaves", "some-nics", "uplinks"])
        self.assertLessEqual(plan["sflow"]["samples_per_second"], 10_000)
        total = sum(int(s["load"]["bits_per_second"]) for s in plan["sessions"])
        self.assertAlmostEqual(total, int(plan["collectors"][0]["load"]["bits_per_second"]),
                               delta=len(plan["sessions"]))

    def test_what_is_pasted_makes_the_planned_fabric(self):
        for vendor in ("none", "sonic", "eos", "nxos"):
            plan = json.loads(self.plan("--vendor", vendor, "-o", "json").stdout)
            pasted = pathlib.Path(self.fabric).read_text() + plan["mirrors_yaml"]
            mirrors = self.mirrors(self.file("pasted.yaml", pasted.encode()))
            self.assertEqual([(m["switch"], m["session"], m["direction"], m["ports"])
                              for m in mirrors],
                             [(s["switch"], s["session"], s["direction"], s["ports"])
                              for s in plan["sessions"]])

    def test_a_folder_has_a_file_for_each_switch_and_the_appliances_own(self):
        for vendor, end in (("sonic", ".sh"), ("eos", ".cfg"), ("nxos", ".cfg")):
            folder = pathlib.Path(self.scratch.name, vendor)
            run = self.plan("--vendor", vendor, "-d", str(folder))
            self.assertIn("24 switch configurations with rollback files", run.stderr)
            self.assertNotIn("SWITCH CONFIGURATION", run.stdout)
            names = {path.name for path in folder.iterdir()}
            self.assertEqual(names, {"topology.yaml", "appliance.yaml"}
                             | {f"leaf{i}{kind}{end}" for i in range(8)
                                for kind in ("", ".rollback")}
                             | {f"spine{i}{kind}{end}" for i in range(16)
                                for kind in ("", ".rollback")})
            self.assertTrue(self.mirrors(str(folder / "topology.yaml")))
            self.run_it("config", "check", str(folder / "appliance.yaml"), expect=SUCCESS)

    def test_a_shell_reads_what_sonic_is_to_type(self):
        folder = pathlib.Path(self.scratch.name, "sonic")
        self.plan("--vendor", "sonic", "--sample", "64", "-d", str(folder))
        for path in folder.glob("*.sh"):
            subprocess.run(["bash", "-n", str(path)], check=True, timeout=60)

    def test_a_folder_that_holds_something_is_left_alone(self):
        folder = pathlib.Path(self.file("plan/leaf0.cfg", b"mine")).parent
        run = self.plan("--vendor", "eos", "-d", str(folder), expect=USAGE)
        self.assertEqual(run.stdout, "")
        self.assertIn("not an empty directory", run.stderr)
        self.assertEqual((folder / "leaf0.cfg").read_bytes(), b"mine")

    def switches(self, *names, port="E1"):
        """A fabric with a host on each of these switches."""
        text = "defaults: {speed: 100G}\nswitches:\n"
        for n, name in enumerate(names):
            text += (f"  - {{name: '{name}', tier: leaf, erspan_source: 10.9.0.{n + 1}, "
                     f"sflow_agent: 10.9.0.{n + 1}, ports: [{{name: '{port}', number: 1}}, "
                     "{name: E2, number: 2}]}\n")
        text += "hosts:\n"
        for n in range(len(names)):
            text += f"  - {{name: h{n}, nics: [{{device: m0, addresses: 10.0.0.{n + 1}}}]}}\n"
        text += "links:\n" + "".join(f"  - ['h{n}:m0', '{name}:{port}']\n"
                                     for n, name in enumerate(names))
        self.fabric = self.file("switches.yaml", text.encode())
        return f"ens1f0=400G@{names[0]}:E2,172.31.0.1"

    def test_names_that_are_commands_are_refused_before_anything_is_written(self):
        folder = pathlib.Path(self.scratch.name, "plan")
        for names, port, says in ((["leaf"], f"E1;touch {folder};#", 'switch "leaf", port "E1;touch'),
                                  (["leaf"], "E1 rx", 'switch "leaf", port "E1 rx"'),
                                  (["leaf!", "b"], "E1", 'switch "leaf!"')):
            collector = self.switches(*names, port=port)
            for vendor in ("sonic", "eos", "nxos"):
                for output in ([], ["-o", "json"], ["-d", str(folder)]):
                    run = self.plan("--vendor", vendor, *output, collector=collector, expect=USAGE)
                    self.assertEqual(run.stdout, "")
                    self.assertIn(says, run.stderr)
                    self.assertIn("topology file", run.stderr)
                    self.assertFalse(folder.exists())
            self.plan(collector=collector)

    def test_switches_that_share_a_file_are_refused_before_anything_is_written(self):
        folder = pathlib.Path(self.scratch.name, "plan")
        for pair in (("a/b", "a_b"), ("Leaf1", "leaf1"), ("a", "a.rollback")):
            collector = self.switches(*pair)
            for vendor in ("sonic", "nxos"):
                run = self.plan("--vendor", vendor, "-d", str(folder), collector=collector,
                                expect=USAGE)
                self.assertEqual(run.stdout, "")
                self.assertIn(f"the switches {pair[0]} and {pair[1]} would have the same "
                              "configuration file", run.stderr)
                self.assertFalse(folder.exists())
            self.plan("--vendor", "sonic", collector=collector)

    def test_the_window_of_the_analysis_is_the_polling_interval(self):
        folder = pathlib.Path(self.scratch.name, "window")
        self.plan("--polling", "45", "-d", str(folder))
        config = self.run_it("config", "dump", str(folder / "appliance.yaml"), expect=SUCCESS)
        self.assertIn("\nanalysis_window: 45s\n", config.stdout)

    def test_the_machine_limits_the_choice_and_a_larger_one_is_refused(self):
        plan = json.loads(self.plan("-o", "json", "--cores", "16", "--memory", "128G").stdout)
        self.assertLessEqual(plan["machine"]["cores"], 16)
        self.assertTrue(plan["machine"]["fits"])
        for words, says in ((["--cores", "16"], "(--cores)"), (["--memory", "1G"], "(--memory)")):
            run = self.plan("--mirror", "nics", *words, expect=USAGE)
            self.assertEqual(run.stdout, "")
            self.assertIn("--mirror nics: ", run.stderr)
            self.assertIn(says, run.stderr)

    def test_names_of_ports_get_the_form_of_the_vendor(self):
        for port, vendor, name in (("Eth1/7", "nxos", "Ethernet1/7"), ("et7", "eos", "Ethernet7"),
                                   ("ethernet8", "sonic", "Ethernet8")):
            collector = self.switches("leaf", port=port)
            run = self.plan("--vendor", vendor, "-o", "json", collector=collector)
            plan = json.loads(run.stdout)
            self.assertIn(name, plan["switch_configs"]["leaf"])
            self.assertNotIn(" " + port, plan["switch_configs"]["leaf"])
            self.assertNotIn("port names", "".join(plan["warnings"]))
        collector = self.switches("leaf", port="swp1")
        for vendor in ("nxos", "eos", "sonic"):
            plan = json.loads(self.plan("--vendor", vendor, "-o", "json",
                                        collector=collector).stdout)
            self.assertIn("leaf: invalid port names for", "".join(plan["warnings"]))
            self.assertIn("swp1", plan["switch_configs"]["leaf"])

    def test_a_folder_that_cannot_be_made_is_an_error(self):
        run = self.plan("-d", "/proc/none/plan", expect=OUTPUT)
        self.assertIn("/proc/none/plan", run.stderr)

    def test_mistakes_name_what_to_change(self):
        for words, says in ((["--truncate", "40"], "70 bytes"),
                            (["--vendor", "nxos", "--sample", "2"], "remove --sample"),
                            (["--vendor", "eos", "--erspan", "3"], "remove --erspan"),
                            (["--utilisation", "2"], "at most 1"),
                            (["--collector", "x=1G@leaf0"], "NAME=SPEED@SWITCH:PORT,ADDRESS"),
                            (["--collector", "x=1G@leaf9:Ethernet1,10.0.0.1"], "leaf9"),
                            (["--collector", "x=1G@leaf1:Ethernet1,10.0.0.1"], "host16:mlx5_0"),
                            (["--mirror", "everything"], "everything")):
            run = self.plan(*words, expect=USAGE)
            self.assertEqual(run.stdout, "")
            self.assertIn(says, run.stderr)
        run = self.run_it("plan", self.fabric, expect=USAGE)
        self.assertIn("--collector", run.stderr)

    def test_a_file_that_is_no_fabric_is_told_with_its_place(self):
        self.fabric = self.file("bad.yaml", b"nam: x\n")
        self.assertIn("bad.yaml:1:1", self.plan(expect=UNREADABLE).stderr)

    def test_a_fabric_may_come_by_a_pipe(self):
        text = pathlib.Path(self.fabric).read_bytes()
        expected = self.plan().stdout
        self.fabric = "-"
        self.assertEqual(self.plan(input=text).stdout, expected)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            run = subprocess.run([command_line.rocescope, "plan", self.fabric, "--collector",
                                  COLLECTOR], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(run.returncode, OUTPUT)


if __name__ == "__main__":
    command_line.rocescope = sys.argv.pop(1)
    unittest.main()
