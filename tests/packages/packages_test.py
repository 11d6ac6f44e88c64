#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the Debian packages, checks them with lintian, and installs, runs, upgrades and purges them.

usage: packages_test.py BUILD_DIRECTORY VERSION [UNITTEST ARGUMENT...]

Installation happens in an overlay on this system's root directory, in a mount, network and process
namespace of its own, so that this system does not change. That needs root.
"""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BUILD, VERSION = pathlib.Path(), ""
INSIDE = "ROCESCOPE_PACKAGES_TEST_INSIDE"
TOOLS = {"cpack": "cmake", "dpkg-deb": "dpkg", "dpkg-shlibdeps": "dpkg-dev", "lintian": "lintian",
         "man": "man-db", "setpriv": "util-linux", "unshare": "util-linux",
         "systemd-analyze": "systemd"}
CONFIG, AGENT_CONFIG = "/etc/rocescope/appliance.yaml", "/etc/rocescope/agent.yaml"
WANTS = "etc/systemd/system/multi-user.target.wants"
QUIET = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8",
         "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*words, code=0, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=QUIET,
                          timeout=options.pop("timeout", 300), **options)
    if code is not None and done.returncode != code:
        raise AssertionError(f"{words}: exit code {done.returncode}, expected {code}\n"
                             f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done


def packages():
    found = {path.name.split("_")[0]: path
             for path in (BUILD / "packages").glob(f"*_{VERSION}_*.deb")}
    return dict(sorted(found.items()))


def bring_up_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        # SIOCGIFFLAGS, SIOCSIFFLAGS; IFF_UP | IFF_RUNNING
        request = bytearray(fcntl.ioctl(sock, 0x8913, struct.pack("16sH22x", b"lo", 0)))
        flags, = struct.unpack_from("H", request, 16)
        struct.pack_into("H", request, 16, flags | 0x41)
        fcntl.ioctl(sock, 0x8914, bytes(request))


class Contents(unittest.TestCase):
    def test_there_are_three_packages_of_the_same_version(self):
        self.assertEqual(list(packages()), ["rocescope", "rocescope-agent", "rocescope-sim"])
        for name, path in packages().items():
            self.assertEqual(run("dpkg-deb", "-f", path, "Package").stdout.strip(), name)
            self.assertEqual(run("dpkg-deb", "-f", path, "Version").stdout.strip(), VERSION)

    def test_each_package_has_a_bill_of_materials(self):
        for name, path in packages().items():
            text = run("bash", "-c", 'dpkg-deb --fsys-tarfile "$1" | tar -xO "$2"', "-", path,
                       f"./usr/share/doc/{name}/{name}.spdx.json").stdout
            document = json.loads(text)
            parts = {part["name"]: part for part in document["packages"]}
            self.assertEqual(document["spdxVersion"], "SPDX-2.3")
            self.assertEqual(parts[name]["versionInfo"], VERSION)
            installed = run("dpkg-query", "-W", "-f", "${Version}", "libc6").stdout
            self.assertEqual(parts["libc6"]["versionInfo"], installed)
            self.assertEqual("preact" in parts, name == "rocescope")
            ids = {part["SPDXID"] for part in document["packages"]} | {"SPDXRef-DOCUMENT"}
            for relation in document["relationships"]:
                self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, ids)

    def test_lintian_reports_neither_errors_nor_warnings(self):
        done = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit",
                   "0", *packages().values(), code=None, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_files_are_where_they_belong(self):
        expected = {
            "rocescope": [
                "./usr/bin/rocescope", "." + CONFIG, "./lib/systemd/system/rocescope.service",
                "./usr/share/rocescope/alerts.yaml", "./usr/share/rocescope/grafana.json",
                "./usr/share/man/man1/rocescope.1.gz", "./usr/share/man/man1/rocescope-run.1.gz",
                "./usr/share/bash-completion/completions/rocescope",
                "./usr/share/doc/rocescope/copyright", "./usr/share/doc/rocescope/changelog.gz"],
            "rocescope-agent": [
                "./usr/bin/rocescope-agent", "." + AGENT_CONFIG,
                "./lib/systemd/system/rocescope-agent.service",
                "./usr/share/man/man1/rocescope-agent.1.gz",
                "./usr/share/bash-completion/completions/rocescope-agent"],
            "rocescope-sim": [
                "./usr/bin/rocescope-sim", "./usr/share/rocescope/scenarios/healthy.yaml",
                "./usr/share/rocescope/priors.yaml", "./usr/share/man/man1/rocescope-sim.1.gz",
                "./usr/share/doc/rocescope-sim/copyright"]}
        for name, path in packages().items():
            listed = run("dpkg-deb", "-c", path).stdout.splitlines()
            files = {line.split()[5] for line in listed}
            self.assertEqual([file for file in expected[name] if file not in files], [], name)
            for line in listed:
                self.assertRegex(line, r"^\S+ root/root ")
        conffiles = {name: run("dpkg-deb", "-I", path, "conffiles", code=None).stdout.split()
                     for name, path in packages().items()}
        self.assertEqual(conffiles, {"rocescope": [CONFIG], "rocescope-agent": [AGENT_CONFIG],
                                     "rocescope-sim": []})

    def test_the_agent_needs_neither_the_appliance_nor_dpdk(self):
        depends = run("dpkg-deb", "-f", packages()["rocescope-agent"], "Depends").stdout
        self.assertNotRegex(depends, r"rocescope|librte|libgrpc|libprotobuf|libns3")

    def test_the_simulator_states_the_licence_of_ns_3(self):
        with tempfile.TemporaryDirectory() as folder:
            run("dpkg-deb", "-x", packages()["rocescope-sim"], folder)
            text = (pathlib.Path(folder) / "usr/share/doc/rocescope-sim/copyright").read_text()
        self.assertIn("GPL-2.0-only", text)
        self.assertIn("ns-3", text)


class Installed(unittest.TestCase):
    """Each test has a root directory of its own, with the three packages installed."""

    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rocescope-packages-"))
        self.root = folder / "root"
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        run("mount", "-t", "tmpfs", "tmpfs", folder)
        self.addCleanup(run, "umount", "-l", folder, code=None)
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir=/,upperdir={folder}/upper,workdir={folder}/work", self.root)
        self.addCleanup(run, "umount", "-l", self.root, code=None)
        run("mount", "-t", "proc", "proc", self.root / "proc")
        run("mount", "--bind", "/dev", self.root / "dev")
        for name in ("run", "tmp"):
            run("mount", "-t", "tmpfs", "-o", "mode=1777" if name == "tmp" else "mode=755", "tmpfs",
                self.root / name)
        run("mkdir", "-p", self.root / "tmp/debs")
        self.path("/var/lib/man-db/auto-update").unlink(missing_ok=True)  # mandb takes seconds
        for path in packages().values():
            shutil.copy(path, self.root / "tmp/debs")
        self.inside("dpkg", "--purge", "rocescope", "rocescope-agent", "rocescope-sim", code=None)
        self.install(*packages())

    def inside(self, *words, **options):
        return run("chroot", self.root, *words, **options)

    def deb(self, name):
        return f"/tmp/debs/{packages()[name].name}"

    def install(self, *names):
        self.inside("dpkg", "-i", *[self.deb(name) for name in names])

    def path(self, name):
        return self.root / name.lstrip("/")

    def exists(self, name):
        return os.path.lexists(self.path(name))

    def status(self, name):
        return self.inside("dpkg-query", "-W", "-f", "${Status}", name, code=None).stdout

    def unit_commands(self, unit, key):
        text = self.path(f"/lib/systemd/system/{unit}.service").read_text()
        return [line.split() for line in re.findall(rf"^{key}=(.*)$", text, re.M)]

    def start(self, user, group, words):
        process = subprocess.Popen(
            ["chroot", str(self.root), "setpriv", f"--reuid={user}", f"--regid={group}",
             "--clear-groups", "--inh-caps=-all", "--no-new-privs", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=QUIET)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, out[-2000:] + err[-2000:])

    def test_installation_makes_the_user_and_enables_the_units(self):
        for name in packages():
            self.assertEqual(self.status(name), "install ok installed")
        entry = self.inside("getent", "passwd", "rocescope").stdout.strip().split(":")
        self.assertEqual(entry[5:], ["/var/lib/rocescope", "/usr/sbin/nologin"])
        for unit in ("rocescope", "rocescope-agent"):
            self.assertTrue(self.exists(f"{WANTS}/{unit}.service"), unit)
        self.assertEqual(self.inside("/usr/bin/rocescope", "--version").stdout,
                         f"rocescope {VERSION}\n")
        self.assertEqual(self.inside("/usr/bin/rocescope-agent", "--version").stdout,
                         f"rocescope-agent {VERSION}\n")

    def test_systemd_accepts_the_units(self):
        for unit in ("rocescope", "rocescope-agent"):
            done = self.inside("systemd-analyze", "verify", "--man=no",
                               f"/lib/systemd/system/{unit}.service", code=None)
            self.assertEqual([line for line in done.stderr.splitlines() if "rocescope" in line], [])

    def test_the_services_run_with_the_sample_configurations(self):
        # systemd makes the state directory.
        self.inside("install", "-d", "-o", "rocescope", "-g", "rocescope", "-m", "0750",
                    "/var/lib/rocescope")
        for words in self.unit_commands("rocescope", "ExecStartPre"):
            self.inside("setpriv", "--reuid=rocescope", "--regid=rocescope", "--clear-groups",
                        *words)
        words, = self.unit_commands("rocescope", "ExecStart")
        appliance = self.start("rocescope", "rocescope", words)
        health = ["/usr/bin/rocescope", "healthcheck", "http://127.0.0.1:8080/"]
        deadline = time.monotonic() + 30
        while self.inside(*health, code=None).returncode != 0:
            self.assertIsNone(appliance.poll(), "the appliance ended")
            self.assertLess(time.monotonic(), deadline, "the appliance does not become healthy")
            time.sleep(0.2)
        words, = self.unit_commands("rocescope-agent", "ExecStart")
        agent = self.start("nobody", "nogroup", words)
        time.sleep(2)
        self.assertIsNone(agent.poll(), "the agent ended")
        self.inside(*health)
        self.assertTrue(self.exists("/var/lib/rocescope/history.db"))
        self.stop(agent)
        self.stop(appliance)

    def test_the_simulator_finds_the_installed_scenarios(self):
        self.assertIn("healthy.yaml", self.inside("/usr/bin/rocescope-sim", "list").stdout)
        self.inside("/usr/bin/rocescope-sim", "draw", "--count", "1", "-d", "/tmp/drawn")

    def test_each_subcommand_has_a_man_page_without_formatting_errors(self):
        for program in ("rocescope", "rocescope-agent", "rocescope-sim"):
            text = self.inside(f"/usr/bin/{program}", "--help").stdout
            commands = re.findall(r"^  ([a-z]+)(?: |$)", text.partition("Subcommands:")[2], re.M)
            self.assertEqual(bool(commands), program != "rocescope-agent")
            for name in (program, *(f"{program}-{command}" for command in commands)):
                page = f"/usr/share/man/man1/{name}.1.gz"
                self.assertTrue(self.exists(page), page)
                done = self.inside("man", "--warnings=w", "-E", "UTF-8", "-l", page)
                self.assertEqual(done.stderr, "", page)
                for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"):
                    self.assertRegex(done.stdout, rf"(?m)^{heading}$", page)

    def test_bash_completes_subcommands_and_options(self):
        def complete(*words):
            line = " ".join(f"'{word}'" for word in words)
            script = (f"source /usr/share/bash-completion/completions/{words[0]}; "
                      f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _{words[0]}; "
                      "echo \"${COMPREPLY[@]}\"")
            return self.inside("bash", "-c", script.replace("_rocescope-", "_rocescope_")
                               ).stdout.split()
        self.assertEqual(complete("rocescope", "ru"), ["run"])
        self.assertEqual(sorted(complete("rocescope", "config", "")), ["check", "dump"])
        self.assertIn("--help", complete("rocescope", "replay", "--"))
        self.assertEqual(complete("rocescope", "replay", "--output", "js"), ["json"])
        self.assertIn("--dump", complete("rocescope-agent", "--d"))
        self.assertIn("list", complete("rocescope-sim", "l"))

    def test_an_upgrade_keeps_a_changed_configuration_and_a_disabled_unit(self):
        changed = self.path(CONFIG).read_text() + "# changed\n"
        self.path(CONFIG).write_text(changed)
        self.inside("systemctl", "disable", "rocescope.service")
        self.install("rocescope")
        self.assertEqual(self.path(CONFIG).read_text(), changed)
        self.assertFalse(self.exists(f"{WANTS}/rocescope.service"))
        # The next version has a different sample configuration.
        tree = self.path("/tmp/next")
        run("dpkg-deb", "-R", packages()["rocescope"], tree)
        control = tree / "DEBIAN/control"
        control.write_text(control.read_text().replace(f"Version: {VERSION}", "Version: 99.0"))
        sample = tree / CONFIG.lstrip("/")
        sample.write_text(sample.read_text() + "# next version\n")
        run("dpkg-deb", "--build", "-Zgzip", "-z1", tree, self.path("/tmp/next.deb"))
        self.inside("dpkg", "--force-confdef", "--force-confold", "-i", "/tmp/next.deb")
        self.assertEqual(self.path(CONFIG).read_text(), changed)
        self.assertIn("next version", self.path(CONFIG + ".dpkg-dist").read_text())

    def test_removal_keeps_configuration_and_purge_removes_everything(self):
        self.inside("install", "-d", "-o", "rocescope", "/var/lib/rocescope")
        self.path("/var/lib/rocescope/history.db").write_text("data")
        self.inside("dpkg", "--remove", "rocescope")
        self.assertFalse(self.exists("/usr/bin/rocescope"))
        self.assertTrue(self.exists(CONFIG))
        self.assertTrue(self.exists("/var/lib/rocescope/history.db"))
        self.inside("dpkg", "--purge", "rocescope")
        self.assertFalse(self.exists(CONFIG))
        self.assertFalse(self.exists("/var/lib/rocescope"))
        self.assertTrue(self.exists(AGENT_CONFIG), "the configuration of the other package")
        self.inside("dpkg", "--purge", "rocescope-agent", "rocescope-sim")
        for name in ("/etc/rocescope", "/usr/share/rocescope", f"{WANTS}/rocescope.service",
                     f"{WANTS}/rocescope-agent.service", "/etc/systemd/system/rocescope.service",
                     "/etc/systemd/system/rocescope-agent.service", "/usr/bin/rocescope-agent"):
            self.assertFalse(self.exists(name), name)
        for name in packages():
            self.assertNotIn("installed", self.status(name))


def main():
    global BUILD, VERSION
    BUILD, VERSION = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    if INSIDE in os.environ:
        bring_up_loopback()
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            skip(f"{tool} is not installed (Debian: {package})")
    if os.geteuid() != 0:
        skip("only root can install packages into a test root")
    namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    probe = ("d=$(mktemp -d) && mount -t tmpfs t $d && mkdir $d/u $d/w $d/r && mount -t overlay o "
             "-o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/r && chroot $d/r dpkg -l dpkg")
    done = subprocess.run([*namespaces, "sh", "-c", probe], capture_output=True, text=True)
    if done.returncode != 0:
        skip(f"no namespaces or overlay file systems here: {done.stderr.strip()[-200:]}")
    shutil.rmtree(BUILD / "packages", ignore_errors=True)
    built = subprocess.run(["cmake", "--build", BUILD, "--target", "packages"], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if built.returncode != 0:
        print(built.stdout[-8000:])
        sys.exit(1)
    os.environ[INSIDE] = "1"
    sys.stdout.flush()
    os.execvp(namespaces[0], [*namespaces, sys.executable, "-B", *sys.argv])


if __name__ == "__main__":
    main()
