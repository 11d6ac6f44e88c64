#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the command line in unusual environments: no standard error, signals, non-blocking pipes,
names with control characters, too little memory, too few file descriptors.

usage: hardship_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import contextlib
import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import sys
import time
import unittest

import captures
import command_line
from command_line import (COMMANDS, DAMAGED, OUTPUT, SUCCESS, UNREADABLE, USAGE, CommandLine)


class NoStandardError(CommandLine):
    def outcomes(self, *words):
        """Yields exit code and output with standard error closed, full, and with a closed pipe."""
        line = " ".join(f"'{word}'" for word in (command_line.rocescope, *words))
        for way in ("2>&-", "2>/dev/full"):
            run = subprocess.run(["sh", "-c", f"{line} {way}"], stdout=subprocess.PIPE, timeout=60)
            yield run.returncode, run.stdout
        read_end, write_end = os.pipe()
        os.close(read_end)
        run = subprocess.run([command_line.rocescope, *words], stdout=subprocess.PIPE,
                             stderr=write_end, timeout=60)
        os.close(write_end)
        yield run.returncode, run.stdout

    def test_costs_the_messages_and_nothing_else(self):
        good = self.file("good.pcap", captures.capture(count=3))
        cut = self.file("cut.pcap", captures.capture(count=3)[:-1])
        for command in COMMANDS:
            for path, expected in ((good, SUCCESS), (cut, DAMAGED), ("/nonexistent", UNREADABLE)):
                told = self.run_it(command, path, expect=expected).stdout
                for code, output in self.outcomes(command, path):
                    self.assertEqual((code, output.decode()), (expected, told), (command, path))
        for code, output in self.outcomes("replay", "--colour"):
            self.assertEqual((code, output), (USAGE, b""))


