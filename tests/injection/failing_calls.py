# SPDX-License-Identifier: BSD-3-Clause
"""The file that controls the library failing_calls.cc: which call fails, and how many were made."""

import mmap
import pathlib
import struct

KINDS = ["allocation", "write", "sync", "connect", "clock"]
FRONT = struct.Struct("<IIQQQq")  # kind, errno, first, count, site, clock
COUNTS = struct.Struct(f"<{len(KINDS)}QQ")  # calls by kind, failed
SITES = 1 << 14
SITE = struct.Struct("<QQ")
ALL = (1 << 64) - 1


class Plan:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.write_bytes(bytes(FRONT.size + COUNTS.size + SITES * SITE.size))
        with open(self.path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 0)

    def fail(self, kind, first, count=1, error=0, site=0, clock_ns=0):
        """The `first` call of this kind and the next `count` - 1 fail; only those from `site`."""
        FRONT.pack_into(self.page, 0, KINDS.index(kind), error, first, count, site, clock_ns)

    def calls(self):
        """The number of calls by kind."""
        return dict(zip(KINDS, COUNTS.unpack_from(self.page, FRONT.size)))

    def failed(self):
        return COUNTS.unpack_from(self.page, FRONT.size)[-1]

    def sites(self):
        """The number of allocations by place in the program."""
        begin = FRONT.size + COUNTS.size
        found = (SITE.unpack_from(self.page, begin + i * SITE.size) for i in range(SITES))
        return {site: calls for site, calls in found if site}

    def environment(self, library):
        return {"LD_PRELOAD": str(library), "FAIL_CALLS": str(self.path)}

    def close(self):
        self.page.close()
