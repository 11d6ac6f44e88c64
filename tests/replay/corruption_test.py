#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Corrupted captures and logs give a documented exit code, no crash, no hang, bounded memory, and
a ledger that balances whenever there is output.

usage: corruption_test.py PATH/rocescope [UNITTEST ARGUMENT...]

Corrupts every capture and log of the demo and, if available, of the fixtures. The cases are
deterministic, and a failure names its case.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib

import command
import damage

SUCCESS, DAMAGED, USAGE, UNREADABLE = range(4)
SECONDS = 10
MEMORY_KIB = 500 * 1024
CASES = 700  # minimum for each kind of file; each kind of corruption is repeated as needed
CAPTURE_SUFFIXES = {".pcap", ".pcapng", ".cap"}
LEDGER = re.compile(r"ledger: received (\d+) = decoded (\d+) \+ filtered (\d+) \+ dropped (\d+)")


class Outcome:
    """One run of rocescope until its end or its time limit."""

    def __init__(self, *words):
        self.words = words
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([command.rocescope, *map(str, words)], stdout=out,
                                       stderr=err, stdin=subprocess.DEVNULL)
            killer = threading.Timer(SECONDS, process.kill)
            killer.start()
            # The only call that returns the memory of this child only.
            _, status, usage = os.wait4(process.pid, 0)
            killer.cancel()
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.memory_kib = usage.ru_maxrss
            out.seek(0), err.seek(0)
            self.out, self.err = out.read(), err.read().decode(errors="replace")

    def faults(self):
        """Returns sentences about violations."""
        if self.code < 0:
            yield f"ended by signal {-self.code} (9: after {SECONDS} s)"
        elif self.code not in (SUCCESS, DAMAGED, UNREADABLE):
            yield f"exit code {self.code}"
        if self.memory_kib > MEMORY_KIB:
            yield f"used {self.memory_kib} KiB"
        if self.code in (SUCCESS, DAMAGED):
            yield from self.ledger_faults()
        if self.code == UNREADABLE and self.out:
            yield "printed something of an input that it calls unreadable"
        if self.code in (DAMAGED, UNREADABLE) and not self.err.startswith("rocescope: "):
            yield f"says nothing about what is wrong, but {self.err!r}"

    def ledger_faults(self):
        try:
            if self.words[0] == "replay":
                ledger = json.loads(self.out)["ledger"]
                received, decoded, filtered = (int(ledger[key]) for key in
                                               ("received", "decoded", "filtered"))
                dropped = sum(int(row["count"]) for row in ledger["dropped"])
            else:
                received, decoded, filtered, dropped = map(int, LEDGER.search(self.err).groups())
                frames = [json.loads(line) for line in self.out.splitlines()]
                if len(frames) != received or sum("drop" in f for f in frames) != dropped:
                    yield "printed other frames than the ledger counts"
        except (ValueError, KeyError, AttributeError) as error:
            yield f"output that cannot be read: {error!r}"
            return
        if received != decoded + filtered + dropped:
            yield f"ledger: {received} != {decoded} + {filtered} + {dropped}"


def replay(*words):
    return Outcome("replay", *words, "-o", "json")


