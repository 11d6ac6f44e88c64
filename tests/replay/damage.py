# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of file corruption. The same generator state gives the same result."""


def flip(octets, random, _):
    """Changes up to 16 bytes."""
    spoilt = bytearray(octets)
    for _ in range(random.randint(1, 16)):
        spoilt[random.randrange(len(spoilt))] ^= random.randint(1, 255)
    return bytes(spoilt)


def flip_ahead(octets, random, other):
    """Changes bytes at the beginning, which contains the lengths and types of files."""
    size = min(len(octets), 64)
    return flip(octets[:size], random, other) + octets[size:]


def cut(octets, random, _):
    """Truncates the file."""
    return octets[:random.randrange(len(octets))]


def cut_out(octets, random, _):
    """Removes a part."""
    begin = random.randrange(len(octets))
    return octets[:begin] + octets[begin + random.randint(1, 200):]


def splice(octets, random, other):
    """Inserts a part of another file."""
    at = random.randrange(len(octets))
    begin = random.randrange(len(other))
    return octets[:at] + other[begin:begin + random.randint(1, 2000)] + octets[at:]


def overwrite(octets, random, other):
    """Overwrites bytes with a part of another file."""
    at = random.randrange(len(octets))
    begin = random.randrange(len(other))
    piece = other[begin:begin + random.randint(1, 500)]
    return octets[:at] + piece + octets[at + len(piece):]


def extreme(octets, random, _):
    """Sets a four-byte number to a limit of its range."""
    at = random.randrange(max(1, len(octets) - 4))
    value = random.choice((0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0))
    return octets[:at] + value.to_bytes(4, random.choice(("little", "big"))) + octets[at + 4:]


WAYS = (flip, flip_ahead, cut, cut_out, splice, overwrite, extreme)
