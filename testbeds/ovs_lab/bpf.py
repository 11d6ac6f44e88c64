# SPDX-License-Identifier: BSD-3-Clause
"""Maps of a loaded BPF program, through the bpf system call (linux/bpf.h). Nothing is pinned: maps are
found by the number of the program that `tc filter show` prints."""

import contextlib
import ctypes
import errno
import os
import platform

from problem import Problem

SYSTEM_CALL = {"x86_64": 321, "aarch64": 280}
LOOKUP, UPDATE, NEXT_KEY, PROGRAM_BY_ID, MAP_BY_ID, INFO_BY_FD = 1, 2, 4, 13, 14, 15
MOST_MAPS = 16
INFO_SIZE = 256
NAME_SIZE = 16

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attributes):
    buffer = ctypes.create_string_buffer(bytes(attributes), len(attributes))
    number = SYSTEM_CALL.get(platform.machine())
    if number is None:
        raise Problem(f"the lab does not support the architecture {platform.machine()}; it supports "
                      f"{' and '.join(SYSTEM_CALL)}")
    result = _libc.syscall(number, command, buffer, len(attributes))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"bpf command {command}: {os.strerror(error)}")
    return result


def _words(*values):
    return b"".join(value.to_bytes(4, "little") for value in values)


def _address(buffer):
    return ctypes.addressof(buffer).to_bytes(8, "little")


def _info(fd, content=b""):
    """The kernel's description of a program or map. `content`: what the kernel reads from it."""
    info = ctypes.create_string_buffer(content, INFO_SIZE)
    _bpf(INFO_BY_FD, _words(fd, INFO_SIZE) + _address(info))
    return info.raw


class Map:
    """An array or hash. `key` and `value` are ctypes types. Keys of arrays are integers."""

    def __init__(self, fd, key, value):
        self.fd, self.key, self.value = fd, key, value

    def _call(self, command, key, buffer):
        _bpf(command, _words(self.fd, 0) + (_address(key) if key is not None else bytes(8))
             + _address(buffer) + bytes(8))

    def read(self, key):
        value = self.value()
        self._call(LOOKUP, self.key(key) if isinstance(key, int) else key, value)
        return value

    def write(self, key, value):
        self._call(UPDATE, self.key(key), value)

    def items(self):
        """The entries of a hash. Entries that appear or disappear at the same time may be missing."""
        key = None
        while True:
            following = self.key()
            try:
                self._call(NEXT_KEY, key, following)
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return
                raise
            with contextlib.suppress(FileNotFoundError):
                yield following, self.read(following)
            key = following


@contextlib.contextmanager
def maps_of_program(number, values):
    """The maps of a program: name -> Map. `values`: the types of key and value of each map, by its name."""
    opened = []
    try:
        program = _bpf(PROGRAM_BY_ID, _words(number, 0, 0))
        opened.append(program)
        # struct bpf_prog_info: nr_map_ids is at offset 52, and map_ids, a pointer, at 56.
        numbers = (ctypes.c_uint32 * MOST_MAPS)()
        request = bytes(52) + _words(MOST_MAPS) + _address(numbers)
        info = _info(program, request)
        maps = {}
        for one in numbers[:int.from_bytes(info[52:56], "little")]:
            fd = _bpf(MAP_BY_ID, _words(one, 0, 0))
            opened.append(fd)
            # struct bpf_map_info: value_size is at offset 12, and name at 24.
            described = _info(fd)
            name = described[24:24 + NAME_SIZE].rstrip(b"\0").decode()
            if name not in values:
                continue
            key, value = values[name]
            size = int.from_bytes(described[12:16], "little")
            if size != ctypes.sizeof(value):
                raise Problem(f"the BPF map {name} has values of {size} bytes instead of "
                              f"{ctypes.sizeof(value)}: another version of wire.bpf.c is loaded; build the lab again")
            maps[name] = Map(fd, key, value)
        yield maps
    except OSError as error:
        raise Problem(f"the BPF maps of the cables cannot be used: {error}") from None
    finally:
        for fd in opened:
            os.close(fd)