class Signals(CommandLine):
    def start(self, *words):
        """Starts a process that reads a pipe."""
        process = subprocess.Popen([command_line.rocescope, *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):  # buffered data for a closed pipe
                stream.close()

    @staticmethod
    def feed(process, octets):
        """Returns when the process has read all of `octets`."""
        process.stdin.write(octets)
        process.stdin.flush()
        with open(f"/proc/{process.pid}/fd/0", "rb") as pipe:
            while select.select([pipe], [], [], 0)[0]:
                time.sleep(0.01)

    def test_the_first_one_ends_a_pipe_that_is_held_open(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("replay", "-", "-o", "json")
            self.feed(process, captures.capture(count=3))
            process.send_signal(number)
            report = json.loads(process.stdout.read())
            self.assertEqual(process.wait(timeout=60), SUCCESS)
            self.assertEqual(report["ledger"]["decoded"], "3")
            self.assertIn("signal", report["notes"][-1])
            self.assertIn(b"signal", process.stderr.read())

    def test_what_the_writer_sends_last_still_counts(self):
        """The same Ctrl-C makes tcpdump write its buffer."""
        whole = captures.capture(count=3)
        process = self.start("replay", "-", "-o", "json")
        self.feed(process, whole[:-5])
        process.send_signal(signal.SIGINT)
        process.stdin.write(whole[-5:])
        process.stdin.close()
        self.assertEqual(json.loads(process.stdout.read())["ledger"]["decoded"], "3")
        self.assertEqual(process.wait(timeout=60), SUCCESS)

    def test_a_packet_that_the_end_cuts_is_no_damage(self):
        process = self.start("decode", "-")
        self.feed(process, captures.capture(count=3)[:-5])
        process.send_signal(signal.SIGINT)
        self.assertEqual(len(process.stdout.read().splitlines()), 2)
        self.assertEqual(process.wait(timeout=60), SUCCESS)

    def test_a_writer_that_goes_on_is_left(self):
        process = self.start("decode", "-")
        self.feed(process, captures.capture(count=1))
        process.send_signal(signal.SIGTERM)
        frame = captures.record(captures.FIRST_NS, captures.acknowledge(7))
        begin = time.monotonic()
        with self.assertRaises(BrokenPipeError):
            while time.monotonic() < begin + 30:
                process.stdin.write(frame)
                process.stdin.flush()
                time.sleep(0.01)
        self.assertEqual(process.wait(timeout=60), SUCCESS)

    def test_the_second_one_ends_the_process(self):
        process = self.start("decode", "-")
        frames = captures.capture(count=500)  # fits into a pipe; its 180 kB of JSON do not
        process.stdin.write(frames)
        process.stdin.flush()
        # Before its first line, it may not have installed its signal handler.
        self.assertTrue(select.select([process.stdout], [], [], 60)[0])
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), -signal.SIGINT)

    def test_one_that_the_caller_ignores_is_ignored(self):
        process = subprocess.Popen([command_line.rocescope, "decode", "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.addCleanup(self.end, process)
        self.feed(process, captures.capture(count=1))
        process.send_signal(signal.SIGINT)
        process.stdin.write(captures.record(captures.FIRST_NS, captures.acknowledge(1)))
        process.stdin.close()
        self.assertEqual(len(process.stdout.read().splitlines()), 2)


class Pipes(CommandLine):
    def test_standard_input_may_be_non_blocking(self):
        octets = captures.capture(count=3)
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        process = subprocess.Popen([command_line.rocescope, "decode", "-"], stdin=read_end,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(read_end)
        time.sleep(0.1)  # it reads an empty pipe
        for half in (octets[:60], octets[60:]):
            os.write(write_end, half)
            time.sleep(0.05)
        os.close(write_end)
        output, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, len(output.splitlines())), (SUCCESS, 3))


class Names(CommandLine):
    """CSI as ESC [ and as the character U+009B, a byte that is not UTF-8, and line feeds."""
    NAME = b"no\x1b[31m\xc2\x9b2J\xff\nde\t\r"
    SHOWN = "no\\x1b[31m\\x9b2J\ufffd\\nde\\t\\r"

    def named(self, suffix, octets):
        path = os.path.join(os.fsencode(self.scratch.name), self.NAME + suffix)
        pathlib.Path(os.fsdecode(path)).write_bytes(octets)
        return path

    def harmless(self, octets):
        text = octets.decode()  # fails unless it is UTF-8
        self.assertFalse([c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)],
                         repr(text))
        return text

    def run_raw(self, *words):
        return subprocess.run([command_line.rocescope, *words], capture_output=True, timeout=60)

    def test_do_not_steer_a_terminal(self):
        cut = self.named(b".pcap", captures.capture(count=3)[:-1])
        for words in (("decode", cut), ("replay", cut), ("replay", cut, "--details"),
                      ("replay", cut, "-o", "json")):
            run = self.run_raw(*words)
            self.assertEqual(run.returncode, DAMAGED)
            self.assertIn(self.SHOWN, self.harmless(run.stderr))
            output = self.harmless(run.stdout)
            if words[0] == "replay" and "-o" not in words:
                self.assertIn(self.SHOWN, output)

    def test_are_whole_in_json_but_for_what_is_no_utf8(self):
        path = self.named(b".pcap", captures.capture(count=1))
        run = self.run_raw("decode", path)
        self.assertEqual(json.loads(self.harmless(run.stdout))["tap"],
                         self.NAME.decode(errors="replace"))

    def test_are_harmless_in_usage_errors_too(self):
        for words in ((b"co" + self.NAME,), (b"decode", b"x", b"--qp", self.NAME),
                      (b"decode", b"x", b"--" + self.NAME)):
            run = self.run_raw(*words)
            self.assertEqual(run.returncode, USAGE)
            self.assertIn(self.SHOWN, self.harmless(run.stderr))
            self.assertEqual(run.stderr.count(b"\n"), 2, run.stderr)

    def test_of_hosts_in_logs_are_harmless(self):
        log = self.file("a.log", b"".join(
            b"n\xc2\x9bo\xffde:100:200 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 "
            b"busId 1b000 commId 0xabc - Init %s\n" % state for state in (b"START", b"COMPLETE")))
        capture = self.file("a.pcap", captures.capture(count=1))
        for form in ("text", "json"):
            run = self.run_raw("replay", capture, "--nccl-logs", log, "-o", form)
            self.assertEqual(run.returncode, SUCCESS)
            self.harmless(run.stdout)


