# SPDX-License-Identifier: BSD-3-Clause
"""The mapping: which columns of an export have the time, the device, the port and the metrics."""

import difflib
import pathlib
import re

import metrics
import times
import yaml_subset
from problem import NOT_UTF8, Problem

KINDS = ("port", "nic")


class Column:
    """A mapped metric: its factor, and texts that mean a number ("up": 1)."""

    def __init__(self, metric, unit, texts):
        self.metric, self.unit, self.texts = metric, unit, texts
        self.factor = metric.units[unit] if unit else None  # None: the row has the unit


class Mapping:
    def __init__(self, path):
        self.path = str(path)
        try:
            text = pathlib.Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise Problem(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise Problem(f"{path}: {NOT_UTF8}") from None
        if "\0" in text:  # UTF-16 without a byte order mark
            raise Problem(f"{path}: {NOT_UTF8}")
        root = yaml_subset.read(text, self.path)
        self.known(root, ("form", "delimiter", "kind", "time", "device", "port", "metric", "value",
                          "unit", "counters", "missing", "metrics"))
        self.is_long = self.choice(root, "form", ("wide", "long"), "wide") == "long"
        self.kind = self.choice(root, "kind", KINDS, "port")
        self.has_differences = self.choice(root, "counters", ("totals", "differences")) == "differences"
        self.delimiter = self.text(root, "delimiter", ",")
        if len(self.delimiter) != 1 or self.delimiter in "\"\r\n":
            self.fail(root.value["delimiter"], "expected one character, as \",\", \";\" or \"\\t\"")
        self.missing = {"", self.text(root, "missing", "")}
        self.read_time(root)
        self.device = self.column(root, "device")
        self.port = self.column(root, "port")
        self.metric = self.value = self.unit = None
        if self.is_long:
            self.metric = self.column(root, "metric")
            self.value = self.column(root, "value")
            self.unit = self.column(root, "unit") if "unit" in root.value else None
        else:
            for key in ("metric", "value", "unit"):
                if key in root.value:
                    self.fail_at(root.keys[key], f'"{key}" requires "form: long"')
        self.read_metrics(root)

    # --- errors and simple values

    def fail_at(self, place, message):
        raise Problem(f"{self.path}:{place[0]}:{place[1]}: {message}")

    def fail(self, node, message):
        self.fail_at((node.line, node.column), message)

    def known(self, node, names):
        if not node.is_map:
            self.fail(node, f"expected a map with the keys {', '.join(names)}")
        for key in node.value:
            if key not in names:
                near = difflib.get_close_matches(key, names, 1)
                hint = f'; did you mean "{near[0]}"?' if near else f"; known keys: {', '.join(names)}"
                self.fail_at(node.keys[key], f'unknown key "{key}"{hint}')

    def require(self, node, key):
        if key not in node.value:
            self.fail(node, f'missing key "{key}"')
        return node.value[key]

    def text(self, node, key, default=None):
        if default is not None and key not in node.value:
            return default
        value = self.require(node, key)
        if value.is_map:
            self.fail(value, f'"{key}": expected a text')
        return value.value

    def choice(self, node, key, choices, default=None):
        value = self.text(node, key, default)
        if value not in choices:
            self.fail(node.value[key], f'"{key}": expected {" or ".join(choices)}')
        return value

    def column(self, node, key):
        """`key: NAME` or `key: {column: NAME}`."""
        value = self.require(node, key)
        if not value.is_map:
            return value.value
        self.known(value, ("column",))
        return self.text(value, "column")

    # --- sections

    def read_time(self, root):
        node = self.require(root, "time")
        self.known(node, ("column", "format", "zone"))
        self.time = self.text(node, "column")
        form = self.text(node, "format")
        zone = self.text(node, "zone", "UTC")
        if form not in times.FORMATS and "%" not in form:
            self.fail(node.value["format"],
                      f"expected {', '.join(times.FORMATS)}, or a pattern as \"%Y-%m-%d %H:%M:%S\"")
        if not re.fullmatch(r"UTC|[+-]([01]\d|2[0-3]):[0-5]\d", zone):
            self.fail(node.value["zone"],
                      "expected UTC or an offset as \"+02:00\", which is less than 24 hours")
        if form not in times.FORMATS and (problem := times.problem_of(form)):
            self.fail(node.value["format"], problem)
        self.parse_time = times.parser(form, zone)
        self.time_format = form

    def read_metrics(self, root):
        node = self.require(root, "metrics")
        if not node.is_map or not node.value:
            self.fail(node, "expected a map from columns to metrics")
        self.table = table = metrics.table()
        self.metrics = {}
        used = {}
        for column, value in node.value.items():
            name_node, name = value, value.value
            if value.is_map:
                self.known(value, ("name", "unit", "values"))
                name_node, name = self.require(value, "name"), self.text(value, "name")
            if name not in table:
                near = difflib.get_close_matches(name, table, 1)
                hint = f'; did you mean "{near[0]}"?' if near else "; see dataplane/record/metric.h"
                self.fail(name_node, f'unknown metric "{name}"{hint}')
            if name in used:
                self.fail_at(node.keys[column], f'"{name}" is already the metric of "{used[name]}"')
            used[name] = column
            self.metrics[column] = Column(table[name], self.unit_of(value, table[name]),
                                          self.texts_of(value))

    def unit_of(self, node, metric):
        if node.is_map and "unit" in node.value:
            if self.unit:
                self.fail_at(node.keys["unit"], f'the rows have units, in the column "{self.unit}"')
            unit = self.text(node, "unit")
            if unit not in metric.units:
                self.fail(node.value["unit"],
                          f'unknown unit "{unit}" of {metric.name}: expected {", ".join(metric.units)}')
            return unit
        return None if self.unit else metric.default_unit

    def texts_of(self, node):
        if not node.is_map or "values" not in node.value:
            return {}
        values = node.value["values"]
        if not values.is_map:
            self.fail(values, "expected a map from texts to numbers, as {up: 1, down: 0}")
        for text, number in values.value.items():
            if number.is_map or not re.fullmatch(r"[0-9]{1,20}", number.value):
                self.fail(number, f'"{text}": expected a number')
        return {text: int(number.value) for text, number in values.value.items()}
