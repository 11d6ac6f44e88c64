# SPDX-License-Identifier: BSD-3-Clause
"""Times and durations of the API's JSON as integers, without losing digits."""

import datetime
import re

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
SECOND_NS = 1_000_000_000


def nanoseconds(time):
    """Nanoseconds since the epoch of "2026-01-31T12:00:00.000000001Z"."""
    whole, fraction = re.fullmatch(r"([^.Z]+)(?:\.(\d+))?Z", time).groups()
    since = datetime.datetime.fromisoformat(whole + "+00:00") - EPOCH
    seconds = since.days * 86400 + since.seconds
    return seconds * SECOND_NS + int((fraction or "").ljust(9, "0"))


def duration_ns(text):
    """Nanoseconds of "-0.000125s"."""
    sign, whole, fraction = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?s", text).groups()
    ns = int(whole) * SECOND_NS + int((fraction or "").ljust(9, "0"))
    return -ns if sign else ns


def time_text(ns):
    """The time in the JSON mapping of protobuf: 0, 3, 6 or 9 digits after the second."""
    seconds, rest = divmod(ns, SECOND_NS)
    text = (EPOCH + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    for digits in (0, 3, 6, 9):
        if rest % 10 ** (9 - digits) == 0:
            return text + (f".{rest // 10 ** (9 - digits):0{digits}}" if digits else "") + "Z"
