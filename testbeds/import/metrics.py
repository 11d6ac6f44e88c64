# SPDX-License-Identifier: BSD-3-Clause
"""The metrics of rocescope, from their table in dataplane/record/metric.h, and units of exports."""

import fractions
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "dataplane/record/metric.h"
ROW = re.compile(r'ROW\(\w+, "(\w+)", (Counter|Gauge), "([^"]+)",')

THOUSANDS = {"": 1, "kilo": 10**3, "mega": 10**6, "giga": 10**9, "tera": 10**12}
BINARY = {"kibi": 2**10, "mebi": 2**20, "gibi": 2**30, "tebi": 2**40}
TIMES = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}

# Factors from a unit of an export to the unit of the metric.
UNITS = {
    "bytes": {**{f"{name}bytes": factor for name, factor in {**THOUSANDS, **BINARY}.items()},
              **{f"{name}bits": fractions.Fraction(factor, 8) for name, factor in THOUSANDS.items()}},
    "bit/s": {f"{short}bit/s": factor for short, factor in
              zip(("", "k", "M", "G"), THOUSANDS.values())},
    "ns": TIMES,
    "ms": {name: fractions.Fraction(factor, 10**6) for name, factor in TIMES.items()},
}
COUNTS = {"count": 1, "thousands": 10**3, "millions": 10**6}


class Metric:
    def __init__(self, order, name, is_counter, unit):
        self.order, self.name, self.is_counter, self.unit = order, name, is_counter, unit

    @property
    def units(self):
        """The units that an export may have, and their factors."""
        return UNITS.get(self.unit, COUNTS)

    @property
    def default_unit(self):
        return {"bytes": "bytes", "bit/s": "bit/s", "ns": "nanoseconds",
                "ms": "milliseconds"}.get(self.unit, "count")


def table():
    """Every metric by its name."""
    text = TABLE.read_text(encoding="utf-8")
    text = re.sub(r"\\\n\s*", " ", text[text.index("#define ROCESCOPE_METRICS"):])
    return {name: Metric(order, name, kind == "Counter", unit)
            for order, (name, kind, unit) in enumerate(ROW.findall(text))}
