# SPDX-License-Identifier: BSD-3-Clause
"""A scheduler that registers and ends jobs, and remembers what the appliance has acknowledged."""

import json
import random
import threading


class Scheduler:
    """The state of each job that the appliance must know. A request without an answer may or may not
    have been executed."""

    def __init__(self, seed=1):
        self.chance = random.Random(seed)
        self.running = set()  # registration acknowledged as durable
        self.ended = set()  # end acknowledged as durable
        self.last = 0
        self.acknowledged = self.unanswered = self.refused = self.not_durable = 0
        self.lock = threading.Lock()

    def request(self, appliance, seconds=5):
        """Registers a job or ends one. Returns whether the appliance acknowledged it durably."""
        with self.lock:
            running = len(self.running)
            ends = running > 20 or (running > 0 and self.chance.random() < 0.3)
            if ends:
                job = self.chance.choice(sorted(self.running))
                self.running.discard(job)  # until the answer, both states are valid
            else:
                self.last += 1
                job = self.last
        words = ("end", job) if ends else ("register", job, "--nodes", f"host{job % 8}")
        done = appliance.job(*words, seconds=seconds)
        with self.lock:
            if done.returncode == 0 and not done.stderr:
                (self.ended if ends else self.running).add(job)
                self.acknowledged += 1
                return True
            if done.returncode == 3:
                self.unanswered += 1
            elif done.returncode == 0:
                self.not_durable += 1
            else:
                self.refused += 1
            return False

    def lost(self, appliance):
        """Sentences about acknowledged changes that the appliance does not know."""
        listed = appliance.job("list", "-o", "json")
        if listed.returncode != 0:
            return [f"job list: exit code {listed.returncode}: {listed.stderr}"]
        jobs = {int(one["scheduler_job_id"]): one["ended"]
                for one in json.loads(listed.stdout)["registered_jobs"]}
        with self.lock:
            return ([f"job {one} is unknown" for one in sorted(self.running - set(jobs))] +
                    [f"job {one} is marked as ended" for one in sorted(self.running)
                     if jobs.get(one)] +
                    [f"job {one} runs again" for one in sorted(self.ended)
                     if jobs.get(one) is False])


class Requests(threading.Thread):
    """Sends requests until the appliance does not answer, or until `finish`."""

    def __init__(self, scheduler, appliance, seconds=5):
        super().__init__(daemon=True)
        self.scheduler, self.appliance, self.seconds = scheduler, appliance, seconds
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.is_set() and self.appliance.process.poll() is None:
            self.scheduler.request(self.appliance, self.seconds)

    def finish(self):
        self.stopped.set()
        self.join()
