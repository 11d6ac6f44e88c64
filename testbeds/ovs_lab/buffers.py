# SPDX-License-Identifier: BSD-3-Clause
"""The packet sockets of ovs-vswitchd, from outside. Their receive buffers are the queues of the switches:
they hold frames that a port has counted as received and that are not forwarded yet.

With the kernel's default of 208 KiB, a socket holds about 90 frames, and a burst of a queue pair is lost
silently. Open vSwitch has no option for it, and the kernel's default applies to the whole machine."""

import contextlib
import ctypes
import os
import socket
import struct

PIDFD_GETFD = 438  # number of the system call, on all architectures
SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_MEMINFO = 32, 33, 55
MEMINFO = struct.Struct("=9I")  # the first is the memory of the queued frames
SIZE = 8 << 20  # bytes
# One socket sends the frames of all ports. The kernel charges it with each frame until the frame has arrived,
# so that with the default, frames that wait in the token bucket of a slow link block all switches.
SEND_SIZE = 64 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def packet_sockets(pid):
    """Copies of the packet sockets of a process. Close them."""
    found = []
    process = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                    own = _libc.syscall(PIDFD_GETFD, process, int(name), 0)
                    if own >= 0:
                        found.append(socket.socket(fileno=own))
    finally:
        os.close(process)
    for one in found:
        if one.family != socket.AF_PACKET:
            one.close()
    return [one for one in found if one.family == socket.AF_PACKET]


def enlarge(pid):
    for one in packet_sockets(pid):
        with one:
            one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, SIZE)
            one.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_SIZE)


class Backlog:
    """The memory of the frames that wait in front of a bridge."""

    def __init__(self, pid, interfaces):
        self.sockets = {}
        for one in packet_sockets(pid):
            name = one.getsockname()[0]
            if name in interfaces:
                self.sockets[name] = one
            else:
                one.close()

    def read(self):
        """Interface -> bytes."""
        return {name: MEMINFO.unpack(one.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, MEMINFO.size))[0]
                for name, one in self.sockets.items()}

    def close(self):
        for one in self.sockets.values():
            one.close()
