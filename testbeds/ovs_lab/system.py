# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs in network namespaces, and checks that this machine has what the lab requires."""

import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess

from problem import Problem

NAMESPACES = pathlib.Path("/run/netns")
CLONE_NEWNET = 0x40000000
# Names of clang, the preferred one first.
CLANGS = ("clang", "clang-19", "clang-16", "clang-14")
# Programs and the Debian packages that contain them.
PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux",
            "ovs-vswitchd": "openvswitch-switch", "ovsdb-server": "openvswitch-switch",
            "ovsdb-tool": "openvswitch-switch", "ovs-vsctl": "openvswitch-switch",
            "ovs-ofctl": "openvswitch-switch", "ovs-appctl": "openvswitch-switch"}
# sudo and cron may leave out the folders of ip and tc.
os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def in_namespace(namespace, command):
    """The command, to run in a network namespace (None: the current one). Unlike `ip netns exec`,
    nsenter keeps the mounts, so that programs find their files and BPF objects."""
    return [*(["nsenter", f"--net={NAMESPACES / namespace}"] if namespace else []),
            *(str(word) for word in command)]


@contextlib.contextmanager
def inside_namespace(namespace):
    """Sockets that are opened within belong to the network namespace, also afterwards."""
    def enter(opened):
        if ctypes.CDLL(None, use_errno=True).setns(opened.fileno(), CLONE_NEWNET) != 0:
            raise Problem(f"cannot enter the namespace {namespace}: {os.strerror(ctypes.get_errno())}")
    with open("/proc/self/ns/net") as outside:
        try:
            inside = open(NAMESPACES / namespace)
        except OSError as error:
            raise Problem(f"{error.filename}: {error.strerror}") from None
        with inside:
            enter(inside)
        try:
            yield
        finally:
            enter(outside)


def require_root():
    if os.geteuid() != 0:
        raise Problem("only root can create and use the network namespaces of a lab; run it as root (sudo)")


def require_program(name, package):
    if not shutil.which(name):
        raise Problem(f"the program {name} is missing; install it: apt-get install {package}")


def run(*command, namespace=None, given=None, environment=None, check=True):
    """Returns the standard output."""
    whole = in_namespace(namespace, command)
    try:
        done = subprocess.run(whole, capture_output=True, text=True, input=given,
                              stdin=None if given is not None else subprocess.DEVNULL,
                              env={**os.environ, **(environment or {})})
    except OSError as error:
        raise Problem(f"{whole[0]}: {error.strerror}") from None
    if check and done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise Problem(f"`{' '.join(whole)}` failed with exit code {done.returncode}: "
                      + "; ".join(lines[-3:]))
    return done.stdout


def ip_batch(lines, namespace=None):
    """Runs many ip commands in one process."""
    if lines:
        run("ip", "-batch", "-", namespace=namespace, given="".join(f"{line}\n" for line in lines))


def find_clang():
    for name in CLANGS:
        if path := shutil.which(name):
            return path
    return None


def check_machine(more_programs=None):
    """Raises a Problem that names everything that is missing. `more_programs`: in addition to PROGRAMS."""
    require_root()
    programs = PROGRAMS | (more_programs or {})
    missing = {program: package for program, package in programs.items() if not shutil.which(program)}
    if not find_clang():
        missing["clang"] = "clang-19"
    if not pathlib.Path("/usr/include/bpf/bpf_helpers.h").exists():
        missing["bpf/bpf_helpers.h"] = "libbpf-dev"
    if missing:
        raise Problem(f"missing: {', '.join(sorted(missing))}; install the packages: "
                      f"apt-get install {' '.join(sorted(set(missing.values())))} "
                      "(or docker/install_packages lab)")


def find_program(given, name, folder):
    """The path of one of rocescope's programs: given, from PATH, or the newest of the builds."""
    if given:
        path = pathlib.Path(given)
        if not os.access(path, os.X_OK) or path.is_dir():
            raise Problem(f"{given}: not an executable file")
        return str(path.resolve())
    root = pathlib.Path(__file__).resolve().parents[2]
    built = [path for path in root.glob(f"build/*/{folder}/{name}") if os.access(path, os.X_OK)]
    if built:
        return str(max(built, key=lambda path: path.stat().st_mtime))
    return shutil.which(name)


def namespace_exists(name):
    return (NAMESPACES / name).exists()


def namespaces_of_process(pid):
    """The device and inode of the network namespace of a process, or None if it has ended."""
    try:
        found = os.stat(f"/proc/{pid}/ns/net")
    except OSError:
        return None
    return found.st_dev, found.st_ino
