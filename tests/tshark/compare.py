#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `rocescope decode` with tshark, field by field, in both directions.

usage: compare.py --rocescope FILE --generate FILE [UNITTEST ARGUMENT...]

Captures: those of rocescope_tshark_captures, and the fixtures in $ROCESCOPE_FIXTURES (default:
<repository>/../shared/fixtures) if present. Differences caused by tshark are listed in known.py. Exit
code 77: a package is missing, nothing was compared.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import capture_file
import known
import tshark

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
README = REPOSITORY / "appliance" / "README.md"
FIXTURES = pathlib.Path(os.environ.get("ROCESCOPE_FIXTURES") or
                        REPOSITORY.parent / "shared" / "fixtures")
GENERATED = ("transports", "other_transports", "networks", "management", "mirrors", "pause",
             "source_ports", "snapped", "unsnapped", "truncated", "short_sends", "refused")

# Keys without a counterpart in tshark: our own names, and checks that tshark does not make.
OURS_ALONE = {"tap", "opcode_name", "cm.attribute_name", "icrc_ok"}
INTEGER_TEXTS = {"ts_ns", "mirror.ts_ns", "reth.va", "atomic.va", "atomic.swap", "atomic.compare",
                 "atomic_ack", "cm.transaction_id", "cm.service_id"}

rocescope_path = ""
folder = None  # directory of the generated captures


def flatten(value, prefix=""):
    flat = {}
    for key, item in value.items():
        if isinstance(item, dict):
            flat |= flatten(item, prefix + key + ".")
        else:
            flat[prefix + key] = item
    return flat


def decode(path):
    run = subprocess.run([rocescope_path, "decode", str(path), "-o", "jsonl"], check=True,
                         capture_output=True, text=True)
    frames = []
    for line in run.stdout.splitlines():
        frame = {k: v for k, v in flatten(json.loads(line)).items() if k not in OURS_ALONE}
        for key in INTEGER_TEXTS & frame.keys():
            if not isinstance(frame[key], str):
                raise ValueError(f"{path}: {key} is not a string")
            frame[key] = int(frame[key])
        frames.append(frame)
    return frames


def known_opcode(opcode):
    """IBTA vol. 1, table 38, and Annexes A14 and A17."""
    operation, transport = opcode & 31, opcode >> 5
    operations = {0: [*range(21), 22, 23], 1: range(12), 2: range(22), 3: (4, 5), 4: (1,),
                  5: [*range(21), 22, 23]}
    return operation in operations.get(transport, ())


def wrongly_dropped(frame, row):
    """Returns why tshark contradicts a drop, or None if it confirms it."""
    drop, theirs = frame["drop"], tshark.describe(row.fields)
    if drop in ("not_roce", "later_fragment"):
        return "tshark sees RoCE or pause" if theirs else None
    if drop == "unknown_opcode":
        return "the opcode is defined" if known_opcode(theirs["opcode"]) else None
    if drop == "bad_bth":
        possible = row.last("infiniband.bth.tver") == 0 and theirs["payload_len"] >= 0
        return "tshark reports no error" if possible else None
    if drop.startswith("truncated_"):
        return "tshark decodes the complete BTH" if theirs and "psn" in theirs else None
    return "no rule confirms it"


def differences(path, case):
    """Returns every frame on which the two differ, and how often a port misled tshark."""
    ours = decode(path)
    rows = [tshark.Row(fields) for fields in tshark.read(path)]
    case.assertEqual(len(ours), len(rows), "frames")
    malformed = tshark.malformed(path)
    misled = {row.protocols[row.protocols.index("udp") + 1]
              for frame, row in zip(ours, rows) if misled_by_port(frame, row)}
    again = None
    if misled:
        options = [word for protocol in misled for word in ("--disable-protocol", protocol)]
        again = [tshark.Row(fields) for fields in tshark.read(path, *options)]
    found, retried = [], 0
    for i, (frame, row) in enumerate(zip(ours, rows)):
        if "drop" in frame:
            case.assertIsNone(wrongly_dropped(frame, row), f"{path.name}, dropped: {frame}")
            continue
        flagged = frame["frame"] in malformed
        if again and misled_by_port(frame, row):
            retried += 1
            row, flagged = again[i], False
        theirs = tshark.describe(row.fields)
        case.assertIsNotNone(theirs, f"{path.name}: tshark ({':'.join(row.protocols)}) sees neither "
                                     f"RoCE nor pause in {frame}")
        keys = {key for key in frame.keys() | theirs.keys() if frame.get(key) != theirs.get(key)}
        if keys or flagged:
            found.append(known.Difference(frame, theirs, row.protocols, flagged, keys))
    return found, retried


def misled_by_port(frame, row):
    return ("drop" not in frame and "udp_sport" in frame and not row.is_roce() and
            row.has("udp.dstport") and row.first("udp.dstport") == 4791)


