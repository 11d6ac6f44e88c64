# SPDX-License-Identifier: BSD-3-Clause
"""Rows to readings: one line of counters.jsonl for each port and time."""

import json
import statistics

from problem import Problem

LARGEST = 2**64 - 1


class Trends:
    """Whether the counters of each file are what the mapping says: totals rarely decrease, and
    differences sometimes do."""

    ENOUGH = 20  # changes of a metric in a file

    def __init__(self, mapping, table, files):
        self.has_differences = mapping.has_differences
        self.metrics, self.files = list(table.values()), files
        self.last = {}  # by file, device and port: values by metric
        self.changes = {}  # by file and metric: increases, decreases, line of the first decrease

    def add(self, row):
        _, file, line, device, port, values = row
        last = self.last.setdefault((file, device, port), {})
        for order, number in values:
            before = last.get(order)
            if number == before:
                continue
            last[order] = number
            if before is None or not self.metrics[order].is_counter:
                continue
            changes = self.changes.get((file, order))
            if changes is None:
                changes = self.changes[file, order] = [0, 0, line]
            if number > before:
                changes[0] += 1
            else:
                changes[1] += 1
                if changes[1] == 1:
                    changes[2] = line

    def check(self):
        for (file, order), (increases, decreases, line) in sorted(self.changes.items()):
            changes = increases + decreases
            if changes < self.ENOUGH:
                continue
            source, metric = self.files[file], self.metrics[order]
            where = f"{source.place(line, source.column_of(metric))}: {metric.name}"
            if self.has_differences and decreases == 0:
                raise Problem(f"{where} never decreases in {changes} changes, so the file has totals; "
                              'the mapping says "counters: differences"')
            if not self.has_differences and decreases * 4 >= changes:
                raise Problem(f"{where} decreases here and in {decreases - 1} more of {changes} changes, so "
                              'the file has differences, or counters that wrap in most intervals; the '
                              'mapping says "counters: totals"')


class Port:
    """A port, the sums of its differences, and the constant part of its lines."""

    def __init__(self, kind, device, name):
        entity = json.dumps({"node": device, "port": name}, ensure_ascii=False, separators=(",", ":"))
        self.front = f',"kind":"{kind}","entity":{entity},"metrics":{{'
        self.totals = {}
        self.last_time = None


class Readings:
    def __init__(self, mapping, table, drops, files):
        self.kind = mapping.kind
        self.has_differences = mapping.has_differences
        self.names = [f'"{metric.name}":' for metric in table.values()]
        self.is_counter = [metric.is_counter for metric in table.values()]
        self.drops, self.files = drops, files
        self.trends = Trends(mapping, table, files)
        self.ports = {}
        self.first = self.last = None
        self.readings = self.values = 0
        self.distances = []  # between readings of a port, for the period

    def lines(self, rows):
        """The lines, in order of time."""
        group, time = {}, None
        for row in rows:
            if row[0] != time:
                yield from self.flush(group, time)
                group, time = {}, row[0]
            self.take(row, group)
        yield from self.flush(group, time)

    def take(self, row, group):
        _, file, line, device, port, values = row
        self.trends.add(row)
        of_port = group.setdefault((device, port), {})
        for order, number in values:
            if order not in of_port:
                of_port[order] = number
            else:
                same = of_port[order] == number
                self.drops.add("duplicate values" if same else "duplicate values that differ",
                               self.files[file].place(line),
                               f"a second value of {self.names[order][1:-2]} for {device}:{port} at "
                               f"the same time{'' if same else ', which differs'}")

    def flush(self, group, time):
        for key, values in group.items():
            port = self.ports.get(key)
            if port is None:
                port = self.ports[key] = Port(self.kind, *key)
            if port.last_time is not None and len(self.distances) < 10_001:
                self.distances.append(time - port.last_time)
            port.last_time = time
            text = ",".join([self.names[order] + str(self.total(port, order, values[order]))
                             for order in sorted(values)])
            self.values += len(values)
            self.readings += 1
            yield f'{{"time_ns":{time}{port.front}{text}}}}}\n'
        if time is not None:
            self.first = time if self.first is None else self.first
            self.last = time

    def total(self, port, order, number):
        """The value to write. Sums of fractions are rounded only here, so that errors do not add up."""
        if self.has_differences and self.is_counter[order]:
            number = port.totals[order] = port.totals.get(order, 0) + number
        if number > LARGEST:
            raise Problem(f"the differences of {self.names[order][1:-2]} of a port add up to more than 64 "
                          "bits: are they totals, or is the unit wrong?")
        return number if type(number) is int else round(number)

    def period(self):
        """The usual distance between two readings of a port in nanoseconds; 0: unknown."""
        return int(statistics.median_low(self.distances)) if self.distances else 0
