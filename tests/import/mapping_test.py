#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mappings of testbeds/import: each mistake is an error with file, line and column.

usage: mapping_test.py PATH/import_counters [UNITTEST ARGUMENT...]
"""

import pathlib
import shutil
import sys
import unittest

import importing
from importing import MAPPING, UNUSABLE, Importing

EXPORT = "time,device,port,in,errors\n1,leaf1,E1,10,0\n"


class Mappings(Importing):
    def refused(self, mapping, message):
        self.assertIn(message, self.run_import(mapping, EXPORT, expect=UNUSABLE))

    def replaced(self, old, new, message):
        self.assertEqual(MAPPING.count(old), 1)
        self.refused(MAPPING.replace(old, new), message)

    def test_a_mapping_may_be_written_in_several_ways(self):
        self.run_import("""# comment
"time":   # of the poller
    column: 'time'
    format: seconds
device: {column: device}
port: {"column": port}   # another comment

counters: totals
metrics: {in: {name: rx_bytes, unit: "bytes"}, errors: rx_errors}
""", EXPORT)
        self.assertEqual(self.readings(), [(1, "leaf1:E1", {"rx_bytes": 10, "rx_errors": 0})])

    def test_errors_of_the_syntax_have_a_place(self):
        for mapping, place in (
                ("", "mapping.yaml:1:1: the file is empty"),
                ("a: " + "{a: " * 5000, "mapping.yaml:1:1: the maps are nested too deeply"),
                ("time: {column: time", 'mapping.yaml:1:20: expected "," or "}" in the same line'),
                ("\ttime: a", "mapping.yaml:1:1: tab in the indentation"),
                ("time:\n", 'mapping.yaml:1:6: no value for "time"'),
                ("- time", "mapping.yaml:1:1: expected `key: value`; quote keys"),
                ("time: [a, b]", 'mapping.yaml:1:7: "[" is not supported here'),
                ("time: *x", 'mapping.yaml:1:7: "*" is not supported here'),
                ("time: \"a", "mapping.yaml:1:7: the quotes are not closed"),
                ("time: \"a\" b", 'mapping.yaml:1:10: unexpected "b"'),
                ("time: a: b", "mapping.yaml:1:7: a second `:` in this line"),
                ("port: a\nport: b", 'mapping.yaml:2:1: duplicate key "port"'),
                ("metrics:\n  a: b\n c: d", "mapping.yaml:3:2: wrong indentation"),
                ("port: {a: , b: c}", 'mapping.yaml:1:11: "," is not supported here')):
            with self.subTest(mapping):
                self.refused(mapping, place)

    def test_a_mapping_is_utf8(self):
        self.run_import("\ufeff" + MAPPING, EXPORT)
        shutil.rmtree(self.run_directory)
        for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
            self.refused(MAPPING.encode(encoding),
                         "mapping.yaml: not UTF-8; convert the file first, for example with iconv")

    def test_errors_of_the_content_have_a_place(self):
        self.replaced("device:", "devise:",
                      'mapping.yaml:2:1: unknown key "devise"; did you mean "device"?')
        self.replaced("device: device\n", "", 'mapping.yaml:1:1: missing key "device"')
        self.replaced("format: seconds", "format: secs",
                      "mapping.yaml:1:30: expected rfc3339, seconds, milliseconds")
        self.replaced("format: seconds", "format: '%s', zone: CET",
                      "mapping.yaml:1:42: expected UTC or an offset")
        self.replaced("format: seconds", "format: '%Y-%m-%d', zone: '+24:00'",
                      "mapping.yaml:1:48: expected UTC or an offset")
        for pattern in ("%Y-%m-%d %Q", "%Y-%m-%d %", "%s", "%Y-%m-%d %d", "%Y-%m-%d %(d"):
            self.replaced("format: seconds", f"format: '{pattern}'",
                          f'mapping.yaml:1:30: "{pattern}" is not a pattern of times: ')
        self.replaced("format: seconds", "format: '%d.%m. %H:%M'",
                      'mapping.yaml:1:30: "%d.%m. %H:%M" has no complete date')
        self.replaced("format: seconds", "format: '%Y-%m-%d %I:%M'",
                      'mapping.yaml:1:30: "%Y-%m-%d %I:%M" has hours from 1 to 12 (%I) without AM or PM (%p)')
        self.replaced("counters: totals", 'counters: totals\ndelimiter: "\\n"',
                      "mapping.yaml:5:12: expected one character")
        self.replaced("errors: rx_errors", "errors: {name: rx_errors, values: {a: " + "9" * 5000 + "}}",
                      'mapping.yaml:7:41: "a": expected a number')
        self.replaced("counters: totals", "counters: rates",
                      'mapping.yaml:4:11: "counters": expected totals or differences')
        self.replaced("in: rx_bytes", "in: rx_nibbles", 'mapping.yaml:6:7: unknown metric "rx_nibbles"')
        self.replaced("in: rx_bytes", "in: {name: rx_byte}",
                      'mapping.yaml:6:14: unknown metric "rx_byte"; did you mean "rx_bytes"?')
        self.replaced("in: rx_bytes", "in: {name: rx_bytes, unit: nibbles}",
                      'mapping.yaml:6:30: unknown unit "nibbles" of rx_bytes: expected bytes, kilobytes')
        self.replaced("errors: rx_errors", "errors: {name: rx_errors, unit: kilobytes}",
                      'unknown unit "kilobytes" of rx_errors: expected count, thousands, millions')
        self.replaced("errors: rx_errors", "errors: {name: rx_errors, values: {a: b}}",
                      'mapping.yaml:7:41: "a": expected a number')
        self.replaced("counters: totals", "counters: totals\nvalue: in",
                      'mapping.yaml:5:1: "value" requires "form: long"')
        self.replaced("counters: totals", "counters: totals\ndelimiter: tab",
                      "mapping.yaml:5:12: expected one character")
        self.replaced("{column: time, format: seconds}", "time",
                      "mapping.yaml:1:7: expected a map with the keys column, format, zone")

    def test_two_columns_of_one_metric_are_mixed_units(self):
        self.replaced("errors: rx_errors", "in_kbit: {name: rx_bytes, unit: kilobits}",
                      'mapping.yaml:7:3: "rx_bytes" is already the metric of "in"')

    def test_hosts_need_a_topology(self):
        self.replaced("counters: totals", "counters: totals\nkind: nic",
                      "kind: nic requires --topology, which has the hosts")

    def test_a_missing_mapping_is_named(self):
        mapping = self.folder / "mapping.yaml"
        self.run_import(MAPPING, EXPORT)
        mapping.unlink()
        mapping.mkdir()
        with self.assertRaises(IsADirectoryError):
            self.file("mapping.yaml", "")
        sys.path.insert(0, str(pathlib.Path(importing.tool).parent))
        from mapping import Mapping
        from problem import Problem
        with self.assertRaisesRegex(Problem, "mapping.yaml: .*Is a directory"):
            Mapping(mapping)


if __name__ == "__main__":
    importing.tool = sys.argv.pop(1)
    unittest.main()
