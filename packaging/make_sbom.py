#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the software bill of materials of a program as SPDX 2.3 in JSON.

    make_sbom.py --program FILE --name NAME --version VERSION --epoch SECONDS [--lock package-lock.json]
                 [--packages docker/packages.txt] --out FILE

It contains the Debian packages of all shared libraries that the program loads, the Debian packages that
it is built with (of which headers and static libraries become a part of the program), and the npm
packages of the dashboard. Debian packages describe their licence in /usr/share/doc/NAME/copyright.
docs/generate uses this file for the list of libraries.
"""

import argparse
import datetime
import functools
import hashlib
import json
import pathlib
import re
import subprocess

HOME = "https://github.com/rocescope/rocescope"
# Names of licences in Debian (DEP 5) and in SPDX, where they differ.
SPDX = {"Expat": "MIT", "X11": "X11", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
        "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later", "GPL-2.0+": "GPL-2.0-or-later",
        "GPL-3": "GPL-3.0-only", "GPL-3+": "GPL-3.0-or-later", "LGPL-2.1": "LGPL-2.1-only",
        "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-3+": "LGPL-3.0-or-later", "public-domain": None,
        "MIT": "MIT", "Apache-2.0": "Apache-2.0", "Apache-2": "Apache-2.0", "ISC": "ISC",
        "BSL-1.0": "BSL-1.0", "Zlib": "Zlib", "zlib": "Zlib", "CC0-1.0": "CC0-1.0"}
# Packages whose copyright file is not in this format, or whose first entry is about something else:
# the licence as their own documentation states it.
STATED = {"libns3.37": "GPL-2.0-only", "libc6": "LGPL-2.1-or-later",
          "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
          "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1", "libpcap0.8": "BSD-3-Clause",
          "libpcap-dev": "BSD-3-Clause", "libsqlite3-0": "blessing", "libsqlite3-dev": "blessing",
          "libfmt9": "MIT", "libfmt-dev": "MIT", "libc-ares2": "MIT", "libre2-9": "BSD-3-Clause",
          "libprotobuf32": "BSD-3-Clause", "libprotobuf-dev": "BSD-3-Clause",
          "libarmadillo-dev": "Apache-2.0", "libnuma1": "LGPL-2.1-only",
          "libgfortran5": "GPL-3.0-or-later WITH GCC-exception-3.1"}
UNKNOWN = "NOASSERTION"


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=True).stdout


def shared_libraries(program):
    """The files of all shared libraries that the program loads."""
    return sorted({str(pathlib.Path(path).resolve())
                   for path in re.findall(r"(/\S+) \(0x", output("ldd", program))})


def linked_libraries(program):
    """The files of those that the program itself names."""
    named = set(re.findall(r"NEEDED\).*\[(.*)\]", output("readelf", "-dW", program)))
    return sorted({str(pathlib.Path(path).resolve())
                   for path in re.findall(r"(/\S+) \(0x", output("ldd", program))
                   if pathlib.Path(path).name in named})


@functools.cache
def owner(file):
    """The name of the Debian package with this file; empty if there is none."""
    # /lib is a link to /usr/lib, and packages contain either name.
    for name in (file, file.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return ""


def owners(files):
    return sorted({owner(file) for file in files} - {""})


@functools.cache
def licence(package):
    """The licence of the files of the package's author, as an SPDX expression."""
    if package in STATED:
        return STATED[package]
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    text = path.read_text(errors="replace") if path.exists() else ""
    found = re.search(r"^Files:\s*\*\s*\n(?:.*\n)*?License:[ \t]*(.+)$", text, re.M)
    if not found:
        return UNKNOWN
    words = [SPDX.get(word, word if re.fullmatch(r"[A-Z][\w.-]*\d", word) else None)
             for word in re.split(r"\s+(?:or|and)\s+", found[1].strip())]
    if None in words:
        return UNKNOWN
    return (" AND " if " and " in found[1] else " OR ").join(words)


