#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Invalid input of testbeds/lab: messages, exit codes, and the files that remain.

    commands_test.py TESTBEDS [UNITTEST ARGUMENT...]
"""

import argparse
import errno
import io
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import lab_modules  # noqa: F401 (the modules of the lab, below, need it)
from shown_fabric import shown

import appliance
import build
import capture
import commands
import effects
import fabric as fabrics
import fault_kinds
import faults
import regression
import score
import state as states
import system
import traffic
from fabric import Fabric
from problem import Problem

LAB = pathlib.Path(commands.__file__).resolve().parents[1] / "lab"
CAMPAIGN = LAB.with_name("lab_campaign")
FULL = OSError(errno.ENOSPC, "No space left on device")


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.enterContext(mock.patch.object(states, "ROOT", self.folder / "labs"))
        self.enterContext(mock.patch.object(sys, "stderr", io.StringIO()))
        self.fabric = Fabric(shown())

    def lab(self, **content):
        state = states.State("lab")
        state.create()
        state.save({"fabric": shown(), "complete": True, "http": 1, "rocescope": "/rocescope", **content})
        return state

    def file(self, text):
        path = self.folder / "jobs.json"
        path.write_text(text)
        return path


class CommandLineTest(unittest.TestCase):
    """The program itself, with commands that do not require root."""

    def run_lab(self, code, message, *words):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([LAB, *words], capture_output=True, text=True,
                                  env={**os.environ, "ROCESCOPE_LAB_STATE": f"{folder}/labs"})
            self.assertEqual(os.listdir(folder), [], words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_an_invalid_command_line_has_exit_code_2(self):
        self.run_lab(2, "argument --leaves: '0' must be a whole number of at least 1", "up", "--leaves", "0")
        self.run_lab(2, "argument --hosts: '2.5' must be a whole number", "up", "--hosts", "2.5")
        self.run_lab(2, "argument --sflow-polling: '-1' must be a whole number", "up", "--sflow-polling=-1")
        self.run_lab(2, "argument --http: '65536' is not a port number", "up", "--http", "65536")
        self.run_lab(2, "argument --seconds: 'nan' is not a number above 0", "capture", "-d", "x", "--seconds", "nan")
        self.run_lab(2, "argument --seconds: '-1' is not a number above 0", "fault", "down", "a:b", "--seconds", "-1")
        self.run_lab(2, "unknown options: -1ms", "fault", "delay", "leaf0:spine0", "-1ms")
        self.run_lab(2, "invalid choice: 'nothing'", "fault", "nothing", "leaf0")

    def test_a_command_that_is_impossible_has_exit_code_3(self):
        self.run_lab(3, "--name: 'my lab' cannot be the name of a lab", "score", "--name", "my lab")
        self.run_lab(3, 'the lab "lab2" is not up; `testbeds/lab up --name lab2` builds it', "score", "--name", "lab2")


class ArgumentsTest(Folder):
    def problem(self, function, *arguments):
        with self.assertRaises(Problem) as raised:
            function(*arguments)
        return str(raised.exception)

    def test_which_commands_require_root(self):
        parser = argparse.ArgumentParser()
        commands.add_to(parser)
        self.assertTrue(parser.parse_args(["fault", "down", "a:b"]).needs_root)
        self.assertFalse(parser.parse_args(["score"]).needs_root)
        with mock.patch.object(system.os, "geteuid", lambda: 1000):
            self.assertIn("run it as root", self.problem(system.require_root))

    def test_a_planned_fault_is_checked(self):
        self.assertEqual(commands.planned_fault("20 5.5 loss leaf0:spine1 1%", 60),
                         (20, 5.5, "loss", "leaf0:spine1", "1%"))
        self.assertEqual(commands.planned_fault("0 5 down leaf0:spine1", 60), (0, 5, "down", "leaf0:spine1", None))
        for text in ("", "loss leaf0:spine1", "1 2 loss", "-1 2 down a:b", "1 0 down a:b", "nan 2 down a:b",
                     "1 inf down a:b", "1 2 loss a:b 1% more"):
            self.assertIn("expected ONSET DURATION", self.problem(commands.planned_fault, text, 60))
        self.assertIn("unknown kind of fault lost", self.problem(commands.planned_fault, "1 2 lost a:b", 60))
        self.assertIn("after the end of the capture (60 s)", self.problem(commands.planned_fault, "60 2 down a:b", 60))

    def test_a_jobs_file_is_checked(self):
        jobs = [{"name": "a", "hosts": "host[0-1]", "phases": [{"collective": "ring"}]}]
        self.assertEqual(commands.read_jobs(self.file(json.dumps(jobs))), jobs)
        self.assertEqual(commands.read_jobs(self.file(json.dumps({"jobs": jobs}))), jobs)
        for text, words in (("{", "jobs.json: not a JSON file: "), ("", "not a JSON file"), ("[]", "expected a list"),
                            ("{}", "expected a list"), ("5", "expected a list"), ('{"jobs": {}}', "expected a list")):
            self.assertIn(words, self.problem(commands.read_jobs, self.file(text)))
        self.assertIn("not a JSON file", self.problem(commands.read_jobs, self.file("[" * 100_000)))
        (self.folder / "jobs.json").write_bytes(b"\xff")
        self.assertIn("not a JSON file", self.problem(commands.read_jobs, self.folder / "jobs.json"))
        self.assertIn("No such file", self.problem(commands.read_jobs, self.folder / "missing"))

    def test_the_jobs_are_checked_before_the_lab_is_built(self):
        good = {"name": "a b", "hosts": "host[0,2]", "phases": [{"collective": "ring"}]}
        traffic.check_jobs(None, False, self.fabric.hosts)
        traffic.check_jobs([good], False, self.fabric.hosts)
        for change, words in (({"hosts": "host9"}, "job a b: `hosts`: the lab has no host 'host9'"),
                              ({"hosts": ""}, "the lab has no host ''"), ({"hosts": ["host0"]}, "in one string"),
                              ({"hosts": "host[a-b]"}, "in one string"),
                              ({"hosts": "host[0-999999999999]"}, "in one string"),
                              ({"phases": []}, "expected the key `phases`"),
                              ({"name": 5}, "job 5: `name` is 5; expected a text"), ({"name": ""}, "expected a text"),
                              ({"id": "7"}, "`id` is '7'; expected a whole number"),
                              ({"phases": [{}]}, "`collective`"), ({"phases": 1}, "`phases`")):
            self.assertIn(words, self.problem(traffic.check_jobs, [good | change], False, self.fabric.hosts))
        for first, second, words in (({}, {"id": 3}, "two jobs have the `name` 'a b'"),
                                     ({}, {"name": "c", "id": 1}, "two jobs have the `id` 1")):
            self.assertIn(words, self.problem(traffic.check_jobs, [good | first, good | second], False,
                                              self.fabric.hosts))
        self.assertIn("job 1: expected an object", self.problem(traffic.check_jobs, [5], False, self.fabric.hosts))

    def test_jobs_without_a_name_or_id_get_those_of_the_endpoint(self):
        self.assertEqual(traffic.with_defaults([{"hosts": "host0"}, {"name": "a", "id": 9}]),
                         [{"name": "job1", "id": 1, "hosts": "host0"}, {"name": "a", "id": 9}])

    def test_a_program_that_prints_no_topology_is_a_problem(self):
        for output in ("", "{}", "[]", "text"):
            with mock.patch.object(fabrics, "run", return_value=output):
                self.assertIn("with --rocescope", self.problem(fabrics.generate, "/bin/true", 2, 2, 4, "1G"))

    def test_ports_that_are_in_use_are_found_before_the_lab_is_built(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            one.listen()
            used = one.getsockname()[1]
            self.assertIn(f"port {used} of 127.0.0.1 cannot be used",
                          self.problem(appliance.check_ports, used, used - 1))
            self.assertIn("with --grpc", self.problem(appliance.check_ports, regression.free_port(), used))
        self.assertIn("the same port", self.problem(appliance.check_ports, 8080, 8080))


class FaultValuesTest(Folder):
    def problem(self, *words):
        with self.assertRaises(Problem) as raised:
            fault_kinds.make(None, self.fabric, *words)
        return str(raised.exception)

    def test_the_message_names_the_fault_and_what_is_expected(self):
        for words, expected in ((("loss", "leaf0:spine0", "200%"), "fault loss: 200%: expected a percentage above 0%"),
                                (("delay", "leaf0:spine0", "-1ms"), "fault delay: -1ms: expected a time from 100us"),
                                (("burst", "host0:host1", "10%"), "10%: expected a rate from 1k to 100G"),
                                (("rate", "leaf0:spine0", "0.5"), "0.5: expected a rate"),
                                (("rate", "leaf0:spine0", "9" * 400), "expected a rate from 1k to 100G"),
                                (("rate", "leaf0:spine0", "1"), "expected a rate from 1k to 100G"),
                                (("flap", "leaf0:spine0", "9" * 400), "expected a time from 100ms to 3600s"),
                                (("burst", "host0", "1M"), "host0: expected two different hosts"),
                                (("burst", "host0:host0", "1M"), "expected two different hosts"),
                                (("blackhole", "leaf0", "host9"), "host9: no such host; the lab has host0, "),
                                (("loss", "leaf0:leaf9", "1%"), "leaf0:leaf9: no such link; "),
                                (("blackhole", "leaf0", None), "the value is missing: HOST")):
            self.assertIn(expected, self.problem(*words))

    def test_the_output_shows_a_fraction_as_a_percentage(self):
        self.assertEqual(fault_kinds.shown_value("loss", "0.5"), "50 % of the frames")
        self.assertEqual(fault_kinds.shown_value("loss", "0.5%"), "0.5 % of the frames")
        self.assertEqual(fault_kinds.shown_value("loss", None), "1 % of the frames")
        self.assertEqual(fault_kinds.shown_value("delay", "20ms"), "added delay 20ms")
        self.assertEqual(fault_kinds.shown_value("rate", "10%"), "remaining rate 10%")
        self.assertEqual(fault_kinds.shown_value("down", None), "")


class StateTest(Folder):
    def test_a_lab_that_was_not_built_completely_is_not_used(self):
        state = states.State("lab2")
        state.create()
        with self.assertRaisesRegex(Problem, 'the lab "lab2" is not complete.*`testbeds/lab down --name lab2`'):
            state.require()
        state.save({"complete": False})
        self.assertEqual(state.require(), {"complete": False})
        with self.assertRaisesRegex(Problem, "is not complete"):
            state.require_complete()
        with self.assertRaisesRegex(Problem, "exists, or an earlier one was not removed"):
            state.create()

    def test_a_full_disk_leaves_the_old_content(self):
        state = self.lab()
        old = (state.path / "lab.json").read_text()
        with mock.patch.object(states.os, "replace", side_effect=FULL):
            with self.assertRaisesRegex(Problem, "lab.json: cannot be written: No space left"):
                state.save({})
        self.assertEqual((state.path / "lab.json").read_text(), old)
        self.assertEqual(sorted(os.listdir(state.path)), ["lab.json", "run"])

    def test_a_lab_that_cannot_be_built_is_removed(self):
        options = build.Options(**regression.SMALL, http=regression.free_port(), grpc=regression.free_port(),
                                rocescope=sys.executable, endpoint=sys.executable)
        with mock.patch.object(build, "check_machine"), \
                mock.patch.object(build.fabrics, "generate", return_value=self.fabric), \
                mock.patch.object(build, "build", side_effect=FULL), \
                self.assertRaisesRegex(Problem, "cannot build the lab in .*: .*No space left"):
            build.up(states.State("lab"), options)
        self.assertEqual(os.listdir(self.folder / "labs"), [])

    def test_damaged_files_do_not_prevent_the_removal(self):
        state = self.lab()
        (state.path / "lab.json").write_text("{")
        with self.assertRaisesRegex(Problem, "lab.json: not a JSON file.*`testbeds/lab down` removes the lab"):
            state.require()
        (state.path / "resources.jsonl").write_text('{"namespace": "lab-wires"}\n{"namespa\n5\n')
        self.assertEqual(state.namespaces(), ["lab-wires"])
        with mock.patch.object(states, "NAMESPACES", self.folder):
            state.remove()
        self.assertEqual(os.listdir(self.folder / "labs"), [])
        (self.folder / "labs/lab").write_text("")
        state.remove()
        self.assertEqual(os.listdir(self.folder / "labs"), [])

    def test_a_lab_is_not_removed_while_it_is_built(self):
        builder = states.State("lab")
        builder.create()
        with self.assertRaisesRegex(Problem, "`up` or `regression` of the lab \"lab\" still runs"):
            commands.run_down(argparse.Namespace(name="lab"))
        self.assertTrue(builder.path.exists())
        os.close(builder.lock)
        commands.run_down(argparse.Namespace(name="lab"))
        self.assertFalse(builder.path.exists())

    def test_an_endpoint_that_ends_is_a_problem_with_its_last_words(self):
        state = self.lab()
        (state.files / "endpoint-host0.log").write_text("plan.yaml:1:2: two jobs have the id 1\n")
        (state.files / "plan.yaml").write_text(json.dumps({"jobs": traffic.default_jobs(self.fabric)}))
        with self.assertRaisesRegex(Problem, "the endpoint of host0 has ended; .*two jobs have the id 1"):
            traffic.wait_for_logs(state, self.fabric, {"host0": mock.Mock(poll=lambda: 3)})


class FaultsTest(Folder):
    """Injected faults whose processes are replaced."""

    def setUp(self):
        super().setUp()
        self.state = self.lab()
        self.enterContext(mock.patch.object(self.state, "start"))

        def started(state, number, process):
            content = faults.all_of(state)[number]
            content["truth"]["start_ns"] = 1
            faults.path_of(state, number).write_text(json.dumps(content))
        self.enterContext(mock.patch.object(faults, "wait_for_start", started))

    def inject(self, name, place, value=None):
        return faults.inject(self.state, name, place, value, None)

    def test_two_faults_cannot_change_the_same_thing(self):
        for number, words in enumerate((("loss", "leaf0:spine1"), ("loss", "spine1:leaf0"),
                                        ("bit-errors", "leaf0:spine1"), ("flap", "leaf0:spine0"),
                                        ("mtu", "leaf0", "500"), ("straggler", "host0")), 1):
            self.assertEqual(self.inject(*words), number)
        for words in (("loss", "leaf0:spine1", "9%"), ("down", "leaf0:spine0"), ("switch-down", "spine0"),
                      ("mtu", "leaf0", "400"), ("straggler", "host0", "9")):
            with self.assertRaisesRegex(Problem, "is active at the same place; .*`testbeds/lab heal [1-6]`"):
                self.inject(*words)
        self.assertEqual(len(faults.all_of(self.state)), 6)

    def test_a_fault_that_did_not_start_does_not_start_later(self):
        with mock.patch.object(faults, "wait_for_start", side_effect=KeyboardInterrupt), \
                self.assertRaises(KeyboardInterrupt):
            self.inject("down", "leaf0:spine0")
        self.state.start.return_value.terminate.assert_called_once()

    def test_a_fault_whose_process_has_ended_is_not_signalled(self):
        self.inject("down", "leaf0:spine0")
        content = faults.all_of(self.state)[1] | {"pid": os.getpid()}
        faults.path_of(self.state, 1).write_text(json.dumps(content))
        with mock.patch.object(self.state, "processes", return_value={}), \
                self.assertRaisesRegex(Problem, "fault 1 cannot be ended, because its process has ended"):
            faults.heal(self.state)

    def test_an_effect_that_fails_is_ended(self):
        effect = mock.Mock(benign=False, visible_at_once=True, truth={}, last=None)
        effect.tick.side_effect = Problem("the endpoint has ended by itself")
        effect.affected.return_value = None
        self.inject("slow-endpoint", "host0")
        with mock.patch.object(faults.signal, "signal"), \
                mock.patch.object(faults.traffic, "failed_jobs", return_value=[]), \
                mock.patch.object(faults.fault_kinds, "make", return_value=effect):
            faults.Runner(self.state, 1).run()
        effect.end.assert_called_once()
        fault = faults.all_of(self.state)[1]
        self.assertIn("end_ns", fault["truth"])
        self.assertEqual(fault["problem"], "ended early: the endpoint has ended by itself")

    def test_routing_uses_a_link_that_no_longer_flaps(self):
        flapping = effects.Flapping(self.state, self.fabric, [self.fabric.links[0]], 4)
        flapping.is_up, flapping.reroute_at = True, time.monotonic() + 1
        with mock.patch.object(flapping, "reroute") as reroute:
            flapping.end()
        reroute.assert_called_once()


class CaptureTest(Folder):
    def setUp(self):
        super().setUp()
        self.state = self.lab()
        self.run_folder = self.folder / "run"
        self.enterContext(mock.patch.object(capture, "require_program"))

    def capture(self, *planned):
        capture.capture(self.state, self.run_folder, 60, list(planned))

    def test_an_existing_run_is_not_overwritten(self):
        self.run_folder.mkdir()
        (self.run_folder / "mirror.pcap").write_text("kept")
        with self.assertRaisesRegex(Problem, "mirror.pcap exists already"):
            self.capture()
        self.assertEqual((self.run_folder / "mirror.pcap").read_text(), "kept")
        with self.assertRaisesRegex(Problem, "cannot create the directory"):
            capture.prepare(self.run_folder / "mirror.pcap")

    def test_faults_are_checked_before_anything_is_written(self):
        with self.assertRaisesRegex(Problem, "no such link"):
            self.capture((1, 2, "loss", "leaf0:leaf1", "1%"))
        self.assertFalse(self.run_folder.exists())

    def test_planned_faults_at_the_same_place_do_not_overlap(self):
        with self.assertRaisesRegex(Problem, "the faults loss leaf0:spine1 and loss leaf0:spine1 are active at the"):
            self.capture((1, 5, "loss", "leaf0:spine1", "1%"), (5, 2, "loss", "leaf0:spine1", "2%"))
        self.assertFalse(self.run_folder.exists())
        capture.check_planned(self.state, self.fabric, [(1, 4, "loss", "leaf0:spine1", "1%"),
                                                        (5, 2, "loss", "leaf0:spine1", "2%"),
                                                        (1, 9, "loss", "spine1:leaf0", "2%")])

    def test_a_fault_between_the_last_step_and_the_end_is_injected(self):
        maps = mock.MagicMock()
        with mock.patch.object(capture.wires, "maps", maps), \
                mock.patch.object(capture, "read_flows", return_value={}), \
                mock.patch.object(capture.faults, "inject") as inject:
            capture.record(self.state, self.fabric, mock.Mock(poll=lambda: None), 0.2,
                           [(0.1, 5, "down", "leaf0:spine0", None)])
        inject.assert_called_once_with(self.state, "down", "leaf0:spine0", None, 5)

    def test_a_failed_capture_removes_the_directory_that_it_created(self):
        with mock.patch.object(capture, "record_run", side_effect=FULL), self.assertRaises(Problem):
            self.capture()
        self.assertFalse(self.run_folder.exists())
        with self.assertRaisesRegex(Problem, "the name of the directory is empty"):
            capture.prepare("")

    def test_a_failed_capture_leaves_only_other_files(self):
        self.run_folder.mkdir()
        (self.run_folder / "notes").write_text("mine")

        def fill(_, fabric, folder, *rest):
            (folder / "mirror.pcap").write_text("part")
            (folder / "nccl").mkdir()
            raise FULL
        with mock.patch.object(capture, "record_run", fill), \
                self.assertRaisesRegex(Problem, "run: the capture cannot be written: .*No space left"):
            self.capture()
        self.assertEqual(os.listdir(self.run_folder), ["notes"])

    def test_a_recorder_that_failed_is_a_problem(self):
        (self.state.files / "recorder.log").write_text("tcpdump: Unable to write output\n")
        process = mock.Mock(wait=lambda *_: 1)
        with mock.patch.object(self.state, "start", return_value=process), \
                mock.patch.object(capture, "wait_for_captures"), mock.patch.object(capture, "record"), \
                mock.patch.object(capture.faults, "heal"), \
                self.assertRaisesRegex(Problem, "the recorder failed with exit code 1; .*Unable to write output"):
            self.capture()
        process.terminate.assert_called_once()


class CampaignTest(Folder):
    def run_campaign(self, code, message, *words):
        done = subprocess.run([CAMPAIGN, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_invalid_numbers(self):
        for option in ("--runs=-1", "--healthy=x"):
            self.run_campaign(2, "must be a whole number of at least 0", "-d", self.folder, option)
        for option in ("--seconds=0", "--healthy-seconds=nan"):
            self.run_campaign(2, "is not a number above 0", "-d", self.folder, option)
        self.run_campaign(2, "--runs and --healthy are both 0", "-d", self.folder, "--runs", "0", "--healthy", "0")

    def test_captures_that_cannot_be_scored(self):
        (self.folder / "runs/loss-0").mkdir(parents=True)
        self.run_campaign(3, "runs/loss-0 is skipped: it has no run.json", "-d", self.folder, "--rescore", "/bin/true")
        (self.folder / "runs/loss-0/run.json").write_text("{}")
        self.run_campaign(3, "/missing: not an executable file", "-d", self.folder, "--rescore", "/missing")
        self.run_campaign(3, "runs/loss-0: exit code 0, and no score as JSON: no message", "-d", self.folder,
                          "--rescore", "/bin/true")
        (self.folder / "scores").mkdir(exist_ok=True)
        for text in ("{", "[]", "{}", '{"false": 1}', '{"false": [], "faults": [], "measures": 5}'):
            (self.folder / "scores/loss-0.json").write_text(text)
            self.run_campaign(3, "scores/loss-0.json: not a score of a run", "-d", self.folder, "--rescore",
                              "/bin/true")


class ScoreTest(Folder):
    def test_an_appliance_that_does_not_answer_is_a_problem(self):
        state = self.lab(http=regression.free_port())
        with self.assertRaisesRegex(Problem, "the appliance does not answer on 127.0.0.1:.*appliance.log"):
            score.score_appliance(state)

    def test_a_capture_is_scored_without_a_lab(self):
        with mock.patch.object(score, "find_program", return_value=None), \
                self.assertRaisesRegex(Problem, "the program rocescope was not found"):
            score.score_capture(states.State("lab"), "run", [])


if __name__ == "__main__":
    unittest.main()
