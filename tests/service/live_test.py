#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plays a simulated run in real time to an appliance that receives by DPDK, UDP, scraping and agents.
Checks that all telemetry arrives, that the fault is reported while it lasts, and that gRPC and HTTP
agree.

usage: live_test.py PATH/rocescope-sim PATH/rocescope SCENARIO PLAY WHEEL [UNITTEST ARGUMENT...]
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

import played_run
from played_run import FAULT, SECONDS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import nanoseconds  # noqa: E402


class Live(played_run.PlayedRun):
    def ask(self, path):
        with urllib.request.urlopen(f"{self.page}api/v1/{path}", timeout=20) as answer:
            return json.load(answer)

    def frames(self):
        """Returns the number of frames in the mirror capture; a record header has 16 bytes."""
        capture = (self.run_folder / "mirror.pcap").read_bytes()
        count, at = 0, 24
        while at < len(capture):
            at += 16 + int.from_bytes(capture[at + 8:at + 12], "little")
            count += 1
        return count

    def hot_link_over_grpc(self):
        """Returns the ports of hotspots, and the kinds and places of findings."""
        import grpc
        from rocescope.v1 import service_pb2, service_pb2_grpc
        with grpc.insecure_channel(self.grpc) as channel:
            fabric = service_pb2_grpc.FabricStub(channel)
            diagnosis = service_pb2_grpc.DiagnosisStub(channel)
            spots = fabric.ListHotspots(service_pb2.ListHotspotsRequest(), timeout=10).hotspots
            found = diagnosis.ListFindings(service_pb2.ListFindingsRequest(), timeout=10).findings
            return ([spot.port for spot in spots], {(one.kind, one.place) for one in found})

    def check_metrics_with_promtool(self):
        """Checks the metrics of an appliance with data of all kinds."""
        with urllib.request.urlopen(f"{self.page}metrics", timeout=20) as answer:
            metrics = answer.read().decode()
        for said in ("link_utilization_ratio{", "link_transmitted_bytes_total{", "job_ranks{", "findings ", "agents{", "history_file_bytes ",
                     'source_up{source="dpdk'):
            self.assertIn("\nrocescope_" + said, metrics)
        if shutil.which("promtool"):
            said = subprocess.run(["promtool", "check", "metrics"], input=metrics, text=True,
                                  capture_output=True, timeout=50)
            self.assertEqual((said.returncode, said.stdout + said.stderr), (0, ""))

    def test_all_telemetry_arrives_and_the_fault_is_reported_while_it_lasts(self):
        time.sleep(self.epoch + SECONDS + 3 - time.time())
        truth = json.loads((self.run_folder / "truth.json").read_text())["faults"][0]
        for _ in range(5):  # a new snapshot may be published in between
            hotspots, findings = self.hot_link_over_grpc()
            over_http = ([one["port"] for one in self.ask("hotspots")["hotspots"]],
                         {(one["kind"], one["place"]) for one in self.ask("findings")["findings"]})
            if (hotspots, findings) == over_http:
                break
        self.assertEqual((hotspots, findings), over_http)
        self.assertIn((truth["kind"], truth["place"]), findings)
        self.assertTrue(hotspots)
        sources = {source["kind"]: source for source in self.ask("sources")["sources"]}
        self.assertEqual(int(sources["KIND_DPDK"]["ledger"]["decoded"]), self.frames())
        self.assertGreater(int(sources["KIND_UDP"]["ledger"]["decoded"]), 0)
        self.assertGreater(int(sources["KIND_SCRAPE"]["ledger"]["decoded"]), 0)
        agents = {agent["host"]: agent for agent in sources["KIND_AGENTS"]["agents"]}
        self.assertEqual(set(agents), {f"host{i}" for i in range(9)})
        self.assertTrue(all(int(agent["log_lines"]) > 0 for agent in agents.values()), agents)
        self.assertEqual({load["source"] for load in self.ask("links")["link_loads"]}, {"SOURCE_COUNTERS"})
        names = {job["allocation"]["name"] for job in self.ask("jobs")["jobs"] if "allocation" in job}
        self.assertLessEqual({"pretrain", "finetune"}, names)
        past = {(event["finding"]["kind"], event["finding"]["place"])
                for event in self.ask("history/events")["events"] if event["kind"] == "KIND_FAULT_STARTED"}
        self.assertIn((truth["kind"], truth["place"]), past)
        self.check_metrics_with_promtool()
        self.appliance.send_signal(signal.SIGTERM)
        told, _ = self.appliance.communicate(timeout=50)
        events = [json.loads(line) for line in told.splitlines()]
        begun = [event for event in events if event["kind"] == "KIND_FAULT_STARTED" and
                 (event["finding"]["kind"], event["finding"]["place"]) ==
                 (truth["kind"], truth["place"])]
        self.assertTrue(begun, told)
        self.assertLess(nanoseconds(begun[0]["event_time"]) / 1e9, self.epoch + FAULT[1])


if __name__ == "__main__":
    words = sys.argv[1:]
    Live.take_programs(words)
    sys.path.insert(0, words.pop(0))
    unittest.main(argv=sys.argv[:1] + words)
