#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Host data about queue pairs with packets of a real NCCL run: kernel lists, GPUs that share a NIC,
ambiguous communicators, mirrored copies in VXLAN.

usage: host_facts_test.py PATH/rocescope [UNITTEST ARGUMENT...]

The captures are real; the logs and lists follow the formats of NCCL and iproute2. Exit code 77: the
captures are missing, nothing was compared.
"""

import ipaddress
import json
import pathlib
import re
import struct
import sys
import tempfile
import unittest

import command
import nccl_log
import pcap

NODES = (0, 1, 2)
CAPTURES = [command.NCCL_TREE / f"tree2_node{node}.pcap" for node in NODES]
LOGS = [command.NCCL_TREE / f"tree2_node{node}.log" for node in NODES]
OUT_OF_BAND = "eth0:10.9.0.{}<0>"  # a separate network


def gid(address):
    """The lower half of an IPv4 address's GID, as printed by NCCL."""
    octets = b"\0\0\xff\xff" + ipaddress.IPv4Address(address).packed
    return f"0/{int.from_bytes(octets, 'little'):X}"


class Process:
    """The log of a rank's process."""

    def __init__(self, host, process_id, host_number, gpu=0):
        self.frame = f"{host}:{process_id}:{process_id} [{gpu}] NCCL INFO "
        self.gpu = gpu
        self.lines = []
        self.say(f"NET/IB : Using [0]rxe0:1/RoCE [RO]; OOB {OUT_OF_BAND.format(host_number)}")

    def say(self, message):
        self.lines.append(self.frame + message)
        return self

    def on(self, thread):
        """The following lines are from another thread."""
        self.frame = re.sub(r":\d+ \[", f":{thread} [", self.frame)
        return self

    def communicator(self, pointer, rank, size, ending):
        begin = f"ncclCommInitRank comm {pointer} rank {rank} nranks {size} cudaDev {self.gpu} "
        return self.say(begin + f"nvmlDev {self.gpu} busId {8 + self.gpu}0 commId 0xbeef - Init "
                        + ending)

    def split(self, pointer, parent, rank, size, color):
        text = (f"ncclCommSplit comm {pointer} rank {rank} nranks {size} cudaDev {self.gpu} nvmlDev "
                f"{self.gpu} busId {8 + self.gpu}0 parent {parent} splitCount 1 color {color} key 0")
        return self.say(text + "- Init START").say(text + " - Init COMPLETE")

    def channel(self, source, destination, way):
        return self.say(f"Channel 00/0 : {source}[0] -> {destination}[0] [{way}] via NET/IB/0")

    def connect(self, qpn, address):
        return self.say(f"NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn {qpn} mtu 3 GID 1 ({gid(address)}) "
                        "fifoRkey=0x1 fifoLkey=0x1")

    def text(self):
        return "".join(line + "\n" for line in self.lines)


