#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""End-to-end tests of `rocescope run` and the commands for a running appliance.

usage: run_test.py PATH/rocescope
"""

import contextlib
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

from running_appliance import hear

ROCESCOPE = None
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "testbeds/appliance.yaml"
# Version 5, agent 192.0.2.1, no samples.
SFLOW = bytes([0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 1]) + bytes(7) + b"\x09" + bytes(8)


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def config(self, text, name="appliance.yaml"):
        path = pathlib.Path(self.folder.name, name)
        path.write_text(text)
        return path

    @contextlib.contextmanager
    def appliance(self, text, environment=None):
        """Runs an appliance with this configuration on ephemeral ports. Yields the process and
        its addresses, by the names in its log."""
        path = self.config(text + 'http: "127.0.0.1:0"\ngrpc: {listen: ["127.0.0.1:0"]}\n')
        with subprocess.Popen([ROCESCOPE, "run", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **(environment or {})}) as run:
            try:
                heard = hear(self, run, "gRPC on")
                yield run, dict(re.findall(r"(sFlow|dashboard|gRPC) .*?(\d+\.[\d.]+:\d+)", heard))
            finally:
                run.kill()

    def end(self, run):
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=50)
        self.assertEqual(run.returncode, 0, err)
        return out, err

    def done(self, *words):
        return subprocess.run([ROCESCOPE, *words], capture_output=True, text=True, timeout=50)

    def test_the_samples_are_well(self):
        repository = SAMPLE.parents[1]
        for sample in (SAMPLE, SAMPLE.with_name("snmp.yaml"), repository / "docker/appliance.yaml"):
            checked = self.done("config", "check", sample)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""), sample)

    def test_what_is_dumped_can_be_read(self):
        for words in ([], [SAMPLE]):
            dumped = self.done("config", "dump", *words)
            self.assertEqual(dumped.returncode, 0)
            again = self.done("config", "dump", self.config(dumped.stdout))
            self.assertEqual(again.stdout, dumped.stdout)

    def test_a_mistake_has_its_place(self):
        path = self.config("udp:\n  sflo: []\n")
        for command in (["config", "check"], ["config", "dump"], ["run"]):
            checked = self.done(*command, path)
            self.assertEqual(checked.returncode, 3)
            self.assertIn(f'{path}:2:3: unknown key "sflo" of udp; did you mean "sflow"?',
                          checked.stderr)

    def test_the_check_refuses_what_the_run_would(self):
        for url in ("https://h/", "http:///x", "http://h:/"):
            path = self.config(f'scrape: {{targets: [{{url: "{url}"}}]}}\n'
                               'http: none\ngrpc: {listen: []}\n')
            for words in (["config", "check"], ["run"]):
                refused = self.done(*words, path)
                self.assertEqual(refused.returncode, 3, words)
                self.assertIn(f'invalid URL "{url}"', refused.stderr)

    def test_the_check_refuses_what_collides(self):
        for text, what in (
                ("jobs: {file: a.db}\nhistory: {file: ./a.db}\n",
                 "`jobs.file` and `history.file` name the same file"),
                ("jobs: {file: a.db}\nfindings: {file: ./a.db}\n",
                 "`findings.file` and `jobs.file` name the same file"),
                ("jobs: {require_durable: true}\n", "`jobs.require_durable` requires `jobs.file`"),
                ("http: 127.0.0.1:50051\n",
                 "`http.listen` (127.0.0.1:50051) and `grpc.listen` (127.0.0.1:50051)")):
            checked = self.done("config", "check", self.config(text))
            self.assertEqual(checked.returncode, 3)
            self.assertIn(what, checked.stderr)

    def test_files_that_are_none_are_left_as_they_are(self):
        pipe = pathlib.Path(self.folder.name, "pipe")
        os.mkfifo(pipe)
        folder = pathlib.Path(self.folder.name, "folder")
        folder.mkdir()
        for key in ("jobs", "findings", "history"):
            for path in (pipe, folder):
                run = self.done("run", self.config(
                    f'udp: {{sflow: ["127.0.0.1:0"]}}\nhttp: none\ngrpc: {{listen: []}}\n'
                    f'{key}: {{file: {path}}}\n'))
                self.assertEqual(run.returncode, 3)
                self.assertIn(f"(key `{key}.file`)", run.stderr)
                self.assertFalse(pathlib.Path(f"{path}.lock").exists())
        self.assertTrue(pipe.is_fifo() and folder.is_dir())
        for key in ("topology: pipe", "host_files: {nccl_logs: [pipe]}"):
            run = self.done("run", self.config(f'udp: {{sflow: ["127.0.0.1:0"]}}\n{key}\n'))
            self.assertEqual(run.returncode, 3)
            self.assertIn("pipe: not a regular file", run.stderr)

    def test_without_a_source_there_is_nothing_to_run(self):
        run = self.done("run", self.config("analysis_window: 1s\nhttp: none\n"))
        self.assertEqual(run.returncode, 3)
        self.assertIn("no sources are configured", run.stderr)

    def test_an_interface_that_is_not_there_is_told(self):
        run = self.done("run", self.config("interfaces: [{name: nosuch0}]\n"))
        self.assertEqual(run.returncode, 3)
        self.assertIn("interface nosuch0: ", run.stderr)

    def test_receives_until_a_signal_and_accounts_for_all(self):
        with self.appliance('analysis_window: 100ms\nudp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            host, port = at["sFlow"].split(":")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for datagram in (SFLOW, SFLOW, b"no sFlow"):
                    sender.sendto(datagram, (host, int(port)))
            out, err = self.end(run)
        self.assertEqual(out, "")
        self.assertIn("udp: received 3 = decoded 2 + filtered 0 + dropped 1; 0 missed", err)

    # The messages are those of sd_notify(3).
    def test_tells_the_service_manager_how_it_is(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind("")  # the kernel chooses an abstract name
            manager.settimeout(20)
            name = "@" + manager.getsockname()[1:].decode()
            heard = []

            def until(word):
                while not (heard and heard[-1].startswith(word)):
                    heard.append(manager.recv(1000).decode())

            with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n',
                          {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1500000"}) as (run, _):
                until("READY=1")
                for _ in range(3):
                    heard.append("")
                    until("WATCHDOG=1")
                run.send_signal(signal.SIGHUP)
                until("RELOADING=1")
                until("READY=1")
                _, err = self.end(run)
                until("STOPPING=1")
        self.assertIn("host_files were reloaded", err)

    def test_a_reload_reads_host_files_and_keeps_what_is_broken_out(self):
        slurm = self.config('{"jobs": []}', "slurm.json")
        text = 'udp: {sflow: ["127.0.0.1:0"]}\nhost_files: {slurm: [slurm.json]}\n'
        with self.appliance(text) as (run, at):
            def reload():
                run.send_signal(signal.SIGHUP)
                return run.stderr.readline() + run.stderr.readline()
            slurm.unlink()
            self.assertIn("the previous contents stay in effect", reload())
            slurm.write_text('{"jobs": []}')
            appliance = self.config("", "appliance.yaml")
            appliance.write_text("nonsense: 1\n")
            self.assertIn("reload failed: ", reload())
            health = json.load(urllib.request.urlopen(f"http://{at['dashboard']}/api/v1/health",
                                                      timeout=20))
            self.assertEqual(health["state"], "STATE_DEGRADED")
            self.assertIn("the last reload failed", health["problems"][0])
            slurm.unlink()
            os.mkfifo(slurm)
            appliance.write_text(text)
            self.assertIn("slurm.json: not a regular file", reload())
            slurm.unlink()
            slurm.write_text('{"jobs": []}')
            appliance.write_text("analysis_window: 2s\n")
            run.send_signal(signal.SIGHUP)
            self.assertIn("the configuration has changed and needs a restart",
                          run.stderr.readline())
            self.end(run)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_gives_its_rights_up(self):
        # The configuration is read and sockets are opened before.
        with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\nuser: nobody\n') as (run, at):
            status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
            nobody = str(pwd.getpwnam("nobody").pw_uid)
            self.assertEqual(re.search(r"Uid:\s(.*)", status).group(1).split(), [nobody] * 4)
            self.assertIn("CapEff:\t0000000000000000", status)
            for task in pathlib.Path(f"/proc/{run.pid}/task").iterdir():
                self.assertIn("CapEff:\t0000000000000000", (task / "status").read_text())
            with urllib.request.urlopen(f"http://{at['dashboard']}/api/v1/health", timeout=20) as page:
                self.assertEqual(page.status, 200)
            self.end(run)
        run = self.done("run", self.config("user: no-such-user\nudp: {}\n"))
        self.assertEqual(run.returncode, 3)

    def test_serves_the_page_the_api_and_metrics(self):
        with self.appliance('analysis_window: 100ms\nudp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            root = f"http://{at['dashboard']}"
            with urllib.request.urlopen(f"{root}/", timeout=20) as page:
                self.assertIn("rocescope", page.read().decode())
                self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
            with urllib.request.urlopen(f"{root}/api/v1/sources", timeout=20) as answer:
                source, = json.load(answer)["sources"]
                self.assertEqual(source["listen_addresses"], [at["sFlow"]])
            with urllib.request.urlopen(f"{root}/metrics", timeout=20) as answer:
                metrics = answer.read().decode()
            self.assertIn('rocescope_source_up{source="udp",kind="udp"} 1', metrics)
            if shutil.which("promtool"):
                said = subprocess.run(["promtool", "check", "metrics"], input=metrics, text=True,
                                      capture_output=True, timeout=50)
                self.assertEqual((said.returncode, said.stdout + said.stderr), (0, ""))
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(
                    f"{root}/", headers={"Host": "evil.example"}), timeout=20)
            self.assertEqual(refused.exception.code, 421)
            refused.exception.close()
            self.end(run)

    def test_says_how_it_is(self):
        with self.appliance('analysis_window: 100ms\nudp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            health = self.done("healthcheck", f"http://{at['dashboard']}/")
            self.assertEqual(health.returncode, 0)
            self.assertEqual(health.stdout, "WAITING\n")
            host, port = at["sFlow"].split(":")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(SFLOW, (host, int(port)))
            for _ in range(100):
                health = self.done("healthcheck", f"http://{at['dashboard']}/")
                if health.stdout != "WAITING\n":
                    break
                time.sleep(0.1)
            self.assertEqual((health.returncode, health.stdout), (0, "SERVING\n"))
            self.end(run)
        gone = self.done("healthcheck", f"http://{at['dashboard']}/")
        self.assertEqual((gone.returncode, gone.stdout), (3, ""))
        self.assertIn("Connection refused", gone.stderr)

    def test_what_another_program_says_is_no_state(self):
        body = b'{"state": "EVIL", "problems": ["pay us"]}'
        with socket.create_server(("127.0.0.1", 0)) as server:
            def answer():
                with server.accept()[0] as one:
                    one.recv(4096)
                    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            other = threading.Thread(target=answer)
            other.start()
            health = self.done("healthcheck", f"http://127.0.0.1:{server.getsockname()[1]}/")
            other.join()
        self.assertEqual((health.returncode, health.stdout), (3, ""))
        self.assertIn("the server is not rocescope", health.stderr)
        wrong = self.done("healthcheck", "http://127.0.0.1:99999/")
        self.assertEqual((wrong.returncode, wrong.stdout), (3, ""))
        self.assertIn("ports are from 1 to 65535", wrong.stderr)

    def test_the_doctor_has_a_remedy(self):
        with self.appliance('analysis_window: 100ms\nudp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            host, port = at["sFlow"].split(":")
            page = f"http://{at['dashboard']}/"
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for _ in range(60):  # all with the same sequence number
                    sender.sendto(SFLOW, (host, int(port)))
            for _ in range(100):
                doctor = self.done("doctor", page)
                if "sFlow agent" in doctor.stdout and "topology: " in doctor.stdout:
                    break
                time.sleep(0.1)
            self.assertEqual(doctor.returncode, 1, doctor.stderr)
            self.assertIn("topology: the configuration names no topology", doctor.stdout)
            self.assertIn("sFlow agent 192.0.2.1: all datagrams have the same sequence number",
                          doctor.stdout)
            self.assertEqual(doctor.stdout.count("Action: "), 2)
            self.assertIn("[no_topology]", doctor.stdout)
            self.assertIn("docs/problems.md", doctor.stdout)
            self.end(run)
        gone = self.done("doctor", page)
        self.assertEqual((gone.returncode, gone.stdout), (3, ""))

    def test_jobs_are_registered_ended_and_listed(self):
        with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            appliance = ["--appliance", at["gRPC"], "--timeout", "20s"]
            registered = self.done("job", "register", "7", "--nodes", "gpu-[1-2]", "--nodes",
                                   "gpu-3:0-1,3", "--name", "pre train", "--user", "ada", "--start",
                                   "1700000000", *appliance)
            self.assertEqual((registered.returncode, registered.stdout), (0, ""))
            self.assertIn("job 7 is lost if the appliance restarts: the configuration of the "
                          "appliance has no `jobs.file`", registered.stderr)
            listed = self.done("job", "list", *appliance)
            self.assertIn("7  pre train  ada   running  2023-11-14 22:13:20.000", listed.stdout)
            self.assertIn("gpu-[1-2] gpu-3:0-1,3", listed.stdout)
            self.assertEqual(self.done("job", "end", "7", "--at", "1700000060", *appliance).returncode, 0)
            self.assertEqual(self.done("job", "list", *appliance).stdout, "No jobs are registered.\n")
            job, = json.loads(self.done("job", "list", "--ended", "-o", "json", *appliance).stdout)["registered_jobs"]
            self.assertEqual((job["scheduler_job_id"], job["ended"], job["end_time"]),
                             ("7", True, "2023-11-14T22:14:20Z"))
            self.assertEqual([node["node"] for node in job["nodes"]], ["gpu-1", "gpu-2", "gpu-3"])
            self.assertEqual(job["nodes"][2]["gpu_indexes"], [0, 1, 3])
            shown = self.done("job", "show", "7", *appliance)
            self.assertIn("no packets of this job were observed", shown.stdout)
            shown = json.loads(self.done("job", "show", "7", "-o", "json", *appliance).stdout)
            self.assertEqual(shown["registered_job"], job)
            for words in (["end", "8"], ["show", "8"]):
                refused = self.done("job", *words, *appliance)
                self.assertEqual((refused.returncode, refused.stdout), (1, ""))
                self.assertIn("job 8 is not registered", refused.stderr)
            self.end(run)
        gone = self.done("job", "list", *appliance)
        self.assertEqual((gone.returncode, gone.stdout), (3, ""))
        self.assertIn(at["gRPC"], gone.stderr)

    def test_findings_are_muted_and_the_mute_survives_a_restart(self):
        text = f'udp: {{sflow: ["127.0.0.1:0"]}}\nfindings: {{file: "{self.folder.name}/findings.db"}}\n'
        with self.appliance(text) as (run, at):
            appliance = ["--appliance", at["gRPC"], "--timeout", "20s"]
            muted = self.done("finding", "mute", "flap", "leaf1:3-spine0:1", "--for", "2h", "--comment", "new cable",
                              *appliance)
            self.assertEqual(muted.returncode, 0, muted.stderr)
            self.assertRegex(muted.stdout, r"^flap at leaf1:3-spine0:1: muted by local until \d{4}-")
            self.assertIn("matches no current finding", muted.stderr)
            self.assertNotIn("is lost", muted.stderr)
            self.assertIn('INFO findings: local muted flap at leaf1:3-spine0:1 until', run.stderr.readline())
            status, answer = self.post(at, "mute", {"kind": "flap", "place": "leaf2", "duration": "60s"})
            self.assertEqual((status, answer["durable"], answer["finding_count"]), (200, True, 0))
            for headers, status in (({"Content-Type": "text/plain"}, 415), ({"Origin": "http://evil.example"}, 403)):
                self.assertEqual(self.post(at, "mute", {"kind": "flap", "place": "leaf3"}, headers)[0], status)
            for words in (["acknowledge", "flap", "leaf1:3-spine0:1"], ["unmute", "flap", "leaf9"]):
                refused = self.done("finding", *words, *appliance)
                self.assertEqual((refused.returncode, refused.stdout), (1, ""), words)
            self.end(run)
        with self.appliance(text) as (run, at):
            appliance = ["--appliance", at["gRPC"], "--timeout", "20s"]
            mutes = json.loads(self.done("finding", "list", "-o", "json", *appliance).stdout)["mutes"]["mutes"]
            self.assertEqual({(mute["place"], mute["comment"]) for mute in mutes},
                             {("leaf1:3-spine0:1", "new cable"), ("leaf2", "")})
            unmuted = self.done("finding", "unmute", "flap", "leaf1:3-spine0:1", *appliance)
            self.assertEqual(unmuted.stdout, "flap at leaf1:3-spine0:1: no longer muted\n")
            listed = self.done("finding", "list", *appliance).stdout
            self.assertIn("No findings are acknowledged.", listed)
            self.assertRegex(listed, r"flap +leaf2 +active +\d{4}-")
            self.end(run)

    def post(self, at, method, body, headers=None):
        request = urllib.request.Request(f"http://{at['dashboard']}/api/v1/findings:{method}",
                                         json.dumps(body).encode(),
                                         {"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def test_a_finding_command_that_is_wrong_calls_nobody(self):
        for words in ([], ["mute"], ["mute", "flap"], ["mute", "flap", "a", "b"], ["mute", "flap", "a", "--for", "soon"],
                      ["mute", "flap", "a", "--for", "0s"], ["mute", "flap", "a", "--for", "31d"],
                      ["mute", "flap", "a", "--for"], ["acknowledge", "flap"], ["unmute"], ["unacknowledge"],
                      ["acknowledge", "flap", "a", "--for", "2h"], ["list", "flap"], ["list", "--ca", "ca.pem"]):
            wrong = self.done("finding", *words)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""), words)
            self.assertNotEqual(wrong.stderr, "")
        self.assertIn("longer than 30 days", self.done("finding", "mute", "flap", "a", "--for", "31d").stderr)

    def test_a_job_that_starts_later_is_not_running(self):
        with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            appliance = ["--appliance", at["gRPC"], "--timeout", "20s"]
            registered = self.done("job", "register", "8", "--nodes", "gpu-9", "--start",
                                   "4000000000", *appliance)
            self.assertEqual(registered.returncode, 0, registered.stderr)
            self.assertIn("WARNING jobs: registered job 8: the start time 2096-10-02T07:06:40Z is "
                          "in the future", run.stderr.readline())
            self.assertRegex(self.done("job", "list", *appliance).stdout,
                             r"8 +scheduled +2096-10-02 07:06:40")
            self.assertIn("scheduled on 1 node", self.done("job", "show", "8", *appliance).stdout)
            self.end(run)

    def test_a_job_command_that_is_wrong_calls_nobody(self):
        for words in (["register", "7"], ["register", "0", "--nodes", "a"],
                      ["register", "7", "--nodes", "a:b"], ["register", "x", "--nodes", "a"],
                      ["end"], ["list", "--timeout", "soon"], ["list", "--ca", "ca.pem"],
                      ["list", "--timeout", "2d"]):
            wrong = self.done("job", *words)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""), words)
            self.assertNotEqual(wrong.stderr, "")

    def test_a_number_is_taken_as_it_is_written_or_not_at_all(self):
        for number in ("0", "-5", "+5", "0x10", "1e3", "7 ", "18446744073709551616",
                       "99999999999999999999999"):
            for words in (["end", number], ["show", number], ["register", number, "--nodes", "a"],
                          ["end", "7", "--at", number],
                          ["register", "7", "--nodes", "a", "--start", number],
                          ["register", "7", "--nodes", "a", "--limit", number],
                          ["place", "--nodes", number], ["place", "--gpus", number],
                          ["place", "--nodes", "1", "--job", number]):
                wrong = self.done("job", *words)
                self.assertEqual((wrong.returncode, wrong.stdout), (2, ""), words)
                self.assertLess(len(wrong.stderr), 250)
        for words in (["end", "7", "--at", "4611686019"], ["place", "--nodes", "4294967296"]):
            wrong = self.done("job", *words)
            self.assertEqual(wrong.returncode, 2, words)
            self.assertIn("expected an integer from 1 to", wrong.stderr)
        with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            appliance = ["--appliance", at["gRPC"], "--timeout", "20s"]
            for number in ("010", "18446744073709551615"):
                done = self.done("job", "register", number, "--nodes", "a", *appliance)
                self.assertEqual(done.returncode, 0, done.stderr)
            jobs = json.loads(self.done("job", "list", "-o", "json", *appliance).stdout)["registered_jobs"]
            self.assertEqual([job["scheduler_job_id"] for job in jobs], ["10", "18446744073709551615"])
            self.end(run)

    def test_a_place_for_a_job_is_a_host_list(self):
        made = self.done("topology", "generate", "leaf-spine", "--hosts", "8", "--leaves", "2",
                         "--spines", "2", "--gpus", "4")
        self.config(made.stdout, "fabric.yaml")
        with self.appliance('topology: fabric.yaml\nanalysis_window: 50ms\n'
                      'udp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            appliance = ["--appliance", at["gRPC"], "--timeout", "20s"]
            self.done("job", "register", "7", "--nodes", "host[0-1]", *appliance)
            for _ in range(200):  # until there is a snapshot
                early = self.done("job", "place", "--nodes", "4", *appliance)
                if "no telemetry of the links" in early.stderr:
                    break
                self.assertIn("no snapshot yet", early.stderr)
                time.sleep(0.05)
            self.assertEqual((early.returncode, early.stdout), (1, ""))
            appliance.append("--without-telemetry")
            placed = self.done("job", "place", "--nodes", "4", *appliance)
            self.assertEqual((placed.returncode, placed.stdout), (0, "host[4-7]\n"), placed.stderr)
            self.assertIn("4 nodes below leaf1", placed.stderr)
            placed = self.done("job", "place", "--gpus", "8", "--exclude", "host[2,4]", *appliance)
            self.assertEqual(placed.stdout, "host[5-6]\n")
            large = self.done("job", "place", "--nodes", "7", *appliance)
            self.assertEqual((large.returncode, large.stdout), (1, ""))
            self.assertIn("7 nodes are requested; suitable: 6 nodes of 8 candidates (excluded: 2 in use)", large.stderr)
            self.assertEqual(self.done("job", "place", "--nodes", "1", "--candidates", "nobody",
                                       *appliance).returncode, 1)
            for words in ([], ["--nodes", "1", "--gpus", "2"], ["--nodes", "1", "--gpus-per-node",
                                                               "2"]):
                self.assertEqual(self.done("job", "place", *words, *appliance).returncode, 2, words)
            self.end(run)

    def test_registered_jobs_outlive_the_appliance(self):
        text = ('udp: {sflow: ["127.0.0.1:0"]}\n'
                f'jobs: {{file: "{self.folder.name}/jobs.db"}}\n')
        with self.appliance(text) as (run, at):
            registered = self.done("job", "register", "7", "--nodes", "gpu-[1-2]", "--appliance",
                                   at["gRPC"])
            self.assertEqual((registered.returncode, registered.stderr), (0, ""))
            run.kill()  # acknowledged registrations are on disk
            run.wait()
        with self.appliance(text) as (run, at):
            job, = json.loads(self.done("job", "list", "-o", "json", "--appliance",
                                        at["gRPC"]).stdout)["registered_jobs"]
            self.assertEqual([node["node"] for node in job["nodes"]], ["gpu-1", "gpu-2"])
            second = self.done("run", self.config(text + "http: none\ngrpc: {listen: []}\n",
                                                  "second.yaml"))
            self.assertEqual(second.returncode, 3)
            self.assertIn("another rocescope process uses the file", second.stderr)
            self.end(run)

    def test_a_job_that_cannot_be_stored_is_not_durable(self):
        for require, code, what in (("false", 0, "is lost if the appliance restarts: "),
                                    ("true", 1, "cannot be stored on disk: ")):
            file = pathlib.Path(self.folder.name, f"{require}-jobs.db")
            with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n'
                                f'jobs: {{file: "{file}", require_durable: {require}}}\n') as (run, at):
                appliance = ["--appliance", at["gRPC"], "--timeout", "20s"]
                self.assertEqual(self.done("job", "register", "7", "--nodes", "a", *appliance).stderr, "")
                file.unlink()
                file.mkdir()  # as on a disk with errors
                for words in (["register", "8", "--nodes", "b"], ["end", "7"]):
                    done = self.done("job", *words, *appliance)
                    self.assertEqual(done.returncode, code)
                    self.assertIn(what, done.stderr)
                    self.assertIn("jobs.db: is a folder", done.stderr)
                listed = self.done("job", "list", *appliance).stdout
                self.assertEqual("No jobs are registered." in listed, require == "true")
                file.rmdir()
                self.end(run)

    def test_a_limit_on_the_size_of_files_is_a_problem_like_a_full_disk(self):
        """Without ignoring SIGXFSZ, the appliance ends by this signal."""
        file = pathlib.Path(self.folder.name, "history.db")
        with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n'
                            f'jobs: {{file: "{self.folder.name}/jobs.db"}}\n'
                            f'history: {{file: "{file}"}}\n') as (run, at):
            resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (1, 1))
            registered = self.done("job", "register", "7", "--nodes", "a", "--appliance", at["gRPC"])
            self.assertEqual(registered.returncode, 0, registered.stderr)
            self.assertIn("is lost if the appliance restarts", registered.stderr)
            file.unlink()  # the appliance starts a new file
            for _ in range(200):
                health = self.done("healthcheck", f"http://{at['dashboard']}").stdout
                if "history" in health:
                    break
                time.sleep(0.05)
            # SQLite does not keep the error of the system (File too large) if a commit fails.
            self.assertRegex(health, "the history is not written: .*disk I/O error")
            self.assertRegex(health, "registered jobs are not saved: .*File too large")
            self.end(run)

    def test_a_clock_far_ahead_of_the_history_deletes_nothing(self):
        file = pathlib.Path(self.folder.name, "history.db")
        text = f'udp: {{sflow: ["127.0.0.1:0"]}}\nhistory: {{file: "{file}"}}\n'
        with self.appliance(text) as (run, at):
            for side in ("", "-wal", "-shm", ".lock"):
                self.assertEqual(pathlib.Path(f"{file}{side}").stat().st_mode & 0o777, 0o600, side)
            self.end(run)
        old = time.time_ns() - 3652 * 86400 * 10**9
        with contextlib.closing(sqlite3.connect(file)) as history, history:
            history.execute("UPDATE trusted_time SET trusted_ns = ?", (old,))
            history.executemany("INSERT INTO events (at_ns, kind, place, message) "
                                "VALUES (?, 'fault_started', 'leaf0', x'')", [(old,)] * 200)
        with self.appliance(text) as (run, at):
            doctor = self.done("doctor", f"http://{at['dashboard']}/")
            self.assertEqual(doctor.returncode, 1)
            self.assertIn("3652 days ahead of the time that the history leads to", doctor.stdout)
            self.assertIn("check the clock of the appliance", doctor.stdout)
            health = self.done("healthcheck", f"http://{at['dashboard']}").stdout
            self.assertIn("DEGRADED\nhistory: rows are not deleted because of their age", health)
            self.end(run)
        with contextlib.closing(sqlite3.connect(file)) as history:
            self.assertEqual(history.execute("SELECT count(*) FROM events WHERE at_ns = ?",
                                             (old,)).fetchone(), (200,))

    def test_an_exporter_that_is_gone_is_told_and_no_fault_of_the_appliance(self):
        with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n'
                      'scrape: {targets: [{url: "http://127.0.0.1:1/metrics", period: 10ms}]}\n'
                      ) as (run, at):
            for _ in range(100):
                health = self.done("healthcheck", f"http://{at['dashboard']}")
                if "refused" in health.stdout:
                    break
                time.sleep(0.1)
            self.assertRegex(health.stdout, "^(SERVING|WAITING)\nhttp://127.0.0.1:1/metrics: "
                                            "Connection refused\n$")
            self.assertEqual(health.returncode, 0)
            self.end(run)

    def test_a_port_that_is_taken_is_told(self):
        with self.appliance('udp: {sflow: ["127.0.0.1:0"]}\n') as (run, at):
            for key, text in (("page", f'http: "{at["dashboard"]}"\ngrpc: {{listen: []}}\n'),
                              ("gRPC", f'http: none\ngrpc: {{listen: ["{at["gRPC"]}"]}}\n')):
                second = self.done("run", self.config('udp: {sflow: ["127.0.0.1:0"]}\n' + text,
                                                      "second.yaml"))
                self.assertEqual(second.returncode, 3)
                self.assertIn("check that no other program uses the port", second.stderr, key)
            self.end(run)

    def test_serves_others_only_with_certificates(self):
        run = self.done("run", self.config('udp: {sflow: ["127.0.0.1:0"]}\nhttp: none\n'
                                           'grpc: {listen: ["0.0.0.0:0"]}\n'))
        self.assertEqual(run.returncode, 3)
        self.assertIn("requires certificate, key and client_ca", run.stderr)


if __name__ == "__main__":
    ROCESCOPE = sys.argv.pop(1)
    unittest.main()