def generated(name):
    return pathlib.Path(folder, name + ".pcap")


class Comparison(unittest.TestCase):
    maxDiff = None

    def agree(self, path):
        """Returns how often each case of known.py occurred."""
        found, misled = differences(path, self)
        unexplained, explained = known.explain(found)
        self.assertEqual([], [str(d) for d in unexplained[:5]], f"{len(unexplained)} in {path}")
        explained[known.SOURCE_PORT.name] += misled
        return explained

    def test_generated_captures_agree(self):
        for name in GENERATED:
            with self.subTest(name):
                self.agree(generated(name))

    def test_truncated_frames_agree_with_complete_ones(self):
        whole = [tshark.describe(fields) for fields in tshark.read(generated("unsnapped"))]
        shown = collections.Counter()
        for frame, theirs in zip(decode(generated("snapped")), whole):
            if "drop" in frame:
                continue
            headers = {k: v for k, v in frame.items() if k.startswith(known.EXTENDED_HEADERS)}
            self.assertEqual({k: theirs.get(k) for k in headers}, headers)
            shown.update(headers.keys())
        self.assertLess(shown["reth.length"], shown["reth.rkey"])
        self.assertLess(shown["reth.rkey"], shown["reth.va"])

    def test_generated_captures_contain_every_kind_of_frame(self):
        keys = set()
        for name in GENERATED:
            for frame in decode(generated(name)):
                keys |= frame.keys()
        expected = {"drop", "vlan", "segment", "mirror.ts_ns", "mirror.direction", "reth.va",
                    "mirror.port_index", "aeth.code", "deth.qkey", "imm", "ieth_rkey", "atomic.va",
                    "atomic_ack", "cm.starting_psn", "cm.remote_qpn", "cm.reason", "pause.quanta"}
        self.assertEqual(set(), expected - keys)

    def test_the_readme_documents_every_key(self):
        words = set(re.findall(r"`(\w+)`", README.read_text()))
        for name in GENERATED:
            for frame in decode(generated(name)):
                self.assertLessEqual({word for key in frame for word in key.split(".")}, words)

    def test_known_tshark_differences_still_occur(self):
        for case in [*known.CASES, known.SOURCE_PORT]:
            with self.subTest(case.name):
                self.assertGreater(self.agree(generated(case.capture))[case.name], 0, case.reason)

    def fixtures(self, pattern):
        paths = sorted(FIXTURES.glob(pattern))
        if not paths:
            self.skipTest(f"no fixtures {FIXTURES / pattern}")
        return paths

    def test_roce_fixtures_agree(self):
        for path in self.fixtures("roce/**/*.pcap"):
            with self.subTest(path.name):
                self.agree(path)
                self.assertTrue(any("opcode" in frame for frame in decode(path)), "no RoCE frame")

    def test_mirror_fixtures_agree(self):
        for path in self.fixtures("mirror/*.pcap"):
            with self.subTest(path.name):
                self.agree(path)

    def test_roce_with_mirror_headers_of_real_switches_agrees(self):
        kinds = collections.Counter()
        roce = capture_file.read(generated("transports"))[1][0][1]
        for path in self.fixtures("mirror/*.pcap"):
            with self.subTest(path.name):
                spliced = pathlib.Path(folder, "spliced-" + path.name)
                if not splice(path, roce, spliced):
                    continue
                self.assertEqual({}, +self.agree(spliced))
                kinds.update(frame["mirror.kind"] for frame in decode(spliced))
        self.assertLessEqual({"erspan1", "erspan2", "erspan3", "vxlan", "geneve"}, kinds.keys())


def splice(path, roce, target):
    """Replaces the content of each mirrored frame by `roce`. Returns how many have one."""
    link, captured = capture_file.read(path)
    frames = []
    for (time, octets), layers in zip(captured, tshark.positions(path)):
        inner = next((at for at in layers["eth"] if at > 0), None)
        if inner is None:
            continue
        spliced = bytearray(octets[:inner] + roce)
        for name, field, less in (("ip", 2, 0), ("ipv6", 4, 40), ("udp", 4, 0)):
            for at in (at for at in layers[name] if at < inner):
                spliced[at + field:at + field + 2] = (len(spliced) - at - less).to_bytes(2, "big")
        frames.append((time, bytes(spliced)))
    if frames:
        capture_file.write(target, link, frames)
    return len(frames)


def main():
    global rocescope_path, folder
    parser = argparse.ArgumentParser()
    parser.add_argument("--rocescope", required=True)
    parser.add_argument("--generate", required=True)
    options, rest = parser.parse_known_args()
    if not shutil.which("tshark"):
        print("tshark is missing (Debian package tshark): nothing was compared", file=sys.stderr)
        sys.exit(77)
    rocescope_path = options.rocescope
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.generate, folder], check=True)
        unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