class Limits(CommandLine):
    MEMORY = 2 << 30

    def limited(self, what, value, *words):
        return subprocess.run([command_line.rocescope, *words], capture_output=True, text=True,
                              timeout=60,
                              preexec_fn=lambda: resource.setrlimit(what, (value, value)))

    def skip_where_it_is_instrumented(self):
        if self.limited(resource.RLIMIT_AS, self.MEMORY, "--version").returncode != SUCCESS:
            self.skipTest("the program does not start in 2 GiB of address space: a sanitizer")

    def test_too_little_memory_is_said(self):
        self.skip_where_it_is_instrumented()
        log = self.file("large.log", b"")
        os.truncate(log, 3 << 30)  # a sparse file
        capture = self.file("a.pcap", captures.capture(count=1))
        run = self.limited(resource.RLIMIT_AS, self.MEMORY, "replay", capture, "--nccl-logs", log)
        self.assertEqual((run.returncode, run.stdout), (OUTPUT, ""))
        self.assertIn("out of memory", run.stderr)

    def test_many_flows_stay_within_the_memory_budget(self):
        """Without the budget, these flows of one packet each take about 350 MB."""
        self.skip_where_it_is_instrumented()
        flows = 80_000
        capture = self.file("flows.pcap", captures.header() + b"".join(
            captures.record(captures.FIRST_NS + n * 1000,
                            captures.acknowledge(0, 64 + n, "0a%06x" % (n % 20_000)))
            for n in range(flows)))
        for words, most in ((("-o", "json", "--memory", "256M"), 256 << 10), (("-o", "json"), 4 << 20)):
            with open(pathlib.Path(self.scratch.name) / "report.json", "w+b") as report:
                run = subprocess.Popen([command_line.rocescope, "replay", capture, *words],
                                       stdout=report, stderr=subprocess.DEVNULL)
                _, status, usage = os.wait4(run.pid, 0)
                run.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(run.returncode, SUCCESS)
                self.assertLess(usage.ru_maxrss, most)  # KiB
                report.seek(0)
                whole = json.load(report)
            is_limited = "--memory" in words
            self.assertEqual(len(whole["flows"]) < flows, is_limited)
            notes = [note for note in whole["notes"] if "memory budget of 256M" in note]
            self.assertEqual(len(notes), int(is_limited))
        run = self.run_it("replay", capture, "--memory", "1M", expect=USAGE)
        self.assertIn("must be at least 256M", run.stderr)

    def test_a_limit_on_the_size_of_files_is_a_write_error(self):
        """Without ignoring SIGXFSZ, the program ends by this signal."""
        capture = self.file("a.pcap", captures.capture(count=200))
        large = self.file("a.jsonl", b"".join(
            b'{"time_ns":%d,"kind":"port","entity":{"node":"a","port":"1"},"metrics":{"rx_bytes":5}}\n'
            % n for n in range(1000)))
        output = pathlib.Path(self.scratch.name, "output")
        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)),
                  "timeout": 60, "stderr": subprocess.PIPE, "text": True, "check": False}
        for words in (("decode", capture), ("counters", "convert", large, "-", "--to", "lines"),
                      ("help", "run")):
            with open(output, "wb") as file:
                run = subprocess.run([command_line.rocescope, *words], stdout=file, **limits)
            self.assertEqual(run.returncode, OUTPUT, (words, run.stderr))
            self.assertIn("standard output", run.stderr)
            self.assertIn("File too large", run.stderr)
        run = subprocess.run([command_line.rocescope, "counters", "convert", large, str(output),
                              "--to", "lines"], stdout=subprocess.PIPE, **limits)
        self.assertEqual(run.returncode, OUTPUT, run.stderr)
        self.assertIn("File too large; raise the limit on the size of files (ulimit -f)", run.stderr)
        folder = pathlib.Path(self.scratch.name, "plan")
        fabric = self.file("fabric.yaml", self.run_it(
            "topology", "generate", "leaf-spine", "--hosts", "128", "--leaves", "8", "--spines", "2",
            expect=SUCCESS).stdout.encode())
        run = subprocess.run([command_line.rocescope, "plan", fabric, "--collector",
                              "e=400G@leaf0:Ethernet33,172.31.0.1", "--vendor", "nxos",
                              "-d", str(folder)], stdout=subprocess.DEVNULL, **limits)
        self.assertEqual(run.returncode, OUTPUT, run.stderr)
        self.assertIn("cannot write: File too large", run.stderr)

    def test_too_few_descriptors_are_said_with_what_to_do(self):
        self.skip_where_it_is_instrumented()  # UBSan opens pipes to check an address
        paths = [self.file(f"{n}.pcap", captures.capture(count=1)) for n in range(30)]
        run = self.limited(resource.RLIMIT_NOFILE, 20, "replay", *paths)
        self.assertEqual((run.returncode, run.stdout), (UNREADABLE, ""))
        self.assertIn("ulimit -n", run.stderr)


if __name__ == "__main__":
    command_line.rocescope = sys.argv.pop(1)
    unittest.main()
