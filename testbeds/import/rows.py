# SPDX-License-Identifier: BSD-3-Clause
"""The rows of CSV files, in order of time.

A row is a tuple: time in nanoseconds, number of the file, line, device, port, and a list of (order of the
metric, number in the metric's unit). Nothing is kept in memory except one chunk while sorting."""

import csv
import fractions
import gzip
import heapq
import pickle
import re
import tempfile
import zlib

from problem import NOT_UTF8, Problem

NUMBER = re.compile(r"\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?")
LARGEST = 2**64 - 1
LONGEST_NAME = 128  # bytes, as in dataplane/run
# What a generated topology.yaml can contain (topology/README.md).
NODE_FORBIDS = re.compile(r'[^!-~]|[:,"\[\]]')
PORT_FORBIDS = re.compile(r'[^ -~]|[,"\[\]]')


LONGEST_NUMBER = 200  # characters


class BadValue(Exception):
    pass


def number_of(text, column, factor):
    """An integer, or a fraction if the unit or the text requires it."""
    text = text.strip()
    if len(text) > LONGEST_NUMBER:
        raise BadValue(f'"{text[:40]}..." is too long for a number')
    if text in column.texts:
        number = column.texts[text]
    elif column.texts:
        raise BadValue(f'"{text[:40]}" is not among the `values` in the mapping')
    elif text.isascii() and text.isdecimal():
        number = int(text)
    elif NUMBER.fullmatch(text):
        number = fractions.Fraction(text)
    elif text.startswith("-") and NUMBER.fullmatch(text[1:]):
        raise BadValue(f"negative number {text[:40]}")
    elif re.match(r"[\d.]+\s*[A-Za-z]", text):
        raise BadValue(f'expected a number without a unit, found "{text[:40]}"')
    else:
        raise BadValue(f'expected a number, found "{text[:40]}"')
    number *= factor
    if column.metric.unit == "0 or 1" and number not in (0, 1):
        raise BadValue(f"{column.metric.name} must be 0 or 1, found {text[:40]}; `values:` in the mapping "
                       "can translate it")
    if number > LARGEST:
        raise BadValue(f"{text[:40]} exceeds 64 bits")
    return number


