#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An appliance that serves the dashboard, the API and metrics to other machines with mutual TLS.

The clients are Python's ssl, curl and Prometheus. openssl creates the certificates.

usage: tls_test.py PATH/rocescope
"""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from running_appliance import hear

ROCESCOPE = None
DOCKER = pathlib.Path(__file__).resolve().parents[2] / "docker"
GRPC = "viewers: [viewer1]\n  schedulers: [slurm]\n  operators: [root1]\n  agents: [node7]\n"


def run_openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=50)


def make_authority(folder):
    folder.mkdir()
    run_openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")


ELLIPTIC = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def sign(folder, name, alternatives, key=ELLIPTIC):
    run_openssl(folder, "req", "-newkey", *key, "-nodes",
                "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternatives}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")
    run_openssl(folder, "x509", "-req", "-copy_extensions", "copy", "-days", "2", "-CA", "ca.pem",
                "-CAkey", "ca.key", "-CAcreateserial", "-in", f"{name}.csr", "-out", f"{name}.pem")


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.ours, cls.theirs = cls.folder / "ours", cls.folder / "theirs"
        for authority in (cls.ours, cls.theirs):
            make_authority(authority)
        sign(cls.ours, "appliance", "IP:127.0.0.1,DNS:localhost,DNS:appliance.example.org")
        sign(cls.ours, "rsa", "IP:127.0.0.1", ("rsa:2048",))
        sign(cls.ours, "rsa", "IP:127.0.0.1", ("rsa:2048",))
        for name in ("viewer1", "slurm", "root1", "node7", "nobody"):
            sign(cls.ours, name, f"DNS:{name}")
        sign(cls.theirs, "viewer1", "DNS:viewer1")

    def write(self, text, name="appliance.yaml"):
        path = self.folder / name
        path.write_text(text)
        return path

    @contextlib.contextmanager
    def appliance(self, certificate=None, health=""):
        """Runs an appliance for all machines. Yields the process and its port. Paths are relative to
        the configuration file. With the name of a certificate, gRPC uses TLS too, and both ports
        are yielded. With a listener for health checks, both HTTP ports are yielded."""
        files = "certificate: ours/{0}.pem, key: ours/{0}.key, client_ca: ours/ca.pem".format(
            certificate or "appliance")
        grpc = f"  {files.replace(', ', chr(10) + '  ')}\n" if certificate else ""
        path = self.write(
            'analysis_window: 100ms\nudp: {sflow: ["127.0.0.1:0"]}\n'
            f'http: {{listen: "0.0.0.0:0", {files}, names: [appliance.example.org]{health}}}\n'
            f'grpc:\n  listen: ["127.0.0.1:0"]\n{grpc}  {GRPC}')
        with subprocess.Popen([ROCESCOPE, "run", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            try:
                heard = hear(self, run, "gRPC on")
                port = int(re.search(r"https://appliance\.example\.org:(\d+)/", heard).group(1))
                if certificate:
                    port = port, int(re.search(r"gRPC on 127\.0\.0\.1:(\d+)", heard).group(1))
                if health:
                    port = port, int(re.search(r"http://127\.0\.0\.1:(\d+)/api/v1/health",
                                               heard).group(1))
                yield run, port
                run.send_signal(signal.SIGTERM)
                run.communicate(timeout=50)
                self.assertEqual(run.returncode, 0)
            finally:
                run.kill()

    def done(self, *words):
        return subprocess.run(words, capture_output=True, text=True, timeout=50)

    def context(self, name, authority=None):
        """The TLS context of a client; without a certificate if there is no name."""
        context = ssl.create_default_context(cafile=self.ours / "ca.pem")
        if name:
            folder = authority or self.ours
            context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
        return context

    def get(self, port, path, context, host="appliance.example.org"):
        """Returns status and body."""
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Host": host})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def test_the_sample_is_well(self):
        checked = self.done(ROCESCOPE, "config", "check", DOCKER / "appliance_tls.yaml")
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_who_has_a_role_reads_all_of_it(self):
        with self.appliance() as (_, port):
            for name in ("viewer1", "slurm", "root1"):
                status, page = self.get(port, "/", self.context(name))
                self.assertEqual(status, 200)
                self.assertIn("rocescope", page)
                status, health = self.get(port, "/api/v1/health", self.context(name))
                self.assertEqual((status, json.loads(health)["state"]), (200, "STATE_WAITING"))
                status, metrics = self.get(port, "/metrics", self.context(name))
                self.assertIn('rocescope_source_up{source="udp",kind="udp"} 1', metrics)
            self.assertEqual(self.get(port, "/", self.context("viewer1"), "evil.example")[0], 421)

    def test_who_has_none_reads_nothing(self):
        with self.appliance() as (_, port):
            for name in ("nobody", "node7"):
                for path in ("/", "/metrics"):
                    status, text = self.get(port, path, self.context(name))
                    self.assertEqual(status, 403)
                    self.assertIn(f'"{name}" may not read over HTTP: roles are assigned by the key `grpc`', text)
                status, error = self.get(port, "/api/v1/health", self.context(name))
                self.assertEqual(status, 403)
                self.assertIn("NOT_ALLOWED", error)
            for context in (self.context(None), self.context("viewer1", self.theirs)):
                with self.assertRaises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
                    self.get(port, "/api/v1/health", context)

    def handshake(self, port, ciphers, version=ssl.TLSVersion.TLSv1_2):
        """Returns the name of the cipher suite; None if the server refuses all of these."""
        context = self.context("viewer1")
        context.maximum_version = version
        context.set_alpn_protocols(["h2"])
        if ciphers:
            context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
                with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                    return secure.cipher()[0]
        except (ssl.SSLError, ConnectionError):
            return None

    def test_both_servers_require_forward_secrecy_and_authenticated_encryption(self):
        for certificate, good, bad in (
                ("rsa", "ECDHE-RSA-AES128-GCM-SHA256", ("AES256-GCM-SHA384", "AES128-SHA",
                                                        "ECDHE-RSA-AES128-SHA256")),
                ("appliance", "ECDHE-ECDSA-AES256-GCM-SHA384", ("ECDHE-ECDSA-AES128-SHA",
                                                                "ECDHE-ECDSA-AES128-SHA256"))):
            with self.appliance(certificate) as (_, ports):
                for port in ports:
                    self.assertEqual(self.handshake(port, good), good)
                    for suite in bad:
                        self.assertIsNone(self.handshake(port, suite), suite)
                    newest = self.handshake(port, None, ssl.TLSVersion.MAXIMUM_SUPPORTED)
                    self.assertTrue(newest.startswith("TLS_"), newest)  # a suite of TLS 1.3

    def served(self, port):
        """The certificate that the server presents."""
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
            with self.context("viewer1").wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                return secure.getpeercert()["serialNumber"]

    def test_changed_certificates_are_used_without_a_restart(self):
        sign(self.ours, "renewed", "IP:127.0.0.1,DNS:appliance.example.org")
        with self.appliance("renewed") as (run, ports):
            before = [self.served(port) for port in ports]
            self.assertEqual(before[0], before[1])
            for reload in (lambda: None, lambda: run.send_signal(signal.SIGHUP)):
                sign(self.ours, "renewed", "IP:127.0.0.1,DNS:appliance.example.org")
                reload()
                deadline = time.monotonic() + 20
                while any(self.served(port) in before for port in ports):
                    self.assertLess(time.monotonic(), deadline, "the certificates are not used")
                    time.sleep(0.2)
                before = [self.served(port) for port in ports]
            _, metrics = self.get(ports[0], "/metrics", self.context("viewer1"))
            expiry = re.findall(r'certificate_expiry_time_seconds{server="(\w+)"} ([\d.e+]+)', metrics)
            self.assertEqual({server for server, _ in expiry}, {"http", "grpc"})
            for _, at in expiry:  # the certificates are valid for two days
                self.assertAlmostEqual(float(at), time.time() + 2 * 86400, delta=3600)
            # A key that does not match the certificate.
            (self.ours / "renewed.key").write_bytes((self.ours / "viewer1.key").read_bytes())
            deadline = time.monotonic() + 20
            while True:
                health = json.loads(self.get(ports[0], "/api/v1/health", self.context("viewer1"))[1])
                bad = [problem for problem in health["problems"] if "does not match" in problem]
                if len(bad) == 2:
                    break
                self.assertLess(time.monotonic(), deadline, health)
                time.sleep(0.2)

    def test_what_is_no_tls_is_closed_and_others_are_answered(self):
        with self.appliance() as (_, port):
            stalled = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
            with self.assertRaises((ConnectionError, http.client.HTTPException)):
                plain = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                with contextlib.closing(plain):
                    plain.request("GET", "/")
                    plain.getresponse()
            self.assertEqual(self.get(port, "/api/v1/health", self.context("viewer1"))[0], 200)
            for one in stalled:
                one.close()

    @unittest.skipUnless(shutil.which("curl"), "there is no curl")
    def test_curl_reads_events_and_sees_their_end(self):
        with self.appliance() as (run, port):
            words = ["curl", "--silent", "--show-error", "--no-buffer",
                     "--cacert", self.ours / "ca.pem",
                     "--cert", self.ours / "viewer1.pem", "--key", self.ours / "viewer1.key"]
            here = ["--resolve", f"appliance.example.org:{port}:127.0.0.1"]
            health = self.done(*words, *here, f"https://appliance.example.org:{port}/api/v1/health")
            self.assertEqual(json.loads(health.stdout)["state"], "STATE_WAITING", health.stderr)
            with subprocess.Popen([*words, f"https://127.0.0.1:{port}/api/v1/events"],
                                  stdout=subprocess.PIPE, text=True) as events:
                self.assertEqual(events.stdout.readline(), "retry: 2000\n")
                events.kill()

    def test_healthcheck_and_doctor_show_a_certificate(self):
        def files(name, authority=self.ours):
            return ["--ca", self.ours / "ca.pem", "--cert", authority / f"{name}.pem",
                    "--key", authority / f"{name}.key"]
        with self.appliance() as (_, port):
            for host in ("127.0.0.1", "localhost"):
                page = f"https://{host}:{port}/"
                health = self.done(ROCESCOPE, "healthcheck", page, *files("viewer1"))
                self.assertEqual((health.returncode, health.stdout), (0, "WAITING\n"),
                                 health.stderr)
            doctor = self.done(ROCESCOPE, "doctor", page, *files("viewer1"))
            self.assertIn("topology: the configuration names no topology", doctor.stdout, doctor.stderr)
            for words, why in ((files("nobody"), "HTTP status 403: "),
                               (files("viewer1", self.theirs), ""),
                               ([], "https requires --ca, --cert and --key"),
                               (["--ca", self.ours / "ca.pem"], "https requires --ca"),
                               (["--ca", "none.pem", *files("viewer1")[2:]], "none.pem")):
                refused = self.done(ROCESCOPE, "healthcheck", page, *words)
                self.assertEqual((refused.returncode, refused.stdout), (3, ""), words)
                self.assertIn(why, refused.stderr)
            plain = self.done(ROCESCOPE, "healthcheck", "http://127.0.0.1:1/", *files("viewer1"))
            self.assertIn("http accepts none of them", plain.stderr)

    def test_health_checks_need_no_certificate(self):
        with self.appliance(health=', health_listen: "127.0.0.1:0"') as (_, (_, port)):
            health = self.done(ROCESCOPE, "healthcheck", f"http://127.0.0.1:{port}/")
            self.assertEqual((health.returncode, health.stdout), (0, "WAITING\n"), health.stderr)
            doctor = self.done(ROCESCOPE, "doctor", f"http://127.0.0.1:{port}/")
            self.assertEqual(doctor.returncode, 3)

    def test_an_appliance_for_others_without_tls_does_not_start(self):
        for text, why in (
                ("http: 0.0.0.0:8080\n", 'requires TLS: `http: {listen: "0.0.0.0:8080", certificate'),
                ('http: {listen: "[::]:8080"}\n', "[::]:8080 is not a loopback address"),
                ('http: {listen: "0.0.0.0:8080", certificate: c.pem, key: k.pem}\n',
                 "incomplete TLS configuration: set all of certificate, key and client_ca"),
                ('grpc: {listen: ["0.0.0.0:1"]}\n', "requires certificate, key and client_ca")):
            path = self.write('udp: {sflow: ["127.0.0.1:0"]}\n' + text, "bare.yaml")
            for command in (["run"], ["config", "check"]):
                refused = self.done(ROCESCOPE, *command, path)
                self.assertEqual(refused.returncode, 3)
                self.assertIn(f"{path}:2:", refused.stderr)
                self.assertIn(why, refused.stderr)

    def test_files_that_cannot_be_used_are_told(self):
        run_openssl(self.ours, "pkey", "-in", "appliance.key", "-aes128", "-passout", "pass:secret",
                    "-out", "locked.key")
        (self.ours / "empty.pem").write_text("")
        for certificate, key, why in (
                ("appliance.pem", "viewer1.key", "viewer1.key: the private key does not match the certificate in"),
                ("appliance.pem", "locked.key", "unencrypted private key"),
                ("empty.pem", "appliance.key", "empty.pem: the file is empty (key `http`"),
                ("none.pem", "appliance.key", "none.pem: ")):
            path = self.write(
                'udp: {sflow: ["127.0.0.1:0"]}\ngrpc: {listen: []}\n'
                f'http: {{listen: "0.0.0.0:0", certificate: ours/{certificate}, '
                f'key: ours/{key}, client_ca: ours/ca.pem}}\n', "broken.yaml")
            refused = self.done(ROCESCOPE, "run", path)
            self.assertEqual(refused.returncode, 3, refused.stderr)
            self.assertIn(why, refused.stderr)

    @unittest.skipUnless(shutil.which("prometheus"), "there is no Prometheus")
    def test_prometheus_scrapes_it(self):
        with self.appliance() as (_, port), socket.create_server(("127.0.0.1", 0)) as free:
            own = free.getsockname()[1]
            free.close()
            sample = (DOCKER / "prometheus_tls.yaml").read_text()
            for here, there in (("5s", "1s"), ("appliance.example.org:8443", f"127.0.0.1:{port}"),
                                ("ca.pem", "ours/ca.pem"), ("prometheus.pem", "ours/viewer1.pem"),
                                ("prometheus.key", "ours/viewer1.key")):
                self.assertIn(here, sample)
                sample = sample.replace(here, there)
            path = self.write(sample.replace("rule_files: [alerts.yaml]\n", ""), "prometheus.yaml")
            with subprocess.Popen(["prometheus", f"--config.file={path}",
                                   f"--storage.tsdb.path={self.folder}/prometheus",
                                   f"--web.listen-address=127.0.0.1:{own}"],
                                  stderr=subprocess.DEVNULL) as prometheus:
                try:
                    target = self.scraped(f"http://127.0.0.1:{own}/api/v1/targets")
                finally:
                    prometheus.kill()
            self.assertEqual((target["health"], target["lastError"]), ("up", ""))

    def scraped(self, url):
        """Returns Prometheus' only target after it has been scraped."""
        for _ in range(200):
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(url, timeout=20) as answer:
                    for target in json.load(answer)["data"]["activeTargets"]:
                        if target["health"] != "unknown":
                            return target
            time.sleep(0.1)
        self.fail("Prometheus asked nobody")


if __name__ == "__main__":
    ROCESCOPE = sys.argv.pop(1)
    unittest.main()
