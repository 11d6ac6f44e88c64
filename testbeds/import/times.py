# SPDX-License-Identifier: BSD-3-Clause
"""Times of exports as nanoseconds since the epoch, without the rounding of floating-point numbers."""

import datetime
import decimal
import re

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
SAMPLE = datetime.datetime(2027, 11, 23, 21, 34, 56, tzinfo=datetime.timezone.utc)
SECOND = 10**9
LATEST = 2**62 - 1  # as in base/time.h
NUMBERS = {"seconds": SECOND, "milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}
FORMATS = ("rfc3339", *NUMBERS)
RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?"
                     r"([Zz]|[+-]\d\d:\d\d)")
NUMBER = re.compile(r"\d{1,19}(\.\d{0,30})?")


def offset_of(text):
    if text in ("UTC", "Z", "z"):
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError
    return (hours * 60 + minutes) * (-60 if text[0] == "-" else 60)


def nanoseconds_since_epoch(moment):
    """Returns the nanoseconds since 1970 of a datetime with a time zone."""
    since = moment - EPOCH
    return (since.days * 86400 + since.seconds) * SECOND + since.microseconds * 1000


def from_rfc3339(text):
    match = RFC3339.fullmatch(text)
    if not match:
        raise ValueError
    *parts, fraction, zone = match.groups()
    moment = datetime.datetime(*map(int, parts), tzinfo=datetime.timezone.utc)
    return (nanoseconds_since_epoch(moment) + int((fraction or "0").ljust(9, "0"))
            - offset_of(zone) * SECOND)


def from_number(factor):
    def parse(text):
        if text.isascii() and text.isdecimal() and len(text) <= 19:
            return int(text) * factor
        if not NUMBER.fullmatch(text):
            raise ValueError
        with decimal.localcontext() as context:
            context.prec = 60
            return int(decimal.Decimal(text) * factor)
    return parse


def problem_of(pattern):
    """Why a pattern cannot be used, or None."""
    try:
        made = SAMPLE.strftime(pattern)
        read = datetime.datetime.strptime(made, pattern)
    except (ValueError, OverflowError, LookupError, re.error) as error:
        return f'"{pattern}" is not a pattern of times: {error}'
    if read.date() != SAMPLE.date():
        return f'"{pattern}" has no complete date'
    if read.hour not in (SAMPLE.hour, 0):  # 0: the pattern has no hour
        return f'"{pattern}" has hours from 1 to 12 (%I) without AM or PM (%p)'
    return None


def from_pattern(pattern, zone):
    offset = datetime.timezone(datetime.timedelta(seconds=offset_of(zone)))

    def parse(text):
        moment = datetime.datetime.strptime(text, pattern)
        return nanoseconds_since_epoch(moment if moment.tzinfo else moment.replace(tzinfo=offset))
    return parse


def parser(form, zone):
    """A function from a text to nanoseconds; it raises ValueError."""
    if form == "rfc3339":
        parse = from_rfc3339
    else:
        parse = from_number(NUMBERS[form]) if form in NUMBERS else from_pattern(form, zone)

    def checked(text):
        try:
            ns = parse(text)
        except OverflowError:
            raise ValueError from None
        if not 0 <= ns <= LATEST:
            raise ValueError
        return ns
    return checked
