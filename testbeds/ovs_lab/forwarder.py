# SPDX-License-Identifier: BSD-3-Clause
"""Makes ports of a network namespace available on the loopback address of this one.

    forwarder.py NAMESPACE PORT:PORT...

Each pair is the port to listen on here, and the port on the loopback address of the namespace. The
sockets that listen are opened before the process enters the namespace, and stay outside.
"""

import asyncio
import contextlib
import ctypes
import pathlib
import socket
import sys

NAMESPACES = pathlib.Path("/run/netns")
CLONE_NEWNET = 0x40000000
LOOPBACK = "127.0.0.1"
BLOCK = 1 << 16


def listening(port):
    out = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    out.bind((LOOPBACK, port))
    out.listen()
    return out


async def copy(reader, writer):
    with contextlib.suppress(OSError):
        while data := await reader.read(BLOCK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


async def forward(reader, writer, port):
    try:
        inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))
    finally:
        inner_writer.close()
        writer.close()


async def main():
    pairs = [tuple(map(int, pair.split(":"))) for pair in sys.argv[2:]]
    sockets = [(listening(outer), inner) for outer, inner in pairs]
    with open(NAMESPACES / sys.argv[1]) as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {sys.argv[1]}")
    servers = [await asyncio.start_server(lambda r, w, port=inner: forward(r, w, port), sock=outer)
               for outer, inner in sockets]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(main())
