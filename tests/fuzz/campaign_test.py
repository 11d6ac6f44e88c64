#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of tests/fuzz/campaign with scripts instead of fuzz programs: the schedule, the state, crashes, and a
campaign that is interrupted or killed and then resumed.

    campaign_test.py [TEST]...
"""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE / "campaign"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("campaign", str(SCRIPT))
campaign = importlib.util.module_from_spec(importlib.util.spec_from_loader("campaign", loader))
loader.exec_module(campaign)

# Behaves like a libFuzzer program. A piece uses 1 s of CPU time. FOLDER/fifo: reports its start there and
# waits. FOLDER/crash: the next piece crashes on an input with the content of that file.
PROGRAM = r"""#!/usr/bin/env python3
import os, pathlib, shutil, sys, time
here = pathlib.Path(__file__).parent
options = dict(a[1:].split("=", 1) for a in sys.argv[1:] if a.startswith("-"))
rest = [pathlib.Path(a) for a in sys.argv[1:] if not a.startswith("-")]
def fail(text):
    print("requirement failed: " + text, flush=True)
    sys.exit(77)
if options.get("merge"):
    for name in ("a", "seed"):
        shutil.copy((rest[2] if name == "a" else rest[1]) / name, rest[0] / name)
elif "max_total_time" in options:
    with (here / "pieces").open("a") as log: log.write(options["max_total_time"] + "\n")
    if (here / "fifo").exists():
        (here / "fifo").write_text(str(os.getpid()))
        time.sleep(600)
    while time.process_time() < 1: pass
    print("#2\tINITED cov: 5 ft: 7 corp: 1/3b exec/s: 0 rss: 30Mb")
    if (here / "crash").exists():
        content = (here / "crash").read_text()
        (here / "crash").unlink()
        pathlib.Path(options["artifact_prefix"] + "crash-" + "0" * 39 + content).write_text(content)
        fail("number 0x12")
    (rest[0] / "a").write_text("a")
    (rest[0] / "b").write_text("b")
    print("#99\tDONE   cov: 9 ft: 12 corp: 3/9b lim: 4 exec/s: 99 rss: 31Mb")
    print("stat::number_of_executed_units: 100\nstat::peak_rss_mb:              31")
elif not (here / "fixed").exists():
    fail("number 0x34")
