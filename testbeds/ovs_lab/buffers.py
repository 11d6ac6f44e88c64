# SPDX-License-Identifier: BSD-3-Clause
"""Enlarges the receive buffers of the packet sockets of ovs-vswitchd. With the kernel's default, 208 KiB, a
socket holds about 90 frames, and a burst of a queue pair is lost silently. Open vSwitch has no option for
it, and the default of the kernel applies to the whole machine, so the sockets are changed from outside."""

import contextlib
import ctypes
import os
import socket

PIDFD_GETFD = 438  # number of the system call, on all architectures
SO_RCVBUFFORCE = 33
SIZE = 8 << 20  # bytes

_libc = ctypes.CDLL(None, use_errno=True)


def descriptors_of_sockets(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                yield int(name)


def enlarge(pid):
    """Returns the number of packet sockets."""
    process = os.pidfd_open(pid)
    try:
        return sum(enlarge_one(process, number) for number in descriptors_of_sockets(pid))
    finally:
        os.close(process)


def enlarge_one(process, number):
    own = _libc.syscall(PIDFD_GETFD, process, number, 0)
    if own < 0:
        return False  # closed in the meantime
    with socket.socket(fileno=own) as one:
        if one.family != socket.AF_PACKET:
            return False
        one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, SIZE)
        return True