def decode(*words):
    return Outcome("decode", *words)


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.demo = command.make_demo(cls.folder)
        cls.captures = {"demo": cls.shortened(cls.demo[0])}
        cls.logs = {path.name: path.with_suffix(".log").read_bytes() for path in cls.demo}
        cls.dumps = {"demo": b'[{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":37,"rqpn":38,'
                             b'"type":"RC","state":"RTS","pid":100,"comm":"x"}]\n'}
        fixtures = command.FIXTURES
        for path in sorted(fixtures.rglob("*")) if fixtures.is_dir() else []:
            name = str(path.relative_to(fixtures))
            if path.suffix in CAPTURE_SUFFIXES:
                cls.captures[name] = path.read_bytes()
            elif path.suffix == ".log" and "nccl" in name:
                cls.logs[name] = path.read_bytes()
            elif "rdma-resource" in path.name:
                cls.dumps[name] = path.read_bytes()

    @staticmethod
    def shortened(path):
        """Returns the first frames; the others take the same path through the decoder."""
        octets, size = path.read_bytes(), 24
        while size < 50_000:
            size += 16 + struct.unpack_from("<I", octets, size + 8)[0]
        return octets[:size]

    def file(self, name, octets):
        path = self.folder / name
        path.write_bytes(octets)
        return path

    def check(self, label, outcome):
        faults = list(outcome.faults())
        self.assertFalse(faults, f"{label}: {faults}\n{outcome.words}\n{outcome.err[:2000]}")
        return outcome

    def spoil_all(self, files, run):
        """Checks the outcomes of `run(path)` for every corruption of every file; two run in parallel."""
        names = sorted(files)
        codes = []

        def case(number, name, way, turn):
            chance = random.Random(f"{name} {way.__name__} {turn}")
            octets = way(files[name], chance, files[chance.choice(names)])
            path = self.file(f"spoilt{number}", octets)
            for outcome in run(path, chance):
                self.check(f"{name}, {way.__name__}, round {turn}", outcome)
                codes.append(outcome.code)
            path.unlink()

        rounds = -(-CASES // (len(names) * len(damage.WAYS)))
        cases = [(name, way, turn) for turn in range(rounds) for name in names
                 for way in damage.WAYS]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            done = [pool.submit(case, number, *what) for number, what in enumerate(cases)]
            for future in done:
                future.result()
        return codes

    def test_spoilt_captures(self):
        codes = self.spoil_all(self.captures, lambda path, _: (replay(path), decode(path)))
        self.assertEqual(set(codes), {SUCCESS, DAMAGED, UNREADABLE})  # all of them were reached

    def test_spoilt_logs(self):
        codes = self.spoil_all(self.logs,
                               lambda path, _: [replay(self.demo[0], "--nccl-logs", path)])
        self.assertEqual(set(codes), {SUCCESS})

    def test_spoilt_rdma_dumps(self):
        logs = [path.with_suffix(".log") for path in self.demo]
        codes = self.spoil_all(self.dumps, lambda path, _: [
            replay(self.demo[0], "--nccl-logs", *logs, "--rdma", path)])
        self.assertEqual(set(codes), {SUCCESS})

    def test_a_capture_given_as_a_log_and_as_a_dump(self):
        outcome = self.check("swapped", replay(self.demo[0], "--nccl-logs", self.demo[1],
                                               "--rdma", self.demo[2]))
        self.assertEqual(outcome.code, SUCCESS)
        self.assertIn(f"{self.demo[1]}: no NCCL messages found",
                      " ".join(json.loads(outcome.out)["notes"]))

    def test_a_log_given_as_a_capture(self):
        log = self.demo[0].with_suffix(".log")
        for outcome in (replay(log), decode(log)):
            self.assertEqual(self.check("a log", outcome).code, UNREADABLE)

    def test_a_log_cut_anywhere_in_its_lines(self):
        whole = self.demo[0].with_suffix(".log").read_bytes()
        capture = self.file("short.pcap", self.captures["demo"][:20_000])
        for size in range(0, len(whole), 29):  # covers every kind of position in a line
            path = self.file("cut.log", whole[:size])
            outcome = self.check(f"cut at {size}", replay(capture, "--nccl-logs", path))
            self.assertEqual(outcome.code, DAMAGED)  # the capture is truncated as well
            # The truncated log no longer claims these; they may be inferred from traffic.
            logged = [job for job in json.loads(outcome.out)["jobs"]
                      if job["identity"] == "IDENTITY_NCCL_LOG"]
            self.assertLessEqual(len(logged), 1)

    def test_link_types_that_carry_no_roce(self):
        octets = bytearray(self.captures["demo"])
        for link_type in (0, 9, 105, 147, 195, 249, 65535):
            octets[20:24] = link_type.to_bytes(4, "little")
            path = self.file("link.pcap", octets)
            for outcome in (replay(path), decode(path)):
                self.check(f"link type {link_type}", outcome)
                self.assertIn(outcome.code, (UNREADABLE, DAMAGED))

    def test_an_empty_file(self):
        path = self.file("empty", b"")
        for outcome in (replay(path), decode(path)):
            self.assertEqual(self.check("empty", outcome).code, UNREADABLE)
        outcome = self.check("empty", replay(self.demo[0], "--nccl-logs", path, "--rdma", path))
        self.assertEqual(outcome.code, SUCCESS)

    def test_tunnels_nested_far_too_deep(self):
        inner = self.first_frame()
        for depth in (1, 2, 3, 4, 5, 50):
            frame = inner
            for _ in range(depth):
                frame = in_vxlan(frame)
            path = self.file("nested.pcap", self.captures["demo"][:24] + in_record(frame))
            outcome = self.check(f"{depth} tunnels", decode(path))
            row = json.loads(outcome.out)
            self.assertEqual("drop" in row, depth > 3, (depth, row))
            self.assertEqual(self.check(f"{depth} tunnels", replay(path)).code, SUCCESS)

    def test_lengths_that_cannot_be(self):
        header, frame = self.captures["demo"][:24], self.first_frame()
        for size in (0, 1, 0x7fffffff, 0xffffffff, 262145):
            path = self.file("long.pcap", header + struct.pack("<IIII", 0, 0, size, size) + frame)
            for outcome in (replay(path), decode(path)):
                self.check(f"a frame of {size} bytes", outcome)

    def test_a_file_of_packed_zeros_is_no_bomb(self):
        """256 MiB in about 250 kB: data is unpacked on demand."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        octets = packer.compress(self.captures["demo"][:24])
        for _ in range(64):
            octets += packer.compress(bytes(4 << 20))
        path = self.file("bomb.pcap.gz", octets + packer.flush())
        self.check("zeros", replay(path))

    def first_frame(self):
        size = struct.unpack_from("<I", self.captures["demo"], 32)[0]
        return self.captures["demo"][40:40 + size]


def in_record(frame):
    return struct.pack("<IIII", 1_750_000_000, 0, len(frame), len(frame)) + frame


def in_vxlan(frame):
    """The frame after Ethernet, IPv4, UDP to 4789 and VXLAN with VNI 7."""
    vxlan = struct.pack(">II", 0x08000000, 7 << 8) + frame
    udp = struct.pack(">HHHH", 49152, 4789, 8 + len(vxlan), 0) + vxlan
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]),
                     bytes([10, 0, 0, 2])) + udp
    return bytes.fromhex("0200000000020200000000010800") + ip


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    unittest.main()
