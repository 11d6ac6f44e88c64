#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A simulated run, played as it happens to a box that receives by DPDK, UDP and scraping: all of it
arrives, and the fault is told while it lasts.

usage: live_test.py PATH/rocescope-sim PATH/rocescope SCENARIO PLAY [UNITTEST ARGUMENT...]
"""

import json
import signal
import sys
import time
import unittest
import urllib.request

import played_run
from played_run import FAULT, SECONDS


class Live(played_run.PlayedRun):
    def ask(self, path):
        with urllib.request.urlopen(f"{self.page}api/v1/{path}", timeout=20) as answer:
            return json.load(answer)

    def frames(self):
        """In the mirror's capture: its records have 16 octets before the frame."""
        capture = (self.run_folder / "mirror.pcap").read_bytes()
        count, at = 0, 24
        while at < len(capture):
            at += 16 + int.from_bytes(capture[at + 8:at + 12], "little")
            count += 1
        return count

    def test_all_of_it_arrives_and_the_fault_is_told_while_it_lasts(self):
        time.sleep(self.epoch + SECONDS + 3 - time.time())
        sources = {source["kind"]: source for source in self.ask("sources")["sources"]}
        self.assertEqual(int(sources["dpdk"]["ledger"]["decoded"]), self.frames())
        self.assertGreater(int(sources["udp"]["ledger"]["decoded"]), 0)
        self.assertGreater(int(sources["scrape"]["ledger"]["decoded"]), 0)
        self.assertEqual({load["source"] for load in self.ask("links")["loads"]}, {"counters"})
        names = {job["allocation"]["name"] for job in self.ask("jobs")["jobs"] if "allocation" in job}
        self.assertLessEqual({"pretrain", "finetune"}, names)
        self.box.send_signal(signal.SIGTERM)
        told, _ = self.box.communicate(timeout=50)
        truth = json.loads((self.run_folder / "truth.json").read_text())["faults"][0]
        events = [json.loads(line) for line in told.splitlines()]
        begun = [event for event in events if event["kind"] == "fault_begun" and
                 (event["finding"]["kind"], event["finding"]["place"]) ==
                 (truth["kind"], truth["place"])]
        self.assertTrue(begun, told)
        self.assertLess(int(begun[0]["at_ns"]) / 1e9, self.epoch + FAULT[1])


if __name__ == "__main__":
    words = sys.argv[1:]
    Live.take_programs(words)
    unittest.main(argv=sys.argv[:1] + words)
