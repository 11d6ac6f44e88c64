#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rocescope capture` on virtual devices, without a NIC, hugepages or privileges.

usage: capture_test.py PATH/rocescope [UNITTEST ARGUMENT...]
"""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import captures
import command_line
from command_line import DAMAGED, SUCCESS, UNREADABLE, USAGE, CommandLine

EAL = "--no-huge --no-shconf -m 256 --no-pci --no-telemetry -l 0"
MICROSECOND_HEADER = bytes.fromhex("d4c3b2a1") + captures.header()[4:]


def microseconds(count):
    """A microsecond capture of ACKs, 1 ms apart."""
    def record(n):
        octets = captures.record(captures.FIRST_NS + n * 1_000_000, captures.acknowledge(n))
        return octets[:4] + (n % 1000 * 1000).to_bytes(4, "little") + octets[8:]
    return MICROSECOND_HEADER + b"".join(record(n) for n in range(count))


class Capture(CommandLine):
    def capture(self, devices, *words, expect=SUCCESS):
        return self.run_it("capture", "--eal", f"{EAL} {devices}", *words, expect=expect)

    def test_reports_what_a_replay_of_the_same_file_reports(self):
        path = self.file("net_pcap0.pcap", microseconds(2500))
        replayed = self.report(path)
        captured = json.loads(
            self.capture(f"--vdev 'net_pcap0,rx_pcap={path}'", "-o", "json").stdout)
        port, = captured.pop("dpdk_ports")
        self.assertGreater(port["mbuf_count"], 2 * port["peak_used_mbuf_count"])
        self.assertGreaterEqual(port.pop("peak_used_mbuf_count"), port["used_mbuf_count"])
        self.assertEqual({key: port[key] for key in port if key != "mbuf_count"},
                         {"name": "net_pcap0", "driver": "net_pcap", "counted": True,
                          "losses_counted": True, "received_frames": "2500", "missed_frames": "0", "no_mbuf_frames": "0", "error_frames": "0",
                          "used_mbuf_count": 0})
        self.assertEqual(replayed.pop("dpdk_ports"), [])
        self.assertEqual(captured, replayed)
        self.assertEqual(captured["ledger"]["received"], "2500")

    def fifo(self, name):
        path = f"{self.scratch.name}/{name}"
        os.mkfifo(path)
        return path

    def test_replay_via_dpdk_reports_the_same(self):
        captures_ = [self.file("a.pcap", microseconds(700)),
                     self.file("b, [c]=d.pcap", microseconds(300)),
                     self.file("cut.pcap", microseconds(5)[:-1])]
        for words, expect in ((captures_[:1], SUCCESS), (captures_[:2], SUCCESS),
                              (captures_[1:], DAMAGED),
                              (captures_[:2] + ["--since", "+0.1", "--until", "+0.2"], SUCCESS)):
            plain = self.run_it("replay", *words, "-o", "json", expect=expect)
            ports = self.run_it("replay", "--via", "dpdk", *words, "-o", "json", expect=expect)
            self.assertEqual(ports.stdout, plain.stdout, words)
            self.assertEqual(ports.stderr, plain.stderr, words)
        self.assertEqual(json.loads(plain.stdout)["ledger"]["received"], "1000")

    def test_replay_via_dpdk_says_what_it_does_not_take(self):
        for path, said in (
                ("/nonexistent", "/nonexistent: cannot open"),
                (self.file("empty.pcap", b""), "is empty"),
                (self.file("x.pcap.gz", gzip.compress(microseconds(1))), "not a plain pcap"),
                (self.file("x.pcapng", bytes.fromhex("0a0d0d0a1c000000")), "not a plain pcap"),
                (self.file("wifi.pcap", captures.header(105)), "link"),
                ("-", "standard input"), (self.scratch.name, "directory without a run.json"),
                (self.fifo("pipe"), "is not a regular file"), ("/dev/null", "is not a regular file")):
            run = self.run_it("replay", "--via", "dpdk", path, expect=UNREADABLE)
            self.assertEqual(run.stdout, "")
            self.assertIn(said, run.stderr)
        nanoseconds = self.file("ns.pcap", captures.capture(count=2))
        self.assertIn("truncates timestamps to microseconds",
                      self.run_it("replay", "--via", "dpdk", nanoseconds, expect=SUCCESS).stderr)

    def test_reads_several_ports_and_the_ones_that_are_named(self):
        a, b = self.file("a.pcap", microseconds(30)), self.file("b.pcap", microseconds(20))
        devices = f"--vdev net_pcap0,rx_pcap={a} --vdev net_pcap1,rx_pcap={b}"
        for words, taps in (((), {"net_pcap0": "30", "net_pcap1": "20"}),
                            (("--port", "net_pcap1"), {"net_pcap1": "20"}),
                            (("--port", "1", "--port", "net_pcap0"),
                             {"net_pcap1": "20", "net_pcap0": "30"})):
            report = json.loads(self.capture(devices, *words, "-o", "json").stdout)
            self.assertEqual({tap["name"]: tap["frames"] for tap in report["taps"]}, taps)

    def test_replay_via_dpdk_reads_a_damaged_file_as_far_as_replay_does(self):
        octets = bytearray(microseconds(700))
        at = 24 + 200 * ((len(octets) - 24) // 700) + 8
        octets[at:at + 8] = b"\xff" * 8
        path = self.file("damaged.pcap", bytes(octets))
        plain = self.run_it("replay", path, "-o", "json", expect=DAMAGED)
        ports = self.run_it("replay", "--via", "dpdk", path, "-o", "json", expect=DAMAGED)
        self.assertEqual(json.loads(plain.stdout)["ledger"]["received"], "200")
        self.assertEqual(ports.stdout, plain.stdout)
        captured = self.capture(f"--vdev net_pcap0,rx_pcap={path}", "-o", "json", expect=DAMAGED)
        self.assertEqual(json.loads(captured.stdout)["ledger"]["received"], "200")

    def test_says_where_a_cut_file_ends(self):
        path = self.file("cut.pcap", microseconds(10)[:-1])
        run = self.capture(f"--vdev net_pcap0,rx_pcap={path}", expect=DAMAGED)
        self.assertIn("truncated or corrupt", run.stderr)
        self.assertIn("LEDGER: 9 frames received", run.stdout)

    def test_runs_for_so_long_and_tells_each_second(self):
        begin = time.monotonic()
        run = self.capture("--vdev net_null0,copy=0", "--seconds", "2.5", "-o", "json")
        elapsed = time.monotonic() - begin
        self.assertGreaterEqual(elapsed, 2.5)
        lines = re.findall(r"frames/s.* received ([\d,]+) = decoded ([\d,]+) \+ filtered ([\d,]+) "
                           r"\+ not RoCE ([\d,]+) \+ dropped ([\d,]+);", run.stderr)
        # At most one per second; on a busy machine, each of them and the end may be late.
        self.assertTrue(1 <= len(lines) <= elapsed, run.stderr)
        for line in lines:
            received, *others = (int(word.replace(",", "")) for word in line)
            self.assertEqual(received, sum(others))
        report = json.loads(run.stdout)
        self.assertEqual(report["ledger"]["received"], report["dpdk_ports"][0]["received_frames"])

    def test_two_lcores_account_for_all_that_one_does(self):
        path = self.file("net_pcap0.pcap", microseconds(2500))
        device = f"--vdev 'net_pcap0,rx_pcap={path}'"
        reports = []
        for lcores in ("-l 0", "--lcores 0@0,1@0"):
            eal = EAL.replace("-l 0", lcores)
            run = self.run_it("capture", "--eal", f"{eal} {device}", "-o", "json", expect=SUCCESS)
            reports.append(json.loads(run.stdout))
            reports[-1].pop("dpdk_ports")
        self.assertEqual(*reports)

    def test_ports_that_spread_alike_do_so_by_their_hash(self):
        eal = EAL.replace("-l 0", "--lcores 0@0,1@0")
        two = self.file("two.pcap", microseconds(2))
        run = self.run_it("capture", "--eal", f"{eal} --vdev net_null0 --vdev net_pcap1,rx_pcap={two}",
                          "--spread", "rss", expect=USAGE)
        self.assertIn("port net_pcap1 (net_pcap) does not support RSS", run.stderr)
        run = self.run_it("capture", "--eal", f"{eal} --vdev net_null0,copy=0 --vdev net_null1,copy=0",
                          "--spread", "rss", "--seconds", "0.3", "-o", "json", expect=SUCCESS)
        report = json.loads(run.stdout)
        self.assertEqual(int(report["ledger"]["received"]),
                         sum(int(port["received_frames"]) for port in report["dpdk_ports"]))

    def test_ends_with_its_report_at_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [command_line.rocescope, "capture", "--eal", f"{EAL} --vdev net_null0,copy=0"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                # Children of a shell's background job ignore SIGINT.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            self.addCleanup(process.kill)
            process.stderr.readline()  # the first live counts
            process.send_signal(number)
            output, _ = process.communicate(timeout=30)
            self.assertEqual(process.returncode, SUCCESS)
            self.assertIn(b"LEDGER", output)

    def test_says_what_is_wrong_and_prints_nothing(self):
        garbage = self.file("garbage.pcap", b"this is no capture, whatever it is called")
        empty = self.file("empty.pcap", b"")
        raw = self.file("raw.pcap", captures.header(101) + captures.record(0, captures.arp()))
        for words, expect, said in (
                ((f"--vdev net_pcap0,rx_pcap={garbage}",), UNREADABLE, "unknown file format"),
                (("--vdev net_pcap0,rx_pcap=/nonexistent",), UNREADABLE, "No such file"),
                ((f"--vdev net_pcap0,rx_pcap={empty}",), UNREADABLE, "truncated dump file"),
                ((f"--vdev net_pcap0,rx_pcap={raw}",), UNREADABLE, "link type 101"),
                (("--proc-type=secondary",), USAGE, "--proc-type"),
                (("--vdev net_null0 --vdev net_null0",), USAGE, "given twice"),
                (("--vdev net_null0", "--seconds", "nan"), USAGE, "--seconds"),
                (("--vdev net_nosuch0",), USAGE, "net_nosuch0"),
                (("-a 0000:00:1f.7 --vdev net_null0",), USAGE, "no port for device 0000:00:1f.7"),
                (("--vdev crypto_null0",), USAGE, "crypto_null0"),
                (("--bogus",), USAGE, "'--bogus'"),
                (("--help",), USAGE, "EAL parameters"),
                (("'--vdev",), USAGE, "unterminated quote"),
                (("stray",), USAGE, '"stray"'),
                (("",), UNREADABLE, "EAL found no port"),
                (("--vdev net_null0", "--port", "eth7"), UNREADABLE, "unknown port eth7"),
                (("--vdev net_null0", "--seconds", "-1"), USAGE, "--seconds"),
                (("--vdev net_null0", "--interval", "9s"), USAGE, "--interval"),
                (("--vdev net_null0", "--rdma", "/nonexistent"), UNREADABLE, "/nonexistent")):
            run = self.capture(*words, expect=expect)
            self.assertEqual(run.stdout, "", words)
            self.assertIn(said, run.stderr, words)
        self.assertIn("--eal is required", self.run_it("capture", expect=USAGE).stderr)


if __name__ == "__main__":
    command_line.rocescope = sys.argv.pop(1)
    unittest.main()
