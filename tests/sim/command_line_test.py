# SPDX-License-Identifier: BSD-3-Clause
"""Tests rocescope-sim's command line under adverse conditions. command_line_test.py PROGRAM SCENARIOS"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SCENARIOS = sys.argv[1:3]


def run(*words, **streams):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run([PROGRAM, *words], timeout=60, text=True, **streams)


class CommandLine(unittest.TestCase):
    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_behind_standard_output_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = run("list", "--scenarios", SCENARIOS, stdout=full)
            self.assertEqual(done.returncode, 4)
            self.assertIn("standard output", done.stderr)

    def test_a_full_disk_behind_standard_error_loses_only_messages(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            self.assertEqual(run("run", "/nowhere.yaml", "-d", "x", stderr=full).returncode, 3)

    def test_a_directory_is_not_a_scenario(self):
        done = run("run", SCENARIOS, "-d", "x")
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"{SCENARIOS}: cannot be read", done.stderr)

    def test_an_endless_file_is_not_a_scenario(self):
        done = run("run", "/dev/zero", "-d", "x")
        self.assertEqual(done.returncode, 3)
        self.assertIn("larger than", done.stderr)

    def test_a_seed_is_a_whole_number_that_fits(self):
        for seed in ("-1", "18446744073709551616", "1e3", "0x10", ""):
            with self.subTest(seed=seed):
                done = run("run", "/nowhere.yaml", "-d", "x", "--seed", seed)
                self.assertEqual(done.returncode, 2, done.stderr)
                done = run("draw", "--count", "1", "-d", "/nowhere/x", "--seed", seed)
                self.assertEqual(done.returncode, 2, done.stderr)

    def test_draw_says_why_a_file_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as name:
            # A limit of the files' size acts like a full disk.
            limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash"]
            done = subprocess.run([*limited, PROGRAM, "draw", "--count", "1", "-d", name],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("write failed after 0 bytes: File too large", done.stderr)

    def test_a_limit_on_the_size_of_files_is_an_error(self):
        healthy = os.path.join(SCENARIOS, "healthy.yaml")
        for limit in ("0", "4"):
            with tempfile.TemporaryDirectory() as name:
                limited = ["bash", "-c", f'ulimit -f {limit}; exec "$@"', "bash"]
                done = subprocess.run([*limited, PROGRAM, "run", healthy, "-d", name],
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("File too large; raise the limit", done.stderr)

    def test_an_epoch_is_a_time_that_programs_can_read(self):
        healthy = os.path.join(SCENARIOS, "healthy.yaml")
        day = os.path.join(SCENARIOS, "day.yaml")
        for scenario, epoch, error in ((healthy, "8589934592", "from 0 to 4611686018"),
                                       (healthy, "4294967295", "the run would end after 4294967295"),
                                       (day, "4611686018", "the run would end after 4")):
            with self.subTest(epoch=epoch), tempfile.TemporaryDirectory() as name:
                done = run("run", scenario, "-d", name, "--epoch", epoch)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(error, done.stderr)
                self.assertEqual(os.listdir(name), [])

    def test_victims_are_found_or_stated_to_be_unknown(self):
        scenario = os.path.join(SCENARIOS, "gray-link.yaml")
        for words, unknown in (((), False), (("--no-victims",), True)):
            with self.subTest(words=words), tempfile.TemporaryDirectory() as name:
                done = run("run", scenario, "-d", name, *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(os.path.join(name, "truth.json"), encoding="utf-8") as file:
                    fault = json.load(file)["faults"][0]
                self.assertEqual(fault["affected_jobs_unknown"], unknown)
                self.assertEqual(fault["affected_jobs"], [] if unknown else ["train"])
                self.assertEqual(fault["exposed_jobs"], ["train"] if unknown else [])

    def test_long_runs_need_the_flow_model(self):
        with tempfile.TemporaryDirectory() as name:
            done = run("run", os.path.join(SCENARIOS, "day.yaml"), "--model", "packet", "-d", name)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("a run of the packet model at most 10.00 s", done.stderr)
            self.assertIn("--model flow", done.stderr)
            self.assertEqual(os.listdir(name), [])

            short = os.path.join(name, "short.yaml")
            with open(os.path.join(SCENARIOS, "healthy.yaml"), encoding="utf-8") as file:
                text = re.sub(r"(?m)^duration: .*", "duration: 2s", file.read())
            with open(short, "w", encoding="utf-8") as file:
                file.write(text)
            done = run("run", short, "-d", os.path.join(name, "run"))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("2000 analysis windows", done.stderr)

    def test_an_unknown_profile_has_its_place_in_the_scenario(self):
        with tempfile.TemporaryDirectory() as name:
            file = os.path.join(name, "wrong.yaml")
            with open(os.path.join(SCENARIOS, "day.yaml"), encoding="utf-8") as day:
                text = day.read()
            for old, new in (("profile: snmp-30s", "profile: snmp-3s"),
                             ("profile: gnmi-1s", "profile: gnmi-l0s")):
                with self.subTest(new=new):
                    with open(file, "w", encoding="utf-8") as out:
                        out.write(text.replace(old, new))
                    wrong = new.split()[1]
                    lines = text.split("\n")
                    line = 1 + next(i for i, one in enumerate(lines) if old in one)
                    column = 1 + lines[line - 1].index(old) + len("profile: ")
                    done = run("run", file, "-d", os.path.join(name, "run"))
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertIn(f'{file}:{line}:{column}: there is no profile "{wrong}"', done.stderr)
                    self.assertNotIn("--profile", done.stderr)

    def test_a_share_is_a_number(self):
        done = run("draw", "--count", "1", "-d", "/nowhere/x", "--healthy", "nan")
        self.assertEqual(done.returncode, 2, done.stderr)


unittest.main(argv=sys.argv[:1])
