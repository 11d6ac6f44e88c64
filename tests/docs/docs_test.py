#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documentation agrees with the programs: docs_test.py BUILD [CLASS...]; README.md has the rules."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
FOLDERS = ("analytics", "appliance", "base", "cmake", "dataplane", "docker", "docs", "sim", "testbeds",
           "tests", "topology", ".ci", ".github")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.M | re.S)


def pages():
    return [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")] + \
        sorted((ROOT / "docs").rglob("*.md"))


def without_code(text):
    text = FENCE.sub("", text)
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def slug(heading):
    """The anchor that mkdocs and GitHub give a heading."""
    heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def anchors(path):
    return {slug(match) for match in re.findall(r"^#+ +(.*)$", FENCE.sub("", path.read_text()), re.M)}


def links(text):
    """Targets of links and images, also in HTML."""
    text = re.sub(r"`[^`\n]*`", lambda m: "" if "](" in m[0] else m[0], without_code(text))
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)


def is_outside(target):
    return re.match(r"[a-z][a-z+.-]*:", target) is not None


def broken_links(path):
    for target in links(path.read_text()):
        if is_outside(target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            yield f"{path.relative_to(ROOT)}: {target}: there is no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{path.relative_to(ROOT)}: {target}: there is no such heading"


def missing_paths(path):
    """Inline code that looks like a file of this repository, and is none."""
    for word in re.findall(r"`([^`\n]+)`", without_code(path.read_text())):
        name = word.split()[0].rstrip(",;")
        if (name.split("/")[0] in FOLDERS and "/" in name and re.fullmatch(r"[\w./-]+", name)
                and not (ROOT / name).exists()):
            yield f"{path.relative_to(ROOT)}: `{name}` does not exist"


def commands(text):
    """Command and expected exit code of each `console` block that runs."""
    for block in FENCE.finditer(text):
        before = text[:block.start()].rstrip("\n").rsplit("\n", 1)[-1]
        if block["language"] != "console" or "<!-- not run -->" in before:
            continue
        body = re.sub(r"\\\n\s*>?", " ", block["body"])
        found = [line.strip()[2:] for line in body.split("\n") if line.strip().startswith("$ ")]
        code = re.search(r"<!-- exit (\d+) -->", before)
        for index, command in enumerate(found):
            yield command, int(code[1]) if code and index == len(found) - 1 else 0


def scenarios(text):
    """File name and content of each `yaml` block that is a scenario."""
    for block in FENCE.finditer(text):
        name = re.match(r"name: ([\w-]+)\n", block["body"])
        if block["language"] == "yaml" and name:
            yield f"{name[1]}.yaml", block["body"]


class Extraction(unittest.TestCase):
    """The functions above find what they should."""

    def test_commands_continue_over_lines_and_have_an_exit_code(self):
        text = "```console\n$ a \\\n    b\noutput\n$ c\n```\n<!-- exit 3 -->\n```console\n$ d\n```\n"
        self.assertEqual(list(commands(text)), [("a  b", 0), ("c", 0), ("d", 3)])

    def test_blocks_that_are_marked_do_not_run(self):
        self.assertEqual(list(commands("<!-- not run -->\n```console\n$ a\n```\n```text\n$ b\n```\n")), [])

    def test_a_scenario_has_a_name(self):
        self.assertEqual(list(scenarios("```yaml\nname: a-b\nseed: 1\n```\n```yaml\nc: 1\n```\n")),
                         [("a-b.yaml", "name: a-b\nseed: 1\n")])

    def test_a_slug_is_what_mkdocs_and_github_make(self):
        self.assertEqual(slug("How do I read `a_b`, and what-not?"), "how-do-i-read-a_b-and-what-not")

    def test_links_in_code_are_none(self):
        self.assertEqual(links("[a](b.md) `[c](d.md)`\n```text\n[e](f.md)\n```\n"), ["b.md"])


class Generated(unittest.TestCase):
    def test_generated_pages_are_up_to_date(self):
        run = subprocess.run([sys.executable, "-B", ROOT / "docs/generate", "--check", BUILD],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout[-4000:] + run.stderr)


class Links(unittest.TestCase):
    def test_relative_links_and_anchors_exist(self):
        self.assertEqual([text for path in pages() for text in broken_links(path)], [])

    def test_files_that_are_named_exist(self):
        self.assertEqual([text for path in pages() for text in missing_paths(path)], [])

    def test_every_page_is_in_the_navigation(self):
        navigation = (ROOT / "mkdocs.yml").read_text()
        for path in sorted((ROOT / "docs").rglob("*.md")):
            self.assertIn(f" {path.relative_to(ROOT / 'docs')}\n", navigation)

    def test_metrics_alerts_and_settings_that_are_named_exist(self):
        reference = ROOT / "docs/reference"
        metrics = (reference / "metrics.md").read_text()
        settings = (reference / "configuration.md").read_text()
        sections = set(re.findall(r"^(\w+):$", settings, re.M))
        for path in pages():
            if path.parent == reference:
                continue
            for word in re.findall(r"`([^`\n]+)`", without_code(path.read_text())):
                with self.subTest(page=path.name, word=word):
                    if re.fullmatch(r"Roce\w+", word) or re.fullmatch(r"rocescope_[a-z_]+\*?", word):
                        self.assertIn(f"`{word.rstrip('*')}", metrics)
                    if re.fullmatch(r"[a-z_]+(\[\])?(\.[a-z_]+(\[\])?)+", word) and \
                            word.split(".")[0] in sections:
                        key = word.split(".")[-1].removesuffix("[]")
                        self.assertRegex(settings, rf"(?m)^[\s#-]*{key}:")

    def test_calls_that_are_named_exist(self):
        paths = set(re.findall(r"^## GET (\S+)", (ROOT / "docs/reference/http.md").read_text(), re.M))
        for path in pages():
            for name in re.findall(r"/api/v1/[\w/-]*\w", path.read_text()):
                with self.subTest(page=path.name, call=name):
                    self.assertIn(name, {re.sub(r"/\{\w+\}$", "", at) for at in paths} |
                                  {"/api/v1/openapi"})

    def test_each_problem_of_the_doctor_is_explained(self):
        source = (ROOT / "appliance/daemon/service/doctor.cc").read_text()
        kinds = set(re.findall(r'OfKind[^"\n]*\("(\w+)"', source))
        self.assertIn("silent_source", kinds)
        headings = re.findall(r"^### (\w+)$", (ROOT / "docs/problems.md").read_text(), re.M)
        self.assertEqual(sorted(kinds), sorted(headings))

    def test_images_are_small(self):
        for path in sorted((ROOT / "docs/images").iterdir()):
            self.assertLessEqual(path.stat().st_size, 250_000, path.name)

    def test_the_readme_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), 150)


