#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A real NCCL run of three hosts with a tree: the traffic matrix from any subset of the captures.

usage: nccl_tree_test.py PATH/rocescope [UNITTEST ARGUMENT...]

The expected values are the edges in the logs and the totals of tshark. Exit code 77: the
captures or tshark are missing, nothing was compared.
"""

import functools
import itertools
import pathlib
import shutil
import sys
import tempfile
import unittest

import command
import nccl_log
import tshark_count

NODES = (0, 1, 2)
SUBSETS = [nodes for size in (1, 2, 3) for nodes in itertools.combinations(NODES, size)]


def capture(node):
    return command.NCCL_TREE / f"tree2_node{node}.pcap"


def log(node):
    return command.NCCL_TREE / f"tree2_node{node}.log"


@functools.cache
def counted(nodes):
    return tshark_count.flows(capture(node) for node in nodes)


@functools.cache
def stated():
    """The contents of the three logs, by rank."""
    logs = (nccl_log.read(log(node)) for node in NODES)
    return {log.rank: log for log in logs}


@functools.cache
def reported(nodes, logs):
    words = [capture(node) for node in nodes]
    return command.report(*words, *(["--nccl-logs", *map(log, logs)] if logs else []))


def flow_there(connection):
    return (stated()[connection.source].address, stated()[connection.destination].address,
            connection.destination_qpn)


def flow_back(connection):
    return (stated()[connection.destination].address, stated()[connection.source].address,
            connection.source_qpn)


def ends(connection):
    """Both ends as {address and number: rank}."""
    return {(stated()[rank].address, qpn): rank
            for rank, qpn in ((connection.source, connection.source_qpn),
                              (connection.destination, connection.destination_qpn))}


def that_carried_data(nodes):
    return [connection for log in stated().values() for connection in log.connections
            if counted(nodes).get(flow_there(connection), tshark_count.Count()).messages > 0]


def incident(nodes):
    """The connections of a captured host, even if its capture does not contain them."""
    hosts = {f"node{node}" for node in nodes}
    return [connection for connection in that_carried_data(NODES)
            if {stated()[connection.source].host, stated()[connection.destination].host} & hosts]


def integers(message, *keys):
    return tuple(int(message[key]) for key in keys)


def each(*logs_of):
    """Runs the test for every subset of the captures, with the logs that each function selects."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for nodes in SUBSETS:
                for logs in sorted({choose(nodes) for choose in logs_of}):
                    with self.subTest(captures=nodes, logs=logs):
                        test(self, nodes, reported(nodes, logs))
        return run
    return decorate


def all_logs(_):
    return NODES


def logs_of_the_captured(nodes):
    return nodes


def no_logs(_):
    return ()