def npm_packages(lock):
    """The packages of a lock file: (name, version, licence, checksum, whether only the build uses it)."""
    for path, entry in sorted(json.loads(lock.read_text())["packages"].items()):
        if path and not entry.get("optional"):
            yield (path.rpartition("node_modules/")[2], entry["version"],
                   entry.get("license", UNKNOWN), entry.get("integrity", ""), entry.get("dev", False))


def build_packages(packages):
    """The libraries in the section [build] of docker/packages.txt that are installed."""
    section = re.search(r"^\[build\].*?\n(.*?)^\[", packages.read_text(), re.M | re.S)[1]
    for line in section.splitlines():
        name = line.split("#")[0].strip()
        done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}", name],
                              capture_output=True, text=True)
        if name.endswith("-dev") and done.stdout.startswith("ii"):
            yield name


class Document:
    def __init__(self, name, version, epoch, program):
        digest = hashlib.sha256(program.read_bytes()).hexdigest()
        created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
        self.root = f"SPDXRef-{name}"
        self.packages = [{
            "SPDXID": self.root, "name": name, "versionInfo": version, "downloadLocation": HOME,
            "filesAnalyzed": False, "licenseDeclared": "BSD-3-Clause",
            "licenseConcluded": UNKNOWN, "copyrightText": UNKNOWN, "supplier": UNKNOWN,
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}]
        self.relations = [("SPDXRef-DOCUMENT", "DESCRIBES", self.root)]
        self.head = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"{name} {version}",
            "documentNamespace": f"{HOME}/spdx/{name}-{version}-{digest[:16]}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": ["Tool: rocescope-make_sbom.py"]}}

    def add(self, kind, name, version, its_licence, locator, relation):
        identifier = f"SPDXRef-{kind}-" + re.sub(r"[^\w.-]", "-", name).replace("_", "-")
        self.packages.append({
            "SPDXID": identifier, "name": name, "versionInfo": version, "filesAnalyzed": False,
            "downloadLocation": UNKNOWN, "licenseDeclared": its_licence, "licenseConcluded": UNKNOWN,
            "copyrightText": UNKNOWN, "supplier": UNKNOWN,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": locator}]})
        if relation.endswith("_OF"):
            self.relations.append((identifier, relation, self.root))
        else:
            self.relations.append((self.root, relation, identifier))

    def add_debian(self, package, relation):
        version, architecture = output("dpkg-query", "-W", "-f", "${Version} ${Architecture}\n",
                                       package).splitlines()[0].split()
        self.add("deb", package, version, licence(package),
                 f"pkg:deb/debian/{package.replace('+', '%2B')}@{version.replace('+', '%2B')}"
                 f"?arch={architecture}", relation)

    def text(self):
        relations = [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                     for a, kind, b in self.relations]
        return json.dumps({**self.head, "packages": self.packages, "relationships": relations},
                          indent=1) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for option in ("program", "out"):
        parser.add_argument(f"--{option}", type=pathlib.Path, required=True)
    for option in ("lock", "packages"):
        parser.add_argument(f"--{option}", type=pathlib.Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    options = parser.parse_args()
    document = Document(options.name, options.version, options.epoch, options.program)
    for package in owners(shared_libraries(options.program)):
        document.add_debian(package, "DYNAMIC_LINK")
    for package in build_packages(options.packages) if options.packages else ():
        document.add_debian(package, "BUILD_DEPENDENCY_OF")
    for name, version, its_licence, _, is_tool in npm_packages(options.lock) if options.lock else ():
        locator = f"pkg:npm/{name.replace('@', '%40')}@{version}"
        document.add("npm", name, version, its_licence, locator,
                     "BUILD_TOOL_OF" if is_tool else "CONTAINS")
    options.out.write_text(document.text())


if __name__ == "__main__":
    main()
