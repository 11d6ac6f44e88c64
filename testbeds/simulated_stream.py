# SPDX-License-Identifier: BSD-3-Clause
"""The telemetry of a simulation that runs while its telemetry is sent. The simulator is only seconds ahead, because it
waits while nobody reads its output. No time, counter or sequence number goes backwards, however long it runs."""
import collections
import os
import re
import struct
import subprocess
import threading
import time

AHEAD = 10  # seconds of telemetry that wait here; the simulator's buffers contain some more
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)  # nanoseconds, Ethernet
ENHANCED_PACKET = 6  # block type of pcapng
ETHERNET, IPV4, GRE, UDP = 14, 20, 47, 17


def write_description(simulator, scenario, run, epoch, dilation):
    """Writes what does not change during the run: the fabric, the parameters, and the data of hosts and of the
    scheduler. They are those of a run of a millisecond without faults, because queue pairs and ranks depend on neither
    the duration nor the faults."""
    text = re.sub(r"^faults:\n(?:[ #].*\n)+", "", scenario.read_text(encoding="utf-8"), flags=re.M)
    short = run / "short.yaml"
    short.write_text(re.sub(r"^duration: .*$", "duration: 1ms", text, flags=re.M), encoding="utf-8")
    subprocess.run([simulator, "run", short, "-d", run, "--no-victims", "--dilate", str(dilation), "--epoch",
                    str(epoch)], check=True, stdout=subprocess.DEVNULL)


class Records:
    """The frames of one kind of telemetry, with the interface of `player.Capture`."""

    def __init__(self):
        self.waiting = collections.deque()  # nanoseconds and frame
        self.complete = False

    def header(self):
        return PCAP_HEADER

    def ended(self):
        return self.complete and not self.waiting

    def due(self, now):
        while self.waiting and self.waiting[0][0] <= now * 1e9:
            time_ns, frame = self.waiting.popleft()
            yield struct.pack("<IIII", *divmod(time_ns, 10**9), len(frame), len(frame)) + frame


class Lines:
    """The lines of a named pipe, which are read at once so that its writer never waits."""

    def __init__(self, pipe):
        self.waiting = collections.deque()
        threading.Thread(target=self.read, args=(pipe,), daemon=True).start()

    def read(self, pipe):
        with open(pipe, encoding="utf-8") as lines:
            for line in lines:
                self.waiting.append(line)

    def readline(self):
        """Returns an empty text if no line waits."""
        return self.waiting.popleft() if self.waiting else ""


class SimulatedStream:
    """Runs `rocescope-sim run --stream`. `mirror`, `int_reports`, `sflow` and `counters` are what it has sent."""

    def __init__(self, simulator, scenario, run, manifest, dilation):
        pipe = run / "counters.pipe"
        os.mkfifo(pipe)
        self.counters = Lines(pipe)
        self.mirror, self.int_reports, self.sflow = Records(), Records(), Records()
        self.by_port = {manifest["ports"]["int_reports"]: self.int_reports, manifest["ports"]["sflow"]: self.sflow}
        self.process = subprocess.Popen(
            [simulator, "run", scenario, "--stream", "--counters", pipe, "--dilate", str(dilation), "--epoch",
             str(manifest["epoch_ns"] // 10**9)], stdout=subprocess.PIPE, start_new_session=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Distributes the blocks of the pcapng stream."""
        stream = self.process.stdout
        while len(head := stream.read(8)) == 8:
            kind, length = struct.unpack("<II", head)
            body = stream.read(length - 8)
            if kind != ENHANCED_PACKET or len(body) < length - 8:
                continue
            _, high, low, captured = struct.unpack_from("<IIII", body)
            time_ns, frame = high << 32 | low, body[20:20 + captured]
            if (records := self.records_of(frame)) is not None:
                records.waiting.append((time_ns, frame))
            if (early := time_ns / 1e9 - AHEAD - time.time()) > 0:
                time.sleep(early)
        for records in (self.mirror, self.int_reports, self.sflow):
            records.complete = True

    def records_of(self, frame):
        protocol = frame[ETHERNET + 9]
        if protocol == GRE:  # ERSPAN
            return self.mirror
        if protocol != UDP:
            return None
        return self.by_port.get(struct.unpack_from(">H", frame, ETHERNET + IPV4 + 2)[0])

    def end(self):
        self.process.kill()
        self.process.wait()