class NcclTree(unittest.TestCase):
    maxDiff = None

    def test_the_logs_and_the_captures_say_enough_to_compare(self):
        self.assertEqual([log.rank_count for log in stated().values()], [3, 3, 3])
        self.assertEqual(len(that_carried_data(NODES)), 4)
        for nodes in SUBSETS:
            self.assertCountEqual(that_carried_data(nodes), incident(nodes))

    @each(all_logs, logs_of_the_captured)
    def test_every_queue_pair_that_carried_data_has_its_two_ranks(self, nodes, report):
        found = [{(end["address"], int(end["qpn"])): end.get("rank") for end in (c["a"], c["b"])}
                 for c in report["connections"]]
        self.assertCountEqual(found, [ends(c) for c in that_carried_data(nodes)])

    @each(all_logs, logs_of_the_captured)
    def test_edges_are_those_that_the_logs_state(self, nodes, report):
        self.assertEqual(len(report["jobs"]), 1)
        found = [(e.get("source_rank"), e.get("destination_rank"), e["source_qpns"],
                  e["destination_qpns"]) for e in report["jobs"][0]["edges"]]
        self.assertCountEqual(found, [(c.source, c.destination, [c.source_qpn],
                                       [c.destination_qpn]) for c in incident(nodes)])

    @each(all_logs, logs_of_the_captured)
    def test_edges_carry_what_tshark_counts(self, nodes, report):
        edges = {(e.get("source_rank"), e.get("destination_rank")): e
                 for e in report["jobs"][0]["edges"]}
        # Data flows in one direction of a connection, and requests for it in the other.
        asking = {(c.destination, c.source): counted(nodes)[flow_back(c)]
                  for c in that_carried_data(nodes)}
        for connection in that_carried_data(nodes):
            pair = connection.source, connection.destination
            data = counted(nodes)[flow_there(connection)]
            control = asking[pair]
            self.assertEqual(
                integers(edges[pair], "bytes", "messages", "control_bytes",
                         "control_messages"),
                (data.payload, data.messages, control.payload, control.messages))
            self.assertEqual(integers(edges[pair], "missing_packets", "retransmitted_packets",
                                      "ce_marked_packets", "cnp_packets"),
                             (0, 0, 0, 0))
            self.assertGreater(edges[pair]["confidence"], 0.5)
            self.assertLessEqual(edges[pair]["confidence"], 1)

    @each(all_logs, logs_of_the_captured, no_logs)
    def test_flows_are_those_of_tshark_to_the_byte(self, nodes, report):
        found = {(f["source"], f["destination"], f["destination_qpn"]):
                 integers(f, "packets", "bytes", "messages", "payload_bytes") +
                 integers(f["operations"], "write", "acknowledge")
                 for f in report["flows"]}
        expected = {key: (c.packets, c.octets, c.messages, c.payload, c.writes, c.acknowledges)
                    for key, c in counted(nodes).items()}
        self.assertEqual(found, expected)

    @each(all_logs, logs_of_the_captured, no_logs)
    def test_control_is_what_goes_to_a_sender(self, nodes, report):
        asking = {flow_back(c) for c in that_carried_data(nodes)}
        for flow in report["flows"]:
            key = flow["source"], flow["destination"], flow["destination_qpn"]
            count = counted(nodes)[key]
            self.assertEqual(integers(flow, "control_messages", "control_bytes"),
                             (count.messages, count.payload) if key in asking else (0, 0))

    @each(all_logs, logs_of_the_captured, no_logs)
    def test_connections_are_right_with_logs_and_without(self, nodes, report):
        found = [{(end["address"], int(end["qpn"])) for end in (c["a"], c["b"])}
                 for c in report["connections"]]
        self.assertCountEqual(found, [set(ends(c)) for c in that_carried_data(nodes)])
        for connection in report["connections"]:
            self.assertEqual(connection["state"], "STATE_PAIRED")
            self.assertGreater(connection["confidence"], 0.9)

    def test_the_fixtures_clear_to_send_grants_what_the_next_write_uses(self):
        """QP 39 of node 0 and QP 46 of its peer, according to the issue."""
        pair = next(c for c in reported((0,), ())["connections"]
                    if {int(c["a"]["qpn"]), int(c["b"]["qpn"])} == {39, 46})
        self.assertIn("KIND_RETH_ECHO", [evidence["kind"] for evidence in pair["evidence"]])

    def test_without_logs_there_is_no_rank_and_a_job_by_the_wire_alone(self):
        for nodes in SUBSETS:
            report = reported(nodes, ())
            job, = report["jobs"]
            self.assertTrue(job["job_id"].startswith("wire-"))
            self.assertEqual({rank.get("rank") for rank in job["ranks"]}, {None})
            for connection in report["connections"]:
                self.assertEqual(("rank" in connection["a"], "rank" in connection["b"]), (False, False))

    def test_logs_without_queue_pairs_give_the_same_ranks_and_one_job(self):
        """NCCL writes the lines that are removed here only with NCCL_DEBUG_SUBSYS=INIT,NET."""
        with tempfile.TemporaryDirectory() as folder:
            for node in NODES:
                lines = log(node).read_text().splitlines(keepends=True)
                kept = [line for line in lines if "NET/IB: " not in line and "New proxy" not in line]
                self.assertLess(len(kept), len(lines))
                pathlib.Path(folder, log(node).name).write_text("".join(kept))
            report = command.report(*map(capture, NODES), "--nccl-logs",
                                    *(pathlib.Path(folder, log(node).name) for node in NODES))
        found = [{(end["address"], int(end["qpn"])): end.get("rank") for end in (c["a"], c["b"])}
                 for c in report["connections"]]
        self.assertCountEqual(found, [ends(c) for c in that_carried_data(NODES)])
        job, = report["jobs"]
        self.assertEqual(job["job_id"], "nccl-faa2a2b8f05d5e5")
        self.assertCountEqual([(e["source_rank"], e["destination_rank"]) for e in job["edges"]],
                              [(c.source, c.destination) for c in that_carried_data(NODES)])

    def test_ranks_are_those_of_the_logs_given(self):
        for nodes in SUBSETS:
            ranks = reported(nodes, nodes)["jobs"][0]["ranks"]
            found = [(r.get("rank"), r["host"], int(r["process_id"]), r["addresses"]) for r in ranks]
            self.assertEqual(found, [(log.rank, log.host, log.process_id, [log.address])
                                     for rank, log in sorted(stated().items())
                                     if log.host in {f"node{node}" for node in nodes}])

    def test_a_ranks_queue_pairs_tell_whom_they_serve(self):
        for nodes in SUBSETS:
            for rank in reported(nodes, NODES)["jobs"][0]["ranks"]:
                found = [(qp["qpn"], qp.get("peer_rank")) for qp in rank["queue_pairs"] if qp["seen"]]
                expected = ([(c.source_qpn, c.destination) for c in that_carried_data(nodes)
                             if c.source == rank.get("rank")] +
                            [(c.destination_qpn, c.source) for c in that_carried_data(nodes)
                             if c.destination == rank.get("rank")])
                self.assertCountEqual(found, expected, (nodes, rank.get("rank")))

    @each(all_logs, logs_of_the_captured, no_logs)
    def test_the_ledger_balances_over_all_frames(self, nodes, report):
        ledger = report["ledger"]
        received, decoded, filtered = integers(ledger, "received", "decoded", "filtered")
        dropped = sum(int(row["count"]) for row in ledger["dropped"])
        self.assertEqual(received, decoded + filtered + dropped)
        self.assertEqual(decoded, sum(len(tshark_count.packets(capture(node)))
                                      for node in nodes))
        self.assertEqual(sum(int(tap["frames"]) for tap in report["taps"]), decoded)
        self.assertEqual({tap["name"] for tap in report["taps"]},
                         {f"tree2_node{node}" for node in nodes})


if __name__ == "__main__":
    command.rocescope = sys.argv.pop(1)
    command.skip_unless(command.NCCL_TREE.is_dir(), f"{command.NCCL_TREE} is not there")
    command.skip_unless(shutil.which("tshark"), "tshark is not installed")
    unittest.main()
