#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs the library of sim/ns3_export below a prefix and builds a program against it, as a project
outside this one does.

usage: ns3_install_test.py CMAKE BUILD_DIRECTORY
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE = BUILD = ""

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(rocescope-ns3-export REQUIRED)
add_executable(outside outside.cc)
target_link_libraries(outside PRIVATE rocescope::ns3_export)
"""

PROGRAM = """
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/simulator.h>
#include <rocescope/ns3_export/exporter.h>

int main(int, char** argv) {
  ns3::NodeContainer nodes(2);
  ns3::InternetStackHelper().Install(nodes);
  ns3::Ipv4AddressHelper("10.0.0.0", "255.255.255.0")
      .Assign(ns3::PointToPointHelper().Install(nodes));
  rocescope::ns3_export::Exporter exporter({.directory = argv[1]});
  exporter.AddSwitch(nodes.Get(0), "leaf0", rocescope::ns3_export::Tier::kLeaf);
  exporter.AddHost(nodes.Get(1), "host0");
  exporter.Attach();
  ns3::Simulator::Stop(ns3::MilliSeconds(1));
  ns3::Simulator::Run();
  exporter.Finish();
}
"""


class Install(unittest.TestCase):
    def run_(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_project_outside_builds_and_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.run_(CMAKE, "--build", BUILD, "--target", "rocescope-ns3-export")
            self.run_(CMAKE, "--install", BUILD, "--component", "ns3_export", "--prefix",
                      root / "prefix")
            (root / "CMakeLists.txt").write_text(PROJECT)
            (root / "outside.cc").write_text(PROGRAM)
            self.run_(CMAKE, "-S", root, "-B", root / "build",
                      f"-DCMAKE_PREFIX_PATH={root / 'prefix'}")
            self.run_(CMAKE, "--build", root / "build")
            self.run_(root / "build" / "outside", root / "run")
            manifest = json.loads((root / "run" / "run.json").read_text())
            self.assertEqual(manifest["duration_ns"], 1_000_000)


if __name__ == "__main__":
    CMAKE, BUILD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
