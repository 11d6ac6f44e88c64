#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""End-to-end tests of `rocescope history` and `rocescope support-bundle`.

usage: history_test.py PATH/rocescope
"""

import contextlib
import json
import pathlib
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from running_appliance import hear

ROCESCOPE = None
SUCCESS, PARTIAL, USAGE, UNREADABLE, OUTPUT = range(5)
DIGEST = "0123456789abcdef" * 4
# Files of a complete bundle.
PARTS = {"manifest.txt", "version.txt", "system.txt", "configuration.yaml", "files.txt", "health.json",
         "problems.json", "sources.json", "findings.json", "metrics.txt"}


class OnCall(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.config = self.folder / "appliance.yaml"
        self.write()

    def write(self, http='"127.0.0.1:0"', more=""):
        self.config.write_text('udp: {sflow: ["127.0.0.1:0"]}\n'
                               f"http: {http}\n"
                               'grpc: {listen: ["127.0.0.1:0"]}\n'
                               "history: {file: history.db}\n"
                               f"jobs: {{file: jobs.db}}\n{more}")

    def run_it(self, *words, expect=SUCCESS):
        run = subprocess.run([ROCESCOPE, *map(str, words)], capture_output=True, text=True,
                             timeout=60)
        self.assertEqual(run.returncode, expect, f"{words}\n{run.stdout}\n{run.stderr}")
        return run

    @contextlib.contextmanager
    def appliance(self):
        """Yields the addresses by the names in the log."""
        with subprocess.Popen([ROCESCOPE, "run", self.config], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            try:
                heard = hear(self, run, "gRPC on")
                yield dict(re.findall(r"(dashboard|gRPC) .*?(\d+\.[\d.]+:\d+)", heard))
                run.send_signal(signal.SIGTERM)
                _, err = run.communicate(timeout=50)
                self.assertEqual(run.returncode, 0, err)
            finally:
                run.kill()

    def history(self, command, *words, **options):
        config = [] if command == "info" else ["--config", self.config]
        return self.run_it("history", command, *words, *config, **options)

    def events(self, name):
        with contextlib.closing(sqlite3.connect(self.folder / name)) as database:
            return [row[0] for row in database.execute("SELECT place FROM events ORDER BY id")]

    def add_event(self, place):
        with contextlib.closing(sqlite3.connect(self.folder / "history.db")) as database, database:
            database.execute("INSERT INTO events (at_ns, kind, place, message) "
                             "VALUES (?, 'fault_started', ?, x'')", (time.time_ns(), place))

    def test_a_history_is_backed_up_and_restored(self):
        backup = self.folder / "backup.db"
        with self.appliance():
            self.add_event("before")
            done = self.history("backup", "--output", backup)
            self.assertIn("checked", done.stdout)
            self.assertEqual(self.events("backup.db"), ["before"])
            self.assertEqual(stat.S_IMODE(backup.stat().st_mode), 0o600)
            self.add_event("after")
            refused = self.history("backup", "--output", backup, expect=USAGE)
            self.assertIn("exists and is not replaced", refused.stderr)
            running = self.history("restore", backup, expect=UNREADABLE)
            self.assertIn("another rocescope process uses the file", running.stderr)
            info = self.history("info", self.folder / "history.db").stdout
            self.assertRegex(info, r"events +2")
            self.assertRegex(info, r"Time: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC to \d{4}-")
            self.assertIn("Schema: 2 (", info)
        restored = self.history("restore", backup).stdout
        replaced = re.search(r"The previous file is (\S+)\. ", restored)[1]
        self.assertEqual(self.events(replaced), ["before", "after"])
        self.assertEqual(self.events("history.db"), ["before"])
        with self.appliance():
            pass
        self.assertEqual(self.events("history.db"), ["before"])

    def test_jobs_are_backed_up_and_restored(self):
        def register(job, at):
            self.run_it("job", "register", job, "--nodes", "gpu-1", "--appliance", at["gRPC"])

        def jobs(at):
            listed = self.run_it("job", "list", "-o", "json", "--appliance", at["gRPC"]).stdout
            return [job["scheduler_job_id"] for job in json.loads(listed)["registered_jobs"]]

        backup = self.folder / "backup.db"
        with self.appliance() as at:
            register("7", at)
            self.history("backup", "--jobs", "--output", backup)
            register("8", at)
            self.assertEqual(jobs(at), ["7", "8"])
        self.history("restore", "--jobs", backup)
        with self.appliance() as at:
            self.assertEqual(jobs(at), ["7"])
        wrong = self.history("restore", backup, expect=UNREADABLE)
        self.assertIn("not a history file of rocescope", wrong.stderr)

    def test_a_configuration_without_a_history_is_an_error(self):
        self.config.write_text('udp: {sflow: ["127.0.0.1:0"]}\n')
        for words in (["backup", "--output", self.folder / "x"], ["restore", self.folder / "x"]):
            done = self.history(*words, expect=UNREADABLE)
            self.assertIn("key `history.file` is not set", done.stderr)
        missing = self.history("info", self.folder / "x", expect=UNREADABLE)
        self.assertIn("does not exist", missing.stderr)

    def bundle(self, *words, expect=SUCCESS):
        """Returns the output of the command and the files of the archive."""
        output = self.folder / "support.tar.gz"
        done = self.run_it("support-bundle", "--config", self.config, "--output", output, *words,
                           expect=expect)
        self.assertEqual(stat.S_IMODE(output.stat().st_mode), 0o600)
        with tarfile.open(output, "r:gz") as archive:
            members = archive.getmembers()
            folder, = {member.name.split("/")[0] for member in members}
            self.assertRegex(folder, r"^rocescope-support-\d{4}-\d\d-\d\dT\d{6}$")
            files = {member.name.split("/", 1)[1]: archive.extractfile(member).read().decode()
                     for member in members}
        listed = subprocess.run(["tar", "tzf", output], capture_output=True, text=True, check=True)
        self.assertEqual(len(listed.stdout.splitlines()), len(files))
        output.unlink()
        return done, files

    def test_a_bundle_has_what_a_running_appliance_answers(self):
        with self.appliance() as at:
            done, files = self.bundle("--appliance", f"http://{at['dashboard']}/")
        # Without a topology, there are no findings.
        self.assertEqual(set(files), PARTS - {"findings.json"})
        for name, text in files.items():
            if name.endswith(".json"):
                json.loads(text)
            if name != "manifest.txt":
                self.assertIn(f"  {name}: ", files["manifest.txt"])
                self.assertIn(f"  {name} ", done.stdout)
        self.assertEqual(json.loads(files["health.json"])["state"], "STATE_WAITING")
        self.assertRegex(files["metrics.txt"], r"(?m)^rocescope_")
        self.assertIn("history.db-wal: ", files["files.txt"])
        self.assertIn("names of hosts, switches, jobs", done.stdout)
        self.assertIn("journalctl -u rocescope", done.stdout)

    def test_a_bundle_without_an_appliance_says_what_is_missing(self):
        self.write(http='"127.0.0.1:9"')  # nobody listens on the discard port
        done, files = self.bundle(expect=PARTIAL)
        self.assertEqual(set(files), {name for name in PARTS if not name.endswith(".json")} -
                         {"metrics.txt"})
        self.assertIn("missing: health.json: http://127.0.0.1:9/: ", done.stderr)
        self.assertIn("Missing:\n  health.json: http://127.0.0.1:9/: ", files["manifest.txt"])

    def test_a_bundle_has_no_secrets(self):
        scrape = ('scrape: {targets: [{url: "http://secret-user:secret-word@127.0.0.1:9/metrics'
                  '?token=secret-query"}]}\n')
        for http, more in ((f'{{listen: "127.0.0.1:9", tokens: ["{DIGEST}"]}}', scrape),
                           ('{listen: "127.0.0.1:9", certificate: c.pem, key: secret-key.pem, '
                            'client_ca: ca.pem}', "")):
            self.write(http, more)
            done, files = self.bundle("--appliance", "http://127.0.0.1:9/", expect=PARTIAL)
            everything = done.stdout + done.stderr + "".join(files.values())
            for secret in (DIGEST, "secret-user", "secret-word", "secret-query", "secret-key"):
                self.assertNotIn(secret, everything)
            self.assertIn("(removed)", files["configuration.yaml"])

    def test_answers_about_an_exporter_have_no_secret_of_its_url(self):
        self.write(more='scrape: {targets: [{url: "http://127.0.0.1:9/metrics?token=secret-query", '
                        'period: 100ms}]}\n')
        with self.appliance() as at:
            page = f"http://{at['dashboard']}/"
            for _ in range(100):
                if "token=secret-query" in self.run_it("healthcheck", page).stdout:
                    break
            else:
                self.fail("the health does not name the exporter")
            _, files = self.bundle("--appliance", page)
        self.assertIn("http://127.0.0.1:9/metrics?(removed)", files["health.json"])
        self.assertNotIn("secret-query", "".join(files.values()))

    def test_a_bundle_replaces_nothing(self):
        output = self.folder / "support.tar.gz"
        output.write_text("mine")
        done = self.run_it("support-bundle", "--config", self.config, "--output", output,
                           expect=USAGE)
        self.assertIn("exists and is not replaced", done.stderr)
        self.assertEqual(output.read_text(), "mine")
        self.run_it("support-bundle", "--output", self.folder / "none" / "x", expect=OUTPUT)


if __name__ == "__main__":
    ROCESCOPE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
