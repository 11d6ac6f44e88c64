# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes classic pcap files (www.tcpdump.org/manpages/pcap-savefile.5.html)."""

import pathlib
import struct

MAGICS = {0xa1b2c3d4: 1000, 0xa1b23c4d: 1}  # nanoseconds per unit of the fraction


def read(path):
    """Returns (link type, [(time in ns, bytes)])."""
    data = pathlib.Path(path).read_bytes()
    order = next(o for o in "<>" if struct.unpack_from(o + "I", data)[0] in MAGICS)
    magic, _, _, _, _, _, link = struct.unpack_from(order + "IHHiIII", data)
    frames, at = [], 24
    while at < len(data):
        seconds, fraction, size, _ = struct.unpack_from(order + "IIII", data, at)
        at += 16
        frames.append((seconds * 10**9 + fraction * MAGICS[magic], data[at:at + size]))
        at += size
    return link, frames


def write(path, link, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, link))
        for time, octets in frames:
            file.write(struct.pack("<IIII", time // 10**9, time % 10**9, len(octets), len(octets)))
            file.write(octets)
