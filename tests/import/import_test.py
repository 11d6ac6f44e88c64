#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""testbeds/import/import_counters: CSV exports to counters, run.json and topology.yaml.

usage: import_test.py PATH/import_counters [UNITTEST ARGUMENT...]
"""

import gzip
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import unittest

import importing
from importing import DROPPED, MAPPING, UNUSABLE, Importing

HEADER = "time,device,port,in,errors\n"
LONG = """\
form: long
time: {column: time, format: seconds}
device: device
port: port
metric: counter
value: value
counters: totals
metrics:
  in: rx_bytes
  errors: rx_errors
"""
LONG_HEADER = "time,device,port,counter,value\n"


class Forms(Importing):
    def test_a_wide_export(self):
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1,10,0\n5,leaf1,E10,7,1\n5,leaf1,E2,8,0\n"
                               "35,leaf1,E1,25,0\n")
        self.assertEqual(self.readings(), [
            (5, "leaf1:E1", {"rx_bytes": 10, "rx_errors": 0}),
            (5, "leaf1:E10", {"rx_bytes": 7, "rx_errors": 1}),
            (5, "leaf1:E2", {"rx_bytes": 8, "rx_errors": 0}),
            (35, "leaf1:E1", {"rx_bytes": 25, "rx_errors": 0})])
        self.assertIn("4 readings of 3 ports with 8 values, 30 s, usually every 30 s", output)
        manifest = json.loads((self.run_directory / "run.json").read_text())
        self.assertEqual(manifest["epoch_ns"], 5 * 10**9)
        self.assertEqual(manifest["duration_ns"], 30 * 10**9 + 1)
        self.assertEqual(manifest["counter_period_ns"], 30 * 10**9)
        self.assertEqual(manifest["analysis_window_ns"], 30 * 10**9)
        self.assertEqual(manifest["scenario"], "run")
        topology = (self.run_directory / "topology.yaml").read_text()
        self.assertIn('  - name: "leaf1"\n    tier: leaf\n    ports:\n'
                      '      - {name: "E1", number: 1}\n      - {name: "E2", number: 2}\n'
                      '      - {name: "E10", number: 3}\n', topology)

    def test_mapped_texts_may_be_numbers(self):
        # ifOperStatus of SNMP: 1 is up, 2 is down.
        mapping = MAPPING.replace("in: rx_bytes", "in: {name: link_up, values: {1: 1, 2: 0}}")
        self.run_import(mapping, HEADER + "5,leaf1,E1,1,0\n35,leaf1,E1,2,0\n")
        self.assertEqual(self.readings(), [(5, "leaf1:E1", {"link_up": 1, "rx_errors": 0}),
                                           (35, "leaf1:E1", {"link_up": 0, "rx_errors": 0})])

    def test_an_overlong_number_is_dropped(self):
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1,10,0\n35,leaf1,E1," + "9" * 5000 + ",0\n",
                               expect=DROPPED)
        self.assertIn("too long for a number", output)

    def test_a_long_export_has_one_reading_for_each_port_and_time(self):
        self.run_import(LONG, LONG_HEADER + "5,leaf1,E1,errors,2\n5,leaf2,E1,in,9\n5,leaf1,E1,in,3\n"
                        "6,leaf1,E1,in,4\n")
        self.assertEqual(self.readings(), [
            (5, "leaf1:E1", {"rx_bytes": 3, "rx_errors": 2}),
            (5, "leaf2:E1", {"rx_bytes": 9}),
            (6, "leaf1:E1", {"rx_bytes": 4})])
        first = (self.run_directory / "counters.jsonl").read_text().split("\n", 1)[0]
        self.assertEqual(first, '{"time_ns":5000000000,"kind":"port","entity":{"node":"leaf1",'
                                '"port":"E1"},"metrics":{"rx_bytes":3,"rx_errors":2}}')

    def test_differences_are_summed_up_exactly(self):
        mapping = (MAPPING.replace("totals", "differences")
                   .replace("in: rx_bytes", "in: {name: rx_bytes, unit: bits}")
                   .replace("errors: rx_errors", "errors: queue_bytes"))
        rows = "".join(f"{n},leaf1,E1,3,{n * 5}\n" for n in range(1, 9))
        self.run_import(mapping, HEADER + rows)
        # 3/8 bytes at a time: 0.375, 0.75, 1.125, 1.5, 1.875, 2.25, 2.625, 3
        self.assertEqual([metrics["rx_bytes"] for _, _, metrics in self.readings()],
                         [0, 1, 1, 2, 2, 2, 3, 3])
        self.assertEqual([metrics["queue_bytes"] for _, _, metrics in self.readings()],
                         [5 * n for n in range(1, 9)], "a gauge is not summed up")

    def test_units_and_texts(self):
        for unit, text, value in (("bytes", "12", 12), ("kilobytes", "1.5", 1500),
                                  ("kibibytes", "2", 2048), ("megabits", "8", 10**6),
                                  ("gigabytes", "2e3", 2 * 10**12)):
            mapping = MAPPING.replace("in: rx_bytes", f"in: {{name: rx_bytes, unit: {unit}}}")
            with self.subTest(unit):
                self.run_import(mapping, HEADER + f"5,leaf1,E1,{text},\n")
                self.assertEqual(self.readings()[0][2], {"rx_bytes": value})
            for path in self.run_directory.iterdir():
                path.unlink()
        mapping = MAPPING.replace("in: rx_bytes", "in: {name: link_up, values: {up: 1, down: 0}}")
        self.run_import(mapping, HEADER + "5,leaf1,E1,up,0\n6,leaf1,E1,down,0\n")
        self.assertEqual([metrics["link_up"] for _, _, metrics in self.readings()], [1, 0])

    def test_times(self):
        noon = 1_772_366_400  # 2026-03-01T12:00:00Z, by `date -d ... +%s`
        for form, text, ns in (
                ("rfc3339", "2026-03-01T12:00:00Z", noon * 10**9),
                ("rfc3339", "2026-03-01 14:00:00.123456789+02:00", noon * 10**9 + 123456789),
                ("seconds", f"{noon}.000000001", noon * 10**9 + 1),
                ("milliseconds", f"{noon}005", noon * 10**9 + 5 * 10**6),
                ("microseconds", f"{noon}000007", noon * 10**9 + 7000),
                ("nanoseconds", f"{noon}000000009", noon * 10**9 + 9),
                ("'%d.%m.%Y %H:%M'", "01.03.2026 12:00", noon * 10**9),
                ("'%Y-%m-%d'", "2026-03-01", (noon - 12 * 3600) * 10**9),
                ("'%Y-%m-%d %I:%M %p'", "2026-03-01 12:00 PM", noon * 10**9),
                ("'%Y-%m-%d %I:%M %p'", "2026-03-01 01:00 PM", (noon + 3600) * 10**9),
                ("'%d.%m.%Y %H:%M', zone: '+02:00'", "01.03.2026 14:00", noon * 10**9)):
            with self.subTest(form):
                self.run_import(MAPPING.replace("format: seconds", f"format: {form}"),
                                HEADER + f"{text},leaf1,E1,1,1\n")
                self.assertEqual([line["time_ns"] for line in self.lines()], [ns])
            for path in self.run_directory.iterdir():
                path.unlink()

    def test_empty_cells_and_the_text_for_missing_values(self):
        output = self.run_import(MAPPING + "missing: NaN\n", HEADER +
                               "5,leaf1,E1,,3\n6,leaf1,E1,NaN,4\n7,leaf1,E1,5,NaN\n8,leaf1,E1,,NaN\n")
        self.assertEqual([metrics for _, _, metrics in self.readings()],
                         [{"rx_errors": 3}, {"rx_errors": 4}, {"rx_bytes": 5}])
        self.assertNotIn("dropped", output)

    def test_delimiters_quotes_byte_order_marks_and_gzip(self):
        text = "\ufefftime;device;port;in;errors\r\n5;\"leaf1\";\"E1;x\";1;2\r\n"
        self.run_import(MAPPING + "delimiter: ';'\n", text)
        self.assertEqual(self.readings(), [(5, "leaf1:E1;x", {"rx_bytes": 1, "rx_errors": 2})])
        for path in self.run_directory.iterdir():
            path.unlink()
        self.run_import(MAPPING, self.file("z.csv.gz", gzip.compress(
            (HEADER + "5,leaf1,E1,1,2\n").encode())))
        self.assertEqual(len(self.readings()), 1)

    def test_files_are_merged_by_time(self):
        self.run_import(MAPPING, HEADER + "5,leaf1,E1,1,0\n7,leaf1,E1,2,0\n",
                        "port,device,errors,in,time\nE1,leaf2,0,3,4\nE1,leaf2,0,4,6\nE1,leaf2,0,5,7\n")
        self.assertEqual([(time, port) for time, port, _ in self.readings()],
                         [(4, "leaf2:E1"), (5, "leaf1:E1"), (6, "leaf2:E1"), (7, "leaf1:E1"),
                          (7, "leaf2:E1")])

    def test_rows_are_sorted_on_request(self):
        rows = [f"{time},leaf{device},E1,{time * 10 + device},0\n" for device in range(20)
                for time in range(50)]
        output = self.run_import(MAPPING, HEADER + "".join(rows), expect=UNUSABLE)
        self.assertIn("a.csv:52: column 1 (time): the time is before that of line 51; rows must be in "
                      "order of time: use --sort", output)
        self.run_import(MAPPING, HEADER + "".join(rows), words=("--form", "lines", "--sort"))
        self.assertEqual([(time, port) for time, port, _ in self.readings()],
                         [(time, f"leaf{device}:E1") for time in range(50) for device in range(20)])

    def test_sorting_in_parts_gives_the_same(self):
        sys.path.insert(0, str(pathlib.Path(importing.tool).parent))
        import rows as rows_module

        class Made:
            def __init__(self, made):
                self.made = made

            def rows(self):
                return iter(self.made)
        random.seed(5)
        made = [(random.randrange(300), 0, line, "leaf1", "E1", [(0, line)]) for line in range(1000)]
        for at_once in (1, 7, 1000, 5000):
            self.assertEqual(list(rows_module.merged([Made(made)], True, at_once)), sorted(made))


class BadInput(Importing):
    def test_missing_columns_are_named(self):
        output = self.run_import(MAPPING, "time,device,port,errors\n", expect=UNUSABLE)
        self.assertRegex(output, r'a\.csv:1: no column "in", which .*mapping\.yaml names; columns: time, '
                               r"device, port, errors")
        output = self.run_import(MAPPING, "time,device,port,in,errors,in\n", expect=UNUSABLE)
        self.assertIn('a.csv:1: column 6 (in): second column "in"', output)
        output = self.run_import(MAPPING, "", expect=UNUSABLE)
        self.assertIn("a.csv:1: the file is empty", output)

    def test_columns_without_a_mapping_are_reported_once(self):
        output = self.run_import(MAPPING, "time,device,port,in,errors,speed\n" +
                               "5,leaf1,E1,1,0,x\n6,leaf1,E1,1,0,x\n")
        self.assertEqual(output.count('ignored: column "speed"'), 1)
        output = output and self.readings()
        self.assertEqual(len(output), 2)

    def test_metrics_without_a_mapping_are_reported_once(self):
        output = self.run_import(LONG, LONG_HEADER + "5,leaf1,E1,in,1\n5,leaf1,E1,fan,1\n6,leaf1,E1,fan,x\n")
        self.assertEqual(output.count('ignored: metric "fan"'), 1)
        self.assertEqual(self.readings(), [(5, "leaf1:E1", {"rx_bytes": 1})])

    def test_invalid_values_are_dropped_and_counted(self):
        output = self.run_import(MAPPING, HEADER +
                               "5,leaf1,E1,-4,0\n6,leaf1,E1,12 kB,0\n7,leaf1,E1,x,0\n"
                               "8,leaf1,E1,18446744073709551616,0\n9,leaf1,E1,1e999,0\n"
                               "10,leaf1,E1,3,0\n", expect=DROPPED)
        for line, why in ((2, "negative number -4"), (3, 'expected a number without a unit, found "12 kB"'),
                          (4, 'expected a number, found "x"'), (5, "18446744073709551616 exceeds 64 bits"),
                          (6, "1e999 exceeds 64 bits")):
            self.assertIn(f"a.csv:{line}: column 4 (in): {why}; dropped", output)
        self.assertIn("dropped: 5 invalid values", output)
        self.assertEqual([metrics for _, _, metrics in self.readings()],
                         5 * [{"rx_errors": 0}] + [{"rx_bytes": 3, "rx_errors": 0}])

    def test_invalid_rows_are_dropped_and_counted(self):
        output = self.run_import(MAPPING, HEADER +
                               "5,leaf1,E1,1\nyesterday,leaf1,E1,1,0\n5,,E1,1,0\n5,leaf 1,E1,1,0\n"
                               "5,leaf1,\"E[1]\",1,0\n5,leaf1," + 129 * "x" + ",1,0\n\n5,leaf1,E1,1,0\n",
                               expect=DROPPED)
        self.assertIn("a.csv:2: expected 5 cells, found 4; dropped", output)
        self.assertIn('a.csv:3: column 1 (time): expected a time as seconds, found "yesterday"', output)
        self.assertIn("a.csv:4: column 2 (device): the name of the device is missing", output)
        self.assertIn('a.csv:5: column 2 (device): "leaf 1" cannot be the name of a device', output)
        self.assertIn('a.csv:6: column 3 (port): "E[1]" cannot be the name of a port', output)
        self.assertIn("a.csv:7: column 3 (port): the name of the port is longer than 128 bytes", output)
        self.assertIn("dropped: 4 rows with an invalid name", output)
        self.assertEqual(len(self.readings()), 1)

    def test_a_link_is_up_or_down(self):
        output = self.run_import(MAPPING.replace("errors: rx_errors", "errors: link_up"),
                               HEADER + "5,leaf1,E1,1,1\n35,leaf1,E1,2,7\n", expect=DROPPED)
        self.assertIn("a.csv:3: column 5 (errors): link_up must be 0 or 1, found 7", output)
        self.assertEqual([metrics for _, _, metrics in self.readings()],
                         [{"rx_bytes": 1, "link_up": 1}, {"rx_bytes": 2}])

    def test_states_that_the_mapping_does_not_name_are_dropped(self):
        mapping = MAPPING.replace("errors: rx_errors", "errors: {name: link_up, values: {1: 1, 2: 0}}")
        output = self.run_import(mapping, HEADER + "5,leaf1,E1,1,1\n35,leaf1,E1,2,2\n65,leaf1,E1,3,7\n",
                                 expect=DROPPED)
        self.assertIn('a.csv:4: column 5 (errors): "7" is not among the `values` in the mapping', output)
        self.assertEqual([metrics["link_up"] for _, _, metrics in self.readings() if "link_up" in metrics], [1, 0])

    def test_sums_of_differences_fit_into_64_bits(self):
        mapping = MAPPING.replace("counters: totals", "counters: differences")
        half = 2**63
        output = self.run_import(mapping, HEADER + f"5,leaf1,E1,{half},0\n35,leaf1,E1,{half},0\n",
                               expect=UNUSABLE)
        self.assertIn("the differences of rx_bytes of a port add up to more than 64 bits", output)

    def test_one_reading_has_no_period(self):
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1,1,0\n")
        self.assertNotIn("usually every", output)

    def test_only_the_first_drops_of_a_reason_are_printed(self):
        output = self.run_import(MAPPING, HEADER + "".join(f"{n},leaf1,E1,x,0\n" for n in range(100)),
                               expect=DROPPED)
        self.assertEqual(output.count("expected a number, found"), 5)
        self.assertIn("dropped: 100 invalid values", output)

    def test_strict_ends_at_the_first(self):
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1,1,0\n6,leaf1,E1,x,0\n", expect=UNUSABLE,
                               words=("--form", "lines", "--strict"))
        self.assertIn("a.csv:3: column 4 (in): expected a number", output)

    def test_duplicates_are_dropped(self):
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1,1,0\n5,leaf1,E1,1,2\n6,leaf1,E1,2,0\n",
                               expect=DROPPED)
        self.assertIn("a.csv:3: a second value of rx_bytes for leaf1:E1 at the same time; dropped", output)
        self.assertIn("a.csv:3: a second value of rx_errors for leaf1:E1 at the same time, which differs",
                      output)
        self.assertIn("dropped: 1 duplicate values\n", output)
        self.assertIn("dropped: 1 duplicate values that differ\n", output)
        self.assertEqual([metrics for _, _, metrics in self.readings()],
                         [{"rx_bytes": 1, "rx_errors": 0}, {"rx_bytes": 2, "rx_errors": 0}])

    def test_duplicates_are_not_summed_up(self):
        self.run_import(MAPPING.replace("totals", "differences"), HEADER +
                        "5,leaf1,E1,1,0\n5,leaf1,E1,1,0\n6,leaf1,E1,2,0\n", expect=DROPPED)
        self.assertEqual([metrics["rx_bytes"] for _, _, metrics in self.readings()], [1, 3])

    def test_mixed_units_of_rows_are_an_error(self):
        mapping = LONG + "unit: unit\n"
        header = "time,device,port,counter,value,unit\n"
        self.run_import(mapping, header + "5,leaf1,E1,in,2,kilobytes\n5,leaf1,E1,errors,1,\n")
        self.assertEqual(self.readings(), [(5, "leaf1:E1", {"rx_bytes": 2000, "rx_errors": 1})])
        for path in self.run_directory.iterdir():
            path.unlink()
        output = self.run_import(mapping, header + "5,leaf1,E1,in,2,kilobytes\n6,leaf1,E1,in,2,bytes\n",
                               expect=UNUSABLE)
        self.assertIn("a.csv:3: column 6 (unit): mixed units of rx_bytes: bytes here, kilobytes in ",
                      output)
        self.assertRegex(output, r"kilobytes in .*a\.csv:2\n")
        output = self.run_import(mapping, header + "5,leaf1,E1,in,2,nibbles\n", expect=UNUSABLE)
        self.assertIn('a.csv:2: column 6 (unit): unknown unit "nibbles" of rx_bytes', output)

    def test_mixed_units_of_files_are_an_error(self):
        header = "time,device,port,counter,value,unit\n"
        output = self.run_import(LONG + "unit: unit\n", header + "5,leaf1,E1,in,2,kilobits\n",
                               header + "6,leaf2,E1,in,2,kilobits\n7,leaf2,E1,in,2,kilobytes\n",
                               expect=UNUSABLE)
        self.assertRegex(output, r"b\.csv:3: column 6 \(unit\): mixed units of rx_bytes: kilobytes here, "
                               r"kilobits in .*a\.csv:2\n")

    # Differences of a steady load go up and down; totals never go down, except at a restart.
    def test_files_with_totals_and_differences_are_an_error(self):
        totals = HEADER + "".join(f"{n},leaf1,E1,{n * 1000 % 25000},0\n" for n in range(1, 60))
        steady = HEADER + "".join(f"{n},leaf2,E1,{1000 + n % 3},0\n" for n in range(1, 60))
        output = self.run_import(MAPPING, totals, steady, expect=UNUSABLE)
        self.assertIn("b.csv:4: column 4 (in): rx_bytes decreases here and in 18 more of 58 changes, so the "
                      "file has differences", output)
        differences = MAPPING.replace("totals", "differences")
        self.run_import(differences, steady, totals)  # the totals restart, so that they decrease
        for path in self.run_directory.iterdir():
            path.unlink()
        rising = HEADER + "".join(f"{n},leaf1,E1,{n * 1000},0\n" for n in range(1, 60))
        output = self.run_import(differences, steady, rising, expect=UNUSABLE)
        self.assertIn("b.csv:3: column 4 (in): rx_bytes never decreases in 58 changes, so the file has totals",
                      output)
        output = self.run_import(LONG, LONG_HEADER + "".join(f"{n},leaf2,E1,in,{1000 + n % 2}\n"
                                                           for n in range(60)), expect=UNUSABLE)
        self.assertIn("a.csv:4: column 5 (value): rx_bytes decreases here", output)
        self.run_import(MAPPING, totals)

    def test_odd_bytes_are_dropped_or_errors(self):
        output = self.run_import(MAPPING, HEADER.replace("\n", "\r\n") +
                               "5,leaf1,E1,1\0,0\r\n6,leaf\0,E1,1,0\r\n7,leaf1,E1,1e400,0\r\n"
                               "8,leaf1,E1,-1e400,0\r\n9,leaf1,E1,1e-400,0\r\n"
                               "99999999999999999999999,leaf1,E1,1,0\r\n1e9,leaf1,E1,1,0\r\n"
                               "-5,leaf1,E1,1,0\r\n9,leaf1,E1,nan,inf\r\n", expect=DROPPED)
        self.assertIn("a.csv:2: column 4 (in): expected a number", output)
        self.assertIn("a.csv:3: column 2 (device): ", output)
        self.assertIn("a.csv:4: column 4 (in): 1e400 exceeds 64 bits", output)
        self.assertIn("a.csv:5: column 4 (in): negative number -1e400", output)
        self.assertIn("dropped: 3 rows with an invalid time", output)
        self.assertIn("dropped: 5 invalid values", output)
        self.assertEqual(self.readings()[-1], (9, "leaf1:E1", {"rx_bytes": 0, "rx_errors": 0}))
        for path in self.run_directory.iterdir():
            path.unlink()
        for encoding, place in (("utf-16", ": after line 0"), ("utf-16-le", ":1"), ("utf-16-be", ":1")):
            output = self.run_import(MAPPING, HEADER.encode(encoding), expect=UNUSABLE)
            self.assertIn(f"a.csv{place}: not UTF-8; convert the file first, for example with iconv", output)
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1," + "1" * 200_000 + ",0\n", expect=UNUSABLE)
        self.assertIn("a.csv:2: field larger than field limit", output)

    def test_folders_are_no_files(self):
        output = self.run_import(MAPPING, self.folder, expect=UNUSABLE)
        self.assertIn(f"{self.folder}: Is a directory", output)
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1,1,0\n", expect=UNUSABLE,
                               words=("--form", "lines", "--topology", self.folder))
        self.assertIn(f"{self.folder}: Is a directory", output)

    def test_files_that_cannot_be_read(self):
        output = self.run_import(MAPPING, pathlib.Path("/nonexistent/a.csv"), expect=UNUSABLE)
        self.assertIn("/nonexistent/a.csv: No such file or directory", output)
        output = self.run_import(MAPPING, (HEADER + "5,leaf\xff,E1,1,0\n").encode("latin-1"), expect=UNUSABLE)
        self.assertIn("a.csv: after line", output)
        output = self.run_import(MAPPING, HEADER + '5,leaf1,"E1,1,0\n', expect=UNUSABLE)
        self.assertIn("a.csv:2: unexpected end of data", output)
        output = self.run_import(MAPPING, HEADER, expect=UNUSABLE)
        self.assertIn("no readings: no row has a value of a mapped metric", output)
        output = self.run_import(MAPPING, self.file("z.csv.gz", b"no gzip"), expect=UNUSABLE)
        self.assertIn("z.csv.gz: Not a gzipped file", output)

    def test_names_of_runs_must_be_utf8(self):
        output = self.run_import(MAPPING, HEADER + "5,leaf1,E1,1,0\n", expect=UNUSABLE,
                                 words=("--form", "lines", "--name", b"a\xff\xfe"))
        self.assertIn('"a\\udcff\\udcfe" cannot be the name of the run: not UTF-8', output)

    def test_a_stopped_import_leaves_nothing(self):
        mapping, export = self.file("mapping.yaml", MAPPING), self.folder / "a.csv"
        os.mkfifo(export)
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number), subprocess.Popen(
                    [sys.executable, "-B", importing.tool, mapping, export, "-d", self.run_directory, "--form",
                     "lines"], stderr=subprocess.PIPE, text=True,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as running:
                with open(export, "w", encoding="utf-8") as rows:  # waits for the import
                    self.assertTrue(self.run_directory.exists())
                    rows.write(HEADER)
                    rows.flush()
                    running.send_signal(number)
                    self.assertEqual(running.communicate(timeout=30)[1], "import_counters: interrupted\n")
                self.assertEqual(running.returncode, UNUSABLE)
                self.assertFalse(self.run_directory.exists())

    def test_a_full_disk_is_named(self):
        rows = HEADER + "".join(f"{n},leaf1,E1,{n},0\n" for n in range(1000))
        limit = (4096, resource.RLIM_INFINITY)  # bytes of a file: stands for a full disk
        files = self.file("mapping.yaml", MAPPING), self.file("a.csv", rows)
        for words, place in (([], f"{self.run_directory}/counters.jsonl"),
                             (["--sort"], f"--sort: cannot write a temporary file in {self.folder}")):
            done = subprocess.run(
                [sys.executable, "-B", importing.tool, *files, "-d", self.run_directory, "--form", "lines", *words],
                capture_output=True, text=True, env={**os.environ, "TMPDIR": str(self.folder)},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
            self.assertEqual(done.returncode, UNUSABLE)
            self.assertTrue(done.stderr.startswith(f"import_counters: {place}: File too large"), done.stderr)
            self.assertFalse(self.run_directory.exists())

    def test_a_run_is_never_replaced(self):
        self.run_import(MAPPING, HEADER + "5,leaf1,E1,1,0\n")
        before = (self.run_directory / "counters.jsonl").read_text()
        export = self.file("b.csv", HEADER + "6,leaf1,E1,1,0\n")
        with self.assertRaises(AssertionError):  # run_import expects an empty directory
            self.run_import(MAPPING, export, expect=UNUSABLE)
        self.assertEqual((self.run_directory / "counters.jsonl").read_text(), before)


if __name__ == "__main__":
    importing.tool = sys.argv.pop(1)
    unittest.main()
