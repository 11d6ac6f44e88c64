#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that lower layers never include higher ones, siblings do not include each other, and folders
have no dependency cycles.

    tests/checks/layers.py [ROOT]

Prints one line per violation; exit code 1 if there are any.
"""
import pathlib
import re
import sys

# The include path prefixes that the code of each folder may include.
ALLOWED = {
    "base": ["base"],
    "dataplane": ["base", "dataplane"],
    "topology": ["base", "topology"],
    # dataplane/run and truth.proto are the interface between simulator and appliance.
    "sim": ["base", "topology", "dataplane/wire", "dataplane/run", "dataplane/record/metric.h",
            "dataplane/record/counter_entity.h", "sim"],
    "analytics": ["base", "dataplane/wire", "dataplane/record", "dataplane/host", "topology", "analytics"],
    "appliance": ["base", "dataplane", "topology", "analytics", "appliance"],
    "tests": ["base", "dataplane", "topology", "analytics", "appliance", "sim", "tests"],
    "testbeds": ["base", "dataplane", "topology", "analytics", "appliance", "sim", "testbeds"],
}
# Unit tests, fuzzers and benchmarks are next to the code and may use the test support. So may headers
# that nothing else includes.
BESIDE = re.compile(r"_(test|fuzz|bench)\.cc$")
# System and library headers that folders must not include, with the reason.
REFUSED = [
    ("analytics", re.compile(r"(fstream|iostream|filesystem|thread|mutex|future|cstdio|stdio\.h"
                             r"|unistd\.h|sys/.*|net.*/.*|arpa/.*|spdlog/.*|pcap.*)$"),
     "analytics must not use files, sockets, threads or logs"),
    ("base topology dataplane/wire sim", re.compile(r"(absl|grpc|grpcpp|openssl)/"),
     "Apache-2.0 code must not be linked with ns-3"),
    ("base dataplane topology analytics appliance", re.compile(r"ns3/"),
     "ns-3 is GPL-2.0: only sim links it"),
]
CLOCK = re.compile(r"\b(system_clock|steady_clock|high_resolution_clock)::now\b"
                   r"|\b(clock_gettime|gettimeofday)\(")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
SOURCES = {".h", ".cc", ".c", ".hpp", ".cpp"}


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def sources(root):
    for layer in ALLOWED:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                yield path.relative_to(root).as_posix()


def find_beside(texts):
    """Returns the tests, fuzzers and benchmarks, and the files that only they include."""
    users = {}
    for file, text in texts.items():
        for _, target in INCLUDE.findall(text):
            users.setdefault(target, set()).add(file)
    beside = {file for file in texts if BESIDE.search(file)}
    while more := {file for file in texts
                   if file not in beside and users.get(file) and users[file] <= beside}:
        beside |= more
    return beside


def check_quoted(root, file, target, beside):
    layer = file.split("/")[0]
    if target.startswith("rocescope/") and target.endswith((".pb.h", "calls.inc")):
        # generated, included from the proto root
        roots = {"truth.pb.h": "dataplane/run/truth/", "counter_columns.pb.h": "dataplane/run/columns/",
                 "flow_history.pb.h": "sim/flow/history/"}
        target = roots.get(target.rsplit("/", 1)[-1], "appliance/api/") + target
    elif not (root / target).is_file() and not target.endswith(".pb.h"):
        return f'"{target}" is not a file relative to the repository root'
    allowed = ALLOWED[layer] + (["tests/support"] if beside else [])
    if beside and layer == "analytics":
        allowed = allowed + ["dataplane/decode", "dataplane/flow"]  # to convert frames to records
    if not any(within(target, folder) for folder in allowed):
        return f'"{target}": {layer}/ may include only {", ".join(allowed)}'
    return None


def check_system(file, target):
    for folders, pattern, reason in REFUSED:
        if any(within(file, f) for f in folders.split()) and pattern.match(target):
            return f"<{target}>: {reason}"
    return None


def find_rings(edges):
    """Returns the dependency cycles among folders, each once, as lists of folders."""
    rings, done = [], set()

    def visit(node, trail):
        if node in trail:
            rings.append(trail[trail.index(node):] + [node])
            return
        if node in done:
            return
        for target in sorted(edges.get(node, ())):
            visit(target, trail + [node])
        done.add(node)

    for node in sorted(edges):
        visit(node, [])
    return rings


def violations(root):
    found, edges = [], {}
    texts = {file: (root / file).read_text(errors="replace") for file in sources(root)}
    all_beside = find_beside(texts)
    for file, text in texts.items():
        beside = file in all_beside
        for match in INCLUDE.finditer(text):
            quote, target = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            if quote == '"':
                complaint = check_quoted(root, file, target, beside)
                here, there = file.rsplit("/", 1)[0], target.rpartition("/")[0]
                if there and here != there and not beside:
                    edges.setdefault(here, set()).add(there)
            else:
                complaint = None if beside else check_system(file, target)
            if complaint:
                found.append(f"{file}:{line}: {complaint}")
        if file.startswith("analytics/") and not beside and (clock := CLOCK.search(text)):
            line = text.count("\n", 0, clock.start()) + 1
            found.append(f"{file}:{line}: {clock[0]}: analytics must not read a clock; pass the time in")
    found += ["dependency cycle: " + " -> ".join(ring) for ring in find_rings(edges)]
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = violations(root)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