class Commands(unittest.TestCase):
    def run_page(self, path):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            work, programs = folder / "work", folder / "bin"
            work.mkdir()
            programs.mkdir()
            for entry in FOLDERS:
                if (ROOT / entry).exists():
                    (work / entry).symlink_to(ROOT / entry)
            for program in ("appliance/rocescope", "sim/rocescope-sim"):
                (programs / pathlib.Path(program).name).symlink_to(BUILD / program)
            for file, text in scenarios(path.read_text()):
                (work / file).write_text(text)
            environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
            for command, expected in commands(path.read_text()):
                with self.subTest(page=path.name, command=command):
                    run = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=work,
                                         env=environment, stdin=subprocess.DEVNULL,
                                         capture_output=True, text=True, timeout=300)
                    self.assertEqual(run.returncode, expected, run.stderr[-2000:])

    def test_commands_end_as_the_page_says(self):
        for program in ("appliance/rocescope", "sim/rocescope-sim"):
            self.assertTrue((BUILD / program).exists(), f"{BUILD / program} is not built")
        for path in pages():
            self.run_page(path)


class Site(unittest.TestCase):
    def test_mkdocs_builds_without_warnings(self):
        if shutil.which("mkdocs") is None:
            self.skipTest("mkdocs is not installed (docker/packages.txt)")
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(["mkdocs", "build", "--strict", "-q", "-d", folder], cwd=ROOT,
                                 capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
