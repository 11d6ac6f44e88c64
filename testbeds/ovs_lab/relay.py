# SPDX-License-Identifier: BSD-3-Clause
"""Delays the frames of one direction of a cable, because the kernel may lack netem. Runs in the namespace
of the wires.

    relay.py IN OUT DELAY_SECONDS JITTER_SECONDS [--reorder]

Reads the frames that arrive at the interface IN, and sends each of them from the interface OUT after the
delay and a random additional time of at most the jitter. Frames stay in order unless --reorder is given.
Prints "ready" when it receives.
"""

import argparse
import heapq
import itertools
import random
import select
import socket
import time

ALL_PROTOCOLS = 0x0003
LONGEST_FRAME = 65536
BUFFER = 8 << 20
MOST_WAITING = 100_000  # frames


def open_socket(interface, protocol):
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    opened.bind((interface, protocol))
    return opened


class Delay:
    """Decides when each frame is sent, and keeps it until then."""

    def __init__(self, delay, jitter, reorder, dice=random.random):
        self.delay, self.jitter, self.reorder, self.dice = delay, jitter, reorder, dice
        self.waiting, self.numbers, self.last = [], itertools.count(), 0.0

    def add(self, frame, now):
        due = now + self.delay + self.jitter * self.dice()
        if not self.reorder:
            due = self.last = max(due, self.last)
        if len(self.waiting) < MOST_WAITING:
            heapq.heappush(self.waiting, (due, next(self.numbers), frame))

    def next_due(self):
        return self.waiting[0][0] if self.waiting else None

    def take_due(self, now):
        while self.waiting and self.waiting[0][0] <= now:
            yield heapq.heappop(self.waiting)[2]


def relay(source, sink, delay):
    while True:
        due = delay.next_due()
        timeout = None if due is None else max(0, due - time.monotonic())
        if select.select([source], [], [], timeout)[0]:
            frame, (_, _, kind, *_) = source.recvfrom(LONGEST_FRAME)
            if kind != socket.PACKET_OUTGOING:
                delay.add(frame, time.monotonic())
        for frame in delay.take_due(time.monotonic()):
            sink.send(frame)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("sink")
    parser.add_argument("delay", type=float)
    parser.add_argument("jitter", type=float)
    parser.add_argument("--reorder", action="store_true")
    options = parser.parse_args()
    source, sink = open_socket(options.source, ALL_PROTOCOLS), open_socket(options.sink, 0)
    print("ready", flush=True)
    relay(source, sink, Delay(options.delay, options.jitter, options.reorder))


if __name__ == "__main__":
    main()
