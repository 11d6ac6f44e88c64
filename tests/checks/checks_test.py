#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the checks find violations, and nothing else."""
import pathlib
import tempfile
import unittest

import files
import layers


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ["base/time.h", "dataplane/wire/roce.h", "dataplane/flow/table.h",
                     "dataplane/source/capture.h", "topology/fabric.h", "analytics/job/job.h",
                     "appliance/common/config.h", "tests/support/frame.h", "sim/net.h"]:
            self.write(name, "#pragma once\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self, name, *includes):
        self.write(name, "".join(f"#include {include}\n" for include in includes))
        return layers.violations(self.root)

    def test_an_include_of_a_lower_layer_is_accepted(self):
        self.assertEqual(self.found("analytics/x.cc", '"base/time.h"', '"topology/fabric.h"'), [])

    def test_an_include_of_a_higher_layer_is_found_with_its_line(self):
        found = self.found("dataplane/x.cc", "<vector>", '"analytics/job/job.h"')
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("dataplane/x.cc:2: "), found[0])

    def test_an_include_of_a_sibling_layer_is_found(self):
        self.assertEqual(len(self.found("topology/x.cc", '"dataplane/wire/roce.h"')), 1)
        self.assertEqual(len(self.found("dataplane/x.cc", '"topology/fabric.h"')), 2)

    def test_base_includes_nothing_but_base(self):
        self.assertEqual(len(self.found("base/x.cc", '"base/time.h"', '"topology/fabric.h"')), 1)

    def test_sim_includes_only_the_wire_of_the_dataplane(self):
        self.assertEqual(self.found("sim/x.cc", '"dataplane/wire/roce.h"', "<ns3/node.h>"), [])
        self.assertEqual(len(self.found("sim/y.cc", '"dataplane/flow/table.h"')), 1)

    def test_ns3_stays_in_sim(self):
        self.assertEqual(len(self.found("appliance/x.cc", "<ns3/node.h>")), 1)

    def test_analytics_has_no_files_threads_or_clock(self):
        self.assertEqual(len(self.found("analytics/x.cc", "<fstream>", "<thread>")), 2)
        self.write("analytics/x.cc", "auto t = std::chrono::steady_clock::now();\n")
        self.assertEqual(len(layers.violations(self.root)), 1)

    def test_only_unit_tests_may_use_the_test_support(self):
        self.assertEqual(self.found("dataplane/flow/x_test.cc", '"tests/support/frame.h"'), [])
        self.assertEqual(len(self.found("dataplane/flow/x.cc", '"tests/support/frame.h"')), 1)

    def test_a_header_that_only_tests_include_may_use_the_test_support(self):
        self.write("dataplane/flow/feeder.h", '#include "tests/support/frame.h"\n')
        self.assertEqual(self.found("dataplane/flow/x_test.cc", '"dataplane/flow/feeder.h"'), [])
        self.assertEqual(len(self.found("dataplane/flow/x.cc", '"dataplane/flow/feeder.h"')), 1)

    def test_a_path_that_is_not_relative_to_the_root_is_found(self):
        self.assertEqual(len(self.found("dataplane/flow/x.cc", '"table.h"')), 1)

    def test_folders_that_include_each_other_are_a_cycle(self):
        self.write("dataplane/flow/x.cc", '#include "dataplane/source/capture.h"\n')
        found = self.found("dataplane/source/x.cc", '"dataplane/flow/table.h"')
        self.assertEqual(found, ["dependency cycle: "
                                 "dataplane/flow -> dataplane/source -> dataplane/flow"])


class Files(unittest.TestCase):
    LICENCE = "// SPDX-License-Identifier: BSD-3-Clause\n"

    def test_a_file_without_a_licence_line_is_found(self):
        self.assertEqual(len(list(files.check_text("base/x.h", "#pragma once\n"))), 1)
        self.assertEqual(len(list(files.check_text("tests/tool", "#!/bin/bash\n"))), 1)

    def test_other_text_files_need_no_licence_line(self):
        self.assertEqual(list(files.check_text("tests/x/README.md", "Hello\n")), [])

    def test_the_limit_is_800_lines(self):
        self.assertEqual(list(files.check_text("x.cc", self.LICENCE + "\n" * 799)), [])
        self.assertEqual(len(list(files.check_text("x.cc", self.LICENCE + "\n" * 800))), 1)

    def test_a_proto_comment_that_continues_behind_a_field_is_found(self):
        cut = "  string a = 1;  // first line,\n                 // second line\n"
        above = "  string a = 1;  // whole\n  // Above the field.\n  string b = 2;\n"
        found = list(files.check_text("x.proto", self.LICENCE + cut))
        self.assertEqual([line.split(" ")[0] for line in found], ["x.proto:3:"])
        self.assertEqual(list(files.check_text("x.proto", self.LICENCE + above)), [])


if __name__ == "__main__":
    unittest.main()