class File:
    """One CSV file, plain or gzip."""

    def __init__(self, path, index, mapping, drops, names_are_checked, ignored, units):
        self.path, self.index, self.mapping, self.drops = str(path), index, mapping, drops
        self.names_are_checked = names_are_checked
        self.ignored = ignored  # columns and metrics without an entry in the mapping
        self.header = []
        self.entities = {}
        self.units = units  # by metric, for all files: the unit and the place of the first row

    def place(self, line, column=None):
        if column is None:
            return f"{self.path}:{line}"
        return f"{self.path}:{line}: column {column + 1} ({self.header[column]})"

    def column_of(self, metric):
        """The index of the column with the values of the metric."""
        if self.mapping.is_long:
            return self.header.index(self.mapping.value)
        name, = (name for name, column in self.mapping.metrics.items() if column.metric is metric)
        return self.header.index(name)

    def rows(self):
        opener = gzip.open if self.path.endswith(".gz") else open
        try:
            with opener(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, delimiter=self.mapping.delimiter, strict=True)
                try:
                    yield from self.read(reader)
                except csv.Error as error:
                    raise Problem(f"{self.path}:{reader.line_num}: {error}") from None
                except UnicodeDecodeError:
                    raise Problem(f"{self.path}: after line {reader.line_num}: {NOT_UTF8}") from None
        except (OSError, EOFError, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise Problem(f"{self.path}: {reason}") from None

    def find(self, name):
        count = self.header.count(name)
        if count == 1:
            return self.header.index(name)
        if count == 0:
            found = ", ".join(self.header)
            raise Problem(f'{self.path}:1: no column "{name}", which {self.mapping.path} names; '
                          f"columns: {found[:400]}")
        second = self.header.index(name, self.header.index(name) + 1)
        raise Problem(f'{self.place(1, second)}: second column "{name}"')

    def read(self, reader):
        header = next(reader, None)
        if header is None:
            raise Problem(f"{self.path}:1: the file is empty; expected a line with the names of columns")
        if any("\0" in name for name in header):  # UTF-16 without a byte order mark
            raise Problem(f"{self.path}:1: {NOT_UTF8}")
        self.header = [name.strip() for name in header]
        mapping = self.mapping
        time, device, port = map(self.find, (mapping.time, mapping.device, mapping.port))
        read_values = self.long_values() if mapping.is_long else self.wide_values()
        last_text = last_time = None
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(self.header):
                if cells:
                    self.drops.add("rows with a wrong number of cells", self.place(line),
                                   f"expected {len(self.header)} cells, found {len(cells)}")
                continue
            text = cells[time]
            if text != last_text:
                try:
                    last_time = mapping.parse_time(text.strip())
                except ValueError:
                    last_time = None
                last_text = text
            if last_time is None:
                self.drops.add("rows with an invalid time", self.place(line, time),
                               f'expected a time as {mapping.time_format}, found "{text[:40]}"')
                continue
            key = cells[device], cells[port]
            entity = self.entities.get(key)
            if entity is None:
                entity = self.entity(key, line, device, port)
                if entity is None:
                    continue
            values = read_values(cells, line)
            if values:
                yield (last_time, self.index, line, *entity, values)

    def entity(self, key, line, device, port):
        """Device and port, or None if they are not valid names."""
        found = tuple(text.strip() for text in key)
        for name, column, forbidden, what in ((found[0], device, NODE_FORBIDS, "device"),
                                              (found[1], port, PORT_FORBIDS, "port")):
            problem = None
            if not name:
                problem = f"the name of the {what} is missing"
            elif len(name.encode()) > LONGEST_NAME:
                problem = f"the name of the {what} is longer than {LONGEST_NAME} bytes"
            elif self.names_are_checked and forbidden.search(name):
                problem = (f'"{name[:40]}" cannot be the name of a {what} in a generated topology: '
                           "pass one by --topology")
            if problem:
                self.drops.add("rows with an invalid name", self.place(line, column), problem)
                return None
        self.entities[key] = found
        return found

    def wide_values(self):
        """Every mapped column is a metric."""
        mapping = self.mapping
        columns = [(self.find(name), column) for name, column in mapping.metrics.items()]
        used = {mapping.time, mapping.device, mapping.port, *mapping.metrics}
        self.ignored.update(f'column "{name}"' for name in self.header if name not in used)
        missing = mapping.missing

        def read(cells, line):
            values = []
            for at, column in columns:
                text = cells[at]
                if text in missing:
                    continue
                try:
                    values.append((column.metric.order, number_of(text, column, column.factor)))
                except BadValue as problem:
                    self.drops.add("invalid values", self.place(line, at), str(problem))
            return values
        return read

    def long_values(self):
        """Every row has one metric."""
        mapping = self.mapping
        metric, value = self.find(mapping.metric), self.find(mapping.value)
        unit = self.find(mapping.unit) if mapping.unit else None

        def read(cells, line):
            text = cells[value]
            column = mapping.metrics.get(cells[metric].strip())
            if column is None:
                self.ignored.add(f'metric "{cells[metric].strip()[:40]}"')
            if column is None or text in mapping.missing:
                return []
            factor = column.factor if unit is None else self.factor_of(cells[unit], column, line, unit)
            try:
                return [(column.metric.order, number_of(text, column, factor))]
            except BadValue as problem:
                self.drops.add("invalid values", self.place(line, value), str(problem))
                return []
        return read

    def factor_of(self, text, column, line, at):
        """All rows of a metric must have the same unit, in all files."""
        unit = text.strip() or column.metric.default_unit
        first = self.units.setdefault(column.metric.name, (unit, self, line))
        if unit not in column.metric.units:
            raise Problem(f'{self.place(line, at)}: unknown unit "{unit[:40]}" of '
                          f"{column.metric.name}: expected {', '.join(column.metric.units)}")
        if first[0] != unit:
            raise Problem(f"{self.place(line, at)}: mixed units of {column.metric.name}: {unit} here, "
                          f"{first[0]} in {first[1].place(first[2])}")
        return column.metric.units[unit]


def checked(file):
    """The rows of a file, which must be in order of time."""
    last = last_line = 0
    for row in file.rows():
        if row[0] < last:
            column = file.header.index(file.mapping.time)
            raise Problem(f"{file.place(row[2], column)}: the time is before that of line {last_line}; "
                          "rows must be in order of time: use --sort")
        last, last_line = row[0], row[2]
        yield row


def sorted_chunks(files, at_once):
    """Sorted parts of all rows, each an iterator over a temporary file."""
    folder = tempfile.gettempdir()

    def write(chunk):
        chunk.sort(key=lambda row: row[:3])
        try:
            store = tempfile.TemporaryFile(dir=folder)
            for begin in range(0, len(chunk), 1000):
                pickle.dump(chunk[begin:begin + 1000], store)
            store.seek(0)
        except OSError as error:
            raise Problem(f"--sort: cannot write a temporary file in {folder}: {error.strerror}; set TMPDIR to a "
                          "directory with enough free space") from None
        return store

    def read(store):
        with store:
            while True:
                try:
                    yield from pickle.load(store)
                except EOFError:
                    return

    stores, chunk = [], []
    for file in files:
        for row in file.rows():
            chunk.append(row)
            if len(chunk) == at_once:
                stores.append(write(chunk))
                chunk = []
    if chunk:
        stores.append(write(chunk))
    return map(read, stores)


def merged(files, sort, at_once=500_000):
    """The rows of all files in order of time."""
    parts = sorted_chunks(files, at_once) if sort else map(checked, files)
    return heapq.merge(*parts, key=lambda row: row[:3])