"""


class Stage(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.out = self.folder / "out"
        (self.folder / "fuzz").mkdir()
        for name in ("fuzz_a", "fuzz_b"):
            home = self.folder / name
            (home / "corpus").mkdir(parents=True)
            (home / "corpus/seed").write_text("seed")
            program = home / name
            program.write_text(PROGRAM)
            program.chmod(0o755)
            (self.folder / f"fuzz/{name}.json").write_text(json.dumps({
                "name": name, "program": str(program), "corpus": str(home / "corpus"), "dictionary": "none.dict",
                "max_length": 16}))

    def command(self, *arguments, minimum="0.04"):
        return [sys.executable, "-B", SCRIPT, "-d", self.out, "--build", self.folder, "--hours", "0",
                "--minimum", minimum, "--piece", "0.02", *arguments]

    def run_campaign(self, *arguments, code=0, **options):
        run = subprocess.run(self.command(*arguments, **options), capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, code, run.stderr)
        return run

    def state(self, name):
        return json.loads((self.out / "state.json").read_text())["targets"][name]

    def pieces(self, name):
        path = self.folder / name / "pieces"
        return len(path.read_text().split()) if path.exists() else 0


class Schedule(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.state = campaign.State(pathlib.Path(temporary.name))

    def test_the_budget_is_divided_equally(self):
        self.assertEqual(campaign.share_of(24, 24, 30), 3600)

    def test_the_minimum_exceeds_a_small_budget(self):
        self.assertEqual(campaign.share_of(24, 6, 30), 1800)

    def test_the_program_with_the_least_time_is_next(self):
        self.state.of("a")["cpu_seconds"] = 50
        self.state.of("b")["cpu_seconds"] = 40
        self.assertEqual(campaign.next_piece(self.state, ["a", "b"], set(), 1000, 600), ("b", 600))

    def test_a_busy_program_is_not_started_twice(self):
        self.state.of("a")["cpu_seconds"] = 50
        self.assertEqual(campaign.next_piece(self.state, ["a", "b"], {"b"}, 1000, 600), ("a", 600))

    def test_the_last_piece_is_shorter(self):
        self.state.of("a")["cpu_seconds"] = 970
        self.assertEqual(campaign.next_piece(self.state, ["a"], set(), 1000, 600), ("a", 30))

    def test_nothing_is_next_when_all_have_their_share(self):
        self.state.of("a")["cpu_seconds"] = 999.5
        self.assertIsNone(campaign.next_piece(self.state, ["a"], set(), 1000, 600))

    def test_the_state_round_trips(self):
        self.state.add_piece("a", 12.5, {"executions": 7, "peak_rss_mb": 3, "features": 4, "edges": 2})
        self.state.save()
        self.assertEqual(campaign.State(self.state.path.parent).targets, self.state.targets)

    def test_a_damaged_state_is_an_error(self):
        self.state.path.write_text('{"targets"')
        with self.assertRaises(campaign.CampaignError):
            campaign.State(self.state.path.parent)


class Output(unittest.TestCase):
    def test_figures(self):
        figures = campaign.read_output(
            "#2\tINITED cov: 5 ft: 7 corp: 1/3b exec/s: 0 rss: 30Mb\n"
            "#8\tNEW    cov: 6 ft: 9 corp: 2/5b lim: 4 exec/s: 0 rss: 30Mb L: 2/2 MS: 1 CopyPart-\n"
            "stat::number_of_executed_units: 12\nstat::peak_rss_mb:              31\n")
        self.assertEqual(figures, {"executions": 12, "edges": 6, "features": 9, "inputs": 2, "features_of_seeds": 7,
                                   "peak_rss_mb": 31})

    def test_a_killed_program_has_the_executions_of_its_last_line(self):
        self.assertEqual(campaign.read_output("#8\tpulse  cov: 6 ft: 9 corp: 2/5b exec/s: 0\n")["executions"], 8)

    def test_addresses_do_not_distinguish_causes(self):
        self.assertEqual(campaign.cause_of("==1== ERROR: libFuzzer: timeout after 5 seconds"),
                         campaign.cause_of("==23== ERROR: libFuzzer: timeout after 6 seconds"))

    def test_a_requirement_is_the_cause(self):
        self.assertEqual(campaign.cause_of("requirement failed: x\n==1== ERROR: libFuzzer: deadly signal\n"
                                           "SUMMARY: libFuzzer: deadly signal"), "requirement failed: x")


class Runs(Stage):
    def test_programs_take_turns_until_each_has_its_share(self):
        run = self.run_campaign()
        self.assertIn("| fuzz_b |", run.stdout)
        for name in ("fuzz_a", "fuzz_b"):
            self.assertGreaterEqual(self.state(name)["cpu_seconds"], 1.4)
            self.assertEqual(self.state(name)["executions"], 100 * self.pieces(name))
            self.assertEqual(self.state(name)["features_of_seeds"], 7)

    def test_the_corpus_is_minimised_without_the_seeds(self):
        self.run_campaign()
        self.assertEqual(os.listdir(self.out / "corpus/fuzz_a"), ["a"])
        rows = json.loads((self.out / "report.json").read_text())["targets"]
        self.assertEqual([row["inputs"] for row in rows], [1, 1])

    def test_a_finished_campaign_does_nothing_when_it_is_repeated(self):
        self.run_campaign()
        before = self.pieces("fuzz_a")
        self.run_campaign()
        self.assertEqual(self.pieces("fuzz_a"), before)

    def test_a_larger_budget_continues(self):
        self.run_campaign()
        before = self.state("fuzz_a")["cpu_seconds"]
        self.run_campaign(minimum="0.08")
        self.assertGreater(self.state("fuzz_a")["cpu_seconds"], before + 1)

    def test_an_interrupted_campaign_resumes(self):
        self.run_campaign("--target", "fuzz_a")
        used = self.state("fuzz_a")["cpu_seconds"]
        process = self.stop_during_a_piece(signal.SIGINT, 3)
        self.assertFalse(pathlib.Path(f"/proc/{process}").exists())
        self.assertEqual(self.state("fuzz_a")["cpu_seconds"], used)
        self.run_campaign()
        self.assertEqual(self.state("fuzz_a")["cpu_seconds"], used)
        self.assertGreaterEqual(self.state("fuzz_b")["cpu_seconds"], 1.4)

    def test_a_killed_campaign_resumes_and_keeps_its_crashes(self):
        process = self.stop_during_a_piece(signal.SIGKILL, -signal.SIGKILL)
        os.kill(process, signal.SIGKILL)
        (self.out / "crashes/fuzz_b" / ("crash-" + "1" * 40)).write_text("x")
        self.run_campaign(code=1)
        self.assertEqual(self.state("fuzz_b")["crashes"], {"requirement failed: number": 1})
        self.assertGreaterEqual(self.state("fuzz_b")["cpu_seconds"], 1.4)

    def stop_during_a_piece(self, number, code):
        """Interrupts a campaign while fuzz_b runs. Returns the process ID of fuzz_b."""
        fifo = self.folder / "fuzz_b/fifo"
        os.mkfifo(fifo)
        with subprocess.Popen(self.command(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
            process = int(fifo.read_text())
            running.send_signal(number)
            self.assertEqual(running.wait(60), code)
        fifo.unlink()
        return process

    def test_a_crash_is_kept_with_its_output_and_command(self):
        (self.folder / "fuzz_a/crash").write_text("7")
        run = self.run_campaign(code=1)
        self.assertIn("requirement failed: number", run.stdout)
        crash = json.loads((self.out / "report.json").read_text())["targets"][0]["crashes"][0]
        self.assertTrue(crash["reproducible"])
        self.assertIn(crash["file"], crash["command"])
        self.assertIn("0x12", pathlib.Path(crash["file"] + ".txt").read_text())
        self.assertGreaterEqual(self.state("fuzz_a")["cpu_seconds"], 1.4)

    def test_a_fixed_crash_is_not_a_failure(self):
        (self.folder / "fuzz_a/crash").write_text("7")
        self.run_campaign(code=1)
        (self.folder / "fuzz_a/fixed").write_text("")
        self.run_campaign("--report")
        crash = json.loads((self.out / "report.json").read_text())["targets"][0]["crashes"][0]
        self.assertFalse(crash["reproducible"])

    def test_a_folder_has_one_campaign_at_a_time(self):
        fifo = self.folder / "fuzz_a/fifo"
        os.mkfifo(fifo)
        with subprocess.Popen(self.command(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
            fifo.read_text()
            self.assertIn("another campaign", self.run_campaign(code=2).stderr)
            running.terminate()

    def test_unknown_programs_are_refused(self):
        self.assertIn("fuzz_x", self.run_campaign("--target", "fuzz_x", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