class HostFacts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.logs = {log.rank: log for log in map(nccl_log.read, LOGS)}
        cls.connections = [c for log in cls.logs.values() for c in log.connections]
        # Those with data, as reported without host data.
        plain = command.report(*CAPTURES)
        cls.carried = {(c[way]["address"], int(c[way].get("qpn", -1))) for c in plain["connections"]
                       for way in "ab"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def files(self, name, contents):
        folder = self.folder / name
        folder.mkdir()
        for file, text in contents.items():
            (folder / file).write_text(text)
        return folder

    def address(self, rank):
        return self.logs[rank].address

    def that_carried_data(self):
        return [c for c in self.connections
                if (self.address(c.source), c.source_qpn) in self.carried]

    def queue_pair(self, rank, local, remote, device="rxe0", process_id=None):
        return {"ifindex": 0, "ifname": device, "port": 1, "lqpn": local, "rqpn": remote,
                "type": "RC", "state": "RTS", "rq-psn": 0, "sq-psn": 0,
                "pid": process_id or self.logs[rank].process_id, "comm": "all_reduce_perf"}

    def lists(self, of_name):
        """One list for each host, named `of_name(rank)`, with all its queue pairs."""
        queue_pairs = {rank: [] for rank in self.logs}
        for c in self.connections:
            queue_pairs[c.source].append(
                self.queue_pair(c.source, c.source_qpn, c.destination_qpn))
            queue_pairs[c.destination].append(
                self.queue_pair(c.destination, c.destination_qpn, c.source_qpn))
        return {f"{of_name(rank)}.json": json.dumps(rows) for rank, rows in queue_pairs.items()}

    def logs_without_queue_pairs(self):
        """The processes and their ranks, without any network data."""
        return self.files("logs", {
            path.name: "".join(line for line in path.read_text().splitlines(keepends=True)
                               if "qpn" not in line and "Channel" not in line)
            for path in LOGS})

    def edges(self, report):
        return {(e.get("source_rank"), e.get("destination_rank")):
                (e["source_qpns"], e["destination_qpns"], int(e["bytes"]))
                for e in report["jobs"][0]["edges"]}

    def evidence(self, report):
        return [[e["kind"] for e in c["evidence"]] for c in report["connections"]]

    def test_kernels_lists_pair_queue_pairs_without_any_log(self):
        lists = self.files("rdma", self.lists(self.address))
        report = command.report(*CAPTURES, "--rdma", lists)
        self.assertEqual(report["notes"], [])
        self.assertEqual(len(report["connections"]), len(self.that_carried_data()))
        for kinds in self.evidence(report):
            self.assertIn("KIND_RDMA_RESOURCE", kinds)

    def test_kernels_lists_name_the_ranks_whose_logs_name_no_queue_pair(self):
        for name in ("host", "address"):
            with self.subTest(named_after=name):
                rdma = self.files(f"rdma-{name}", self.lists(
                    (lambda rank: self.logs[rank].host) if name == "host" else self.address))
                logs = (self.folder / "logs" if (self.folder / "logs").exists()
                        else self.logs_without_queue_pairs())
                report = command.report(*CAPTURES, "--nccl-logs", logs, "--rdma", rdma)
                self.assertEqual(self.edges(report), self.edges(
                    command.report(*CAPTURES, "--nccl-logs", *LOGS)))
                for connection in report["connections"]:
                    for way in "ab":
                        self.assertEqual(connection[way]["rank_source"], "RANK_SOURCE_RDMA_RESOURCE")
                        self.assertGreater(connection[way]["rank_confidence"], 0.99)

    def test_a_list_of_no_use_is_said(self):
        lists = self.files("rdma", {"elsewhere.json": json.dumps([self.queue_pair(0, 11, 12)])})
        notes = command.report(*CAPTURES, "--nccl-logs", *LOGS, "--rdma", lists)["notes"]
        self.assertEqual(len(notes), 1)
        self.assertRegex(notes[0], "elsewhere.*no NCCL log contains the address.*rxe0")

    def test_lists_of_many_foreign_queue_pairs_displace_none_that_are_seen(self):
        ours = self.lists(self.address)
        for host in range(2):
            ours[f"172.30.9.{host}.json"] = json.dumps([
                self.queue_pair(0, 5000 + n, 5000 + n, f"mlx5_{n % 8}") for n in range(3000)])
        report = command.report(*CAPTURES, "--rdma", self.files("rdma", ours))
        self.assertEqual(len(report["connections"]), len(self.that_carried_data()))
        for kinds in self.evidence(report):
            self.assertIn("KIND_RDMA_RESOURCE", kinds)

    def test_two_gpus_of_a_host_that_share_its_nic_keep_their_edges(self):
        """A ring of two hosts, which enters a host at one GPU and leaves it at the other."""
        a, b = self.address(0), self.address(2)
        begin = lambda host, pid, number, rank: Process(host, pid, number, rank % 2).communicator(
            f"0xa{rank}", rank, 4, "START")
        end = lambda process, rank: process.communicator(f"0xa{rank}", rank, 4, "COMPLETE").text()
        logs = self.files("logs", {
            "0.log": end(begin("nodeA", 100, 1, 0).channel(3, 0, "receive"), 0),
            "1.log": end(begin("nodeA", 101, 1, 1).channel(1, 2, "send").connect(39, a), 1),
            "2.log": end(begin("nodeB", 200, 2, 2).channel(1, 2, "receive"), 2),
            "3.log": end(begin("nodeB", 201, 2, 3).channel(3, 0, "send").connect(43, b), 3)})
        report = command.report(CAPTURES[0], CAPTURES[2], "--nccl-logs", logs)
        self.assertEqual(self.edges(report), {(1, 2): ([39], [46], 24577),
                                              (3, 0): ([43], [38], 24577)})
        peers = {(rank.get("rank"), qp["qpn"]): qp.get("peer_rank")
                 for rank in report["jobs"][0]["ranks"] for qp in rank["queue_pairs"]}
        self.assertEqual(peers, {(1, 39): 2, (2, 46): 1, (3, 43): 0, (0, 38): 3})
        self.assertEqual([rank["addresses"] for rank in report["jobs"][0]["ranks"]],
                         [[a], [a], [b], [b]])

    def lazy(self, with_receiver):
        """Rank 0 connects after the initialisation: to rank 1 of the world, or of a split, which is
        rank 2 of the world. The receiver, if any, is in that split, and its log names its NIC."""
        def process(rank):
            log = Process(f"h{rank}", 100 + rank, rank)
            log.on(110).communicator("0xa0", rank, 4, "START").communicator(
                "0xa0", rank, 4, "COMPLETE")
            return log.on(111).split("0xa1", "0xa0", rank // 2, 2, rank % 2)
        logs = [process(rank) for rank in range(4)]
        logs[0].on(120).channel(0, 1, "send").on(121).connect(39, self.address(0))
        if with_receiver:  # it sends over the same port
            logs[2].on(120).channel(0, 1, "receive").channel(1, 0, "send")
            logs[2].on(121).connect(43, self.address(2))
            logs[1].on(120).channel(1, 0, "send").on(121).connect(77, self.address(1))
        return self.files("logs", {f"{n}.log": log.text() for n, log in enumerate(logs)})

    def test_a_peer_that_depends_on_the_communicator_is_left_open(self):
        report = command.report(CAPTURES[0], CAPTURES[2], "--nccl-logs", self.lazy(False))
        (queue_pair,) = report["jobs"][0]["ranks"][0]["queue_pairs"]
        self.assertNotIn("peer_rank", queue_pair)
        self.assertEqual(queue_pair["candidate_peer_ranks"], [1, 2])
        self.assertEqual(report["jobs"][0]["edges"], [])

    def test_addresses_tell_which_communicator_a_peer_is_of(self):
        report = command.report(CAPTURES[0], CAPTURES[2], "--nccl-logs", self.lazy(True))
        self.assertEqual(self.edges(report)[0, 2], ([39], [46], 24577))

    def test_processes_without_a_common_communicator_have_edges_by_name(self):
        a = Process("nodeA", 100, 1)
        a.communicator("0xa0", 0, 2, "START").communicator("0xa0", 0, 2, "COMPLETE")
        other = [line.replace("0xbeef", "0xffff") for line in
                 Process("nodeA", 100, 1).communicator("0xa1", 0, 2, "START").lines[1:]]
        a.lines += other
        a.channel(0, 1, "send").connect(39, self.address(0))
        b = Process("nodeB", 200, 2).communicator("0xb0", 1, 2, "START")
        b.communicator("0xb0", 1, 2, "COMPLETE")
        c = Process("nodeC", 300, 3).communicator("0xc0", 1, 2, "START")
        c.channel(1, 0, "send").connect(43, self.address(2)).communicator("0xc0", 1, 2, "COMPLETE")
        logs = self.files("logs", {"a.log": a.text(), "b.log": b.text(),
                                   "c.log": c.text().replace("0xbeef", "0xffff")})
        job = command.report(CAPTURES[0], CAPTURES[2], "--nccl-logs", logs)["jobs"][0]
        self.assertEqual((job["expected_rank_count"], job["logged_rank_count"], len(job["ranks"])), (2, 2, 3))
        self.assertEqual([(e.get("source_rank"), e["source_process"], e.get("destination_rank"),
                           e["destination_process"], int(e["bytes"])) for e in job["edges"]],
                         [(0, "nodeA:100", None, "nodeC:300", 24577),
                          (None, "nodeC:300", 0, "nodeA:100", 24577)])

    def test_copies_of_a_mirror_in_vxlan_are_not_added_to_those_of_another_tap(self):
        copies = pcap.write(self.folder / "mirror.pcap",
                            [in_vxlan(frame) for frame in pcap.read(CAPTURES[2])])
        alone = self.edges(command.report(copies, "--nccl-logs", *LOGS))
        self.assertEqual(alone, self.edges(command.report(CAPTURES[2], "--nccl-logs", *LOGS)))
        both = command.report(CAPTURES[0], copies, "--nccl-logs", *LOGS)
        # Both segments contain the traffic between ranks 0 and 2, and it is unknown which of them the
        # logs mean; the rest is in one.
        self.assertEqual(self.edges(both), {pair: edge for pair, edge in alone.items()
                                            if 0 not in pair})
        self.assertRegex(" ".join(both["jobs"][0]["notes"]), "several segments")


def in_vxlan(frame):
    """The frame behind Ethernet, IPv4, UDP to 4789 and VXLAN (RFC 7348) with VNI 9."""
    vxlan = struct.pack(">II", 0x08000000, 9 << 8) + frame.octets
    udp = struct.pack(">HHHH", 49152, 4789, 8 + len(vxlan), 0) + vxlan
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]),
                     bytes([10, 0, 0, 2])) + udp
    octets = bytes.fromhex("020000000002" "020000000001" "0800") + ip
    return pcap.Frame(frame.time_us, octets, len(octets))


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    command.skip_unless(command.NCCL_TREE.is_dir(), f"{command.NCCL_TREE} is not there")
    unittest.main()
