#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocescope topology: exit codes, output streams, and consistency of its formats.

usage: topology_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

import command_line
from command_line import OUTPUT, SUCCESS, UNREADABLE, USAGE, CommandLine

LEAF_SPINE = ["generate", "leaf-spine", "--hosts", "8", "--nics", "2", "--leaves", "4", "--spines",
              "3", "--host-speed", "200G"]
TREE = b"SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\nSwitchName=s2 Switches=s[0-1]\n"


class Topology(CommandLine):
    def topology(self, *words, expect=SUCCESS, **keywords):
        return self.run_it("topology", *words, expect=expect, **keywords)

    def fabric(self, *words):
        return self.file("fabric.yaml", self.topology(*(words or LEAF_SPINE)).stdout.encode())

    def test_what_is_generated_is_sound_and_counted(self):
        path = self.fabric()
        for run in (self.topology("validate", path),
                    self.topology("validate", "-", input=pathlib.Path(path).read_bytes())):
            self.assertEqual(run.stderr, "")
            self.assertIn("leaf-spine: 8 hosts with 16 NICs, 16 GPUs and 2 rails; 7 switches, "
                          "28 links, 0 mirror sessions", run.stdout)
        survey = json.loads(self.topology("validate", path, "-o", "json").stdout)
        self.assertEqual([tier["nodes"] for tier in survey["tiers"]], [8, 4, 3])
        self.assertEqual(survey["tiers"][0]["up_bits_per_second"], str(16 * 200 * 10**9))

    def test_slurms_tree_is_read_back_with_the_same_neighbours(self):
        exported = self.topology("export", self.fabric(), "--format", "slurm").stdout
        self.assertEqual([line for line in exported.splitlines() if not line.startswith("#")],
                         [f"SwitchName=leaf{i} Nodes=host[{2 * i}-{2 * i + 1}]" for i in range(4)]
                         + ["SwitchName=spines Switches=leaf[0-3]"])
        path = self.file("topology.conf", exported.encode())
        again = self.topology("convert", path, "-o", "json")
        self.assertEqual(len(json.loads(again.stdout)["hosts"]), 8)
        self.topology("export", path, "--format", "block", expect=USAGE)

    def test_a_file_is_shown_as_it_was_generated(self):
        path = self.fabric()
        for form in ("yaml", "text", "json", "dot"):
            self.assertEqual(self.topology("show", path, "-o", form).stdout,
                             self.topology(*LEAF_SPINE, "-o", form).stdout, form)

    def test_every_cable_is_in_every_form(self):
        path = self.fabric()
        shown = json.loads(self.topology("show", path, "-o", "json").stdout)
        dot = self.topology("show", path, "-o", "dot").stdout
        edges = re.findall(r'"(.*)" -- "(.*)" \[taillabel="(.*)", headlabel="(.*)", label', dot)
        self.assertEqual([link["ends"] for link in shown["links"]],
                         [[f"{a}:{at_a}", f"{b}:{at_b}"] for a, b, at_a, at_b in edges])
        peers = {f"{node['name']}:{port['name']}": port["peer"]
                 for node in shown["switches"] for port in node["ports"]}
        for a, b in (link["ends"] for link in shown["links"]):
            self.assertEqual(peers.get(b), a)

    def test_paths_are_counted_and_listed(self):
        path = self.fabric()
        words = ["show", path, "--from", "host0:mlx5_0", "--to", "host7:mlx5_1"]
        self.assertIn("PATHS from host0:mlx5_0 to host7:mlx5_1: 3\n", self.topology(*words).stdout)
        paths = json.loads(self.topology(*words, "-o", "json").stdout)["paths"]
        self.assertEqual(paths["count"], "3")
        self.assertEqual([hops[-1] for hops in paths["paths"]], ["leaf3:Ethernet4"] * 3)
        self.assertEqual([len(hops) for hops in paths["paths"]], [4] * 3)

    def test_a_nic_that_is_not_there_is_told(self):
        path = self.fabric()
        run = self.topology("show", path, "--from", "hots0:mlx5_0", "--to", "host1:mlx5_0",
                            expect=USAGE)
        self.assertIn('unknown node "hots0"; did you mean "host0"?', run.stderr)
        run = self.topology("show", path, "--from", "host0:mlx5_7", "--to", "host1:mlx5_0",
                            expect=USAGE)
        self.assertIn('host0 has no NIC "mlx5_7"; its NICs: mlx5_0, mlx5_1', run.stderr)

    def test_each_mistake_of_a_file_is_a_line_with_its_place(self):
        path = self.file("bad.yaml", b"nam: x\nhosts:\n  - {name: a, nics: 1}\n")
        for command in ("validate", "show"):
            run = self.topology(command, path, expect=UNREADABLE)
            self.assertEqual(run.stdout, "")
            lines = run.stderr.splitlines()
            self.assertEqual(len(lines), 2)
            self.assertIn(f"{path}:1:1: unknown key \"nam\"", lines[0])
            self.assertIn(f"{path}:3:21: expected a list", lines[1])

    def test_replay_tells_mistakes_as_validate_does(self):
        path = self.file("two.yaml", b"nam: x\nhosts:\n  - {name: a, nics: 1}\n")
        told = self.topology("validate", path, expect=UNREADABLE).stderr
        self.assertEqual(told.count(f"rocescope: {path}:"), 2)
        replay = self.run_it("replay", "none.pcap", "--topology", path, expect=UNREADABLE)
        self.assertEqual(replay.stderr, told)

    def test_a_missing_file_and_a_folder_are_told(self):
        for path in ("/nonexistent/f.yaml", self.scratch.name):
            run = self.topology("validate", path, expect=UNREADABLE)
            self.assertIn(path, run.stderr)

    def test_numbers_that_make_no_fabric_are_refused(self):
        for words, says in ((["fat-tree", "--k", "5"], "k is 5"), (["star"], "number of hosts is missing"),
                            (["ring"], "ring"), (["star", "--hosts", "x"], "--hosts"),
                            (["star", "--hosts", "2", "--host-speed", "fast"], "fast")):
            run = self.topology("generate", *words, expect=USAGE)
            self.assertEqual(run.stdout, "")
            self.assertIn(says, run.stderr)

    def test_help_is_named_for_the_command_that_went_wrong(self):
        self.assertIn("`rocescope topology --help`", self.topology(expect=USAGE).stderr)
        run = self.topology("show", "--colour", expect=USAGE)
        self.assertIn("`rocescope topology show --help`", run.stderr)
        for words in ([], ["generate"], ["validate"], ["convert"], ["show"]):
            text = self.topology(*words, "--help").stdout
            self.assertIn("Usage: rocescope topology", text)

    def test_what_is_converted_is_a_fabric(self):
        path = self.file("topology.conf", TREE)
        run = self.topology("convert", path, "--nics", "2", "--speed", "400G")
        self.assertIn("does not name ports", run.stderr)
        self.assertIn("speed: 400G", run.stdout)
        fabric = self.file("converted.yaml", run.stdout.encode())
        self.assertIn("4 hosts with 8 NICs", self.topology("validate", fabric).stdout)
        run = self.topology("convert", "-", "--from", "slurm", input=TREE)
        self.assertIn("n[1-4]", run.stdout)

    def test_a_format_that_nothing_tells_is_asked_for(self):
        run = self.topology("convert", self.file("a.txt", TREE), expect=USAGE)
        self.assertIn("--from slurm", run.stderr)

    def test_what_cannot_be_converted_is_told_with_its_place(self):
        path = self.file("a.dot", b"graph G {\n  a:b -> c:d\n}\n")
        run = self.topology("convert", path, expect=UNREADABLE)
        self.assertIn(f"{path}:2:7: expected --", run.stderr)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            run = subprocess.run([command_line.rocescope, "topology", *LEAF_SPINE], stdout=full,
                                 stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(run.returncode, OUTPUT)


if __name__ == "__main__":
    command_line.rocescope = sys.argv.pop(1)
    unittest.main()
