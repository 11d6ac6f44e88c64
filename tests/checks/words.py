#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds words and phrases that docs/glossary.md replaces by the terms of the field.

    tests/checks/words.py [--summary] [--all] [--update-baseline] [PATH...]

Checks comments and string literals of source files, and the prose of Markdown files. Prints one line
per hit: file:line: word -> suggestion. words_baseline.txt lists how many hits each file may still
have; exit code 1 if a file exceeds its number. words_allowed.txt lists permanent exceptions.

    --all              print every hit, not only those of files that exceed the baseline
    --summary          print the number of hits per folder and per word
    --update-baseline  write the current numbers to words_baseline.txt
    PATH               check only these files and folders
"""
import argparse
import collections
import fnmatch
import io
import pathlib
import re
import subprocess
import sys
import tokenize

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BASELINE = HERE / "words_baseline.txt"
ALLOWED = HERE / "words_allowed.txt"

C_LIKE = {".cc", ".h", ".proto", ".ts", ".tsx", ".mjs", ".js"}
HASH_LIKE = {".sh", ".yaml", ".yml", ".cmake", ".service"}

# (name, pattern, suggestion). The name is what words_allowed.txt refers to.
WORDS = [
    ("re-sent", r"\bre-sen[dt]s?\b|\bresen[dt]s?\b|\bresending\b", "retransmitted"),
    ("octets", r"\boctets?\b", "bytes"),
    ("unseen", r"\bunseen\b", "missing (PSN gap)"),
    ("sureness", r"\bsureness\b|\bsurest\b|\bhow sure\b|\b[\d.]+ sure\b", "confidence"),
    ("would tell", r"\bwould tell\b", "missing telemetry"),
    ("tell", r"\b(?:un)?told\b|\btells?\b|\btelling\b", "report, export, contain, show, distinguish"),
    ("hear", r"\bhears?\b|\bheard\b|\bhearing\b", "receive"),
    ("box", r"\b(?:the|a|an|this|that|our|your|another|running|each|no) box\b|\bbox's\b"
     r"|\bbox\.(?:example|yaml|pem|key|py)\b|\bbox:\d|\bbuild/box\b",
     "the appliance"),
    ("mend", r"\bmend(?:s|ed|ing)?\b", "fix"),
    ("remedy", r"\bremed(?:y|ies)\b", "recommended action"),
    ("trouble", r"\btroubles?\b", "problem"),
    ("complaint", r"\bcomplaints?\b|\bcomplains?\b", "problem; reports"),
    ("sight", r"\bsight(?:s|ings?)?\b", "observation, packet observation"),
    ("verdict", r"\bverdicts?\b", "detection, detected_at"),
    ("witness", r"\bwitness(?:es|ed)?\b", "evidence, observation"),
    ("ail", r"\bail(?:s|ing|ments?)?\b", "fault"),
    ("hurt", r"\bhurts?\b|\bhurting\b", "affects"),
    ("whom", r"\bwhom\b", "name the subject"),
    ("taken back", r"\btak(?:en|es?) back\b|\btook back\b", "withdrawn"),
    ("hangs on", r"\bhangs? on\b", "depends on; impact"),
    ("or else", r"\bor else\b", "otherwise; alternative"),
    ("rhythm", r"\brhythms?\b", "iteration period"),
    ("in step", r"\bin step\b(?! \d| [A-Z`])", "synchronised"),
    ("waited for", r"\b(?:is|are|was|were|be|been) waited for\b", "the straggler"),
    ("notice", r"\bnotices? of congestion\b|\b(?:late|lost) notices?\b", "CNP"),
    ("best run", r"\bbest run\b", "placement, recommended nodes"),
    ("well", r"\bwell nodes?\b|\b(?:is|are|be) well\b", "healthy"),
    ("anew", r"\banew\b", "again, from scratch"),
    ("of late", r"\bof late\b|\blately\b", "recently, in the short window"),
    ("beside", r"\bbeside\b", "in addition to, next to"),
    ("begun", r"\bbegun\b", "started"),
    ("is over", r"\b(?:faults?|jobs?|runs?|it) (?:that )?(?:is|are|was|were) over\b(?! (?:TLS|TCP|UDP))",
     "resolved, ended"),
    ("said twice", r"\bsaid twice\b", "idempotent"),
    ("gave way", r"\bg(?:ave|ives?|iving) way\b|\bgave up\b", "evicted, dropped"),
    ("stand", r"\bst(?:ands?|ood)\b(?!-)(?! (?:alone|for|by|still|out)\b)", "is, are"),
    ("room", r"(?<!data )\brooms?\b", "space, capacity; module"),
    ("house", r"\bhouse rules?\b|\bthe house\b", "project"),
    ("floor", r"\b(?:lower|higher|sibling|same|other) floors?\b", "layer"),
    ("eye", r"\beyes?\b|\bears?\b", "name the reader or the receiver"),
    ("ways", r"\b(?:the|its|their|likely|known|of|which|by) ways\b", "paths; directions"),
    ("fillings", r"\bfillings?\b", "queue build-up, queue occupancy"),
    ("pulse", r"\bpulses?\b", "heartbeat"),
    ("gone by then", r"\bknown by then\b", "known at that time"),
]
# A comment that continues a sentence of something else. `lower` also holds for trailing comments.
STARTS = re.compile(r"(?:Of|By|Whose|Likewise|Who|Not that)\b"
                    r"(?! (?:default|convention|contrast|design|definition|course|these)\b)"
                    r"|That\b(?! (?:is|was|means|would|requires|makes)\b)")
LOWER_STARTS = re.compile(r"(?:of|whose|likewise|who|not that)\b")
MIDDLE_STARTS = re.compile(r"[.;!?]\s+(Whose|Likewise|Not that)\b")
PATTERNS = [(name, re.compile(pattern, re.I), hint) for name, pattern, hint in WORDS]

Hit = collections.namedtuple("Hit", "file line name word hint")
# kind: "comment", "string" or "prose"; line: of its beginning.
Text = collections.namedtuple("Text", "kind line text")

C_TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>\bR"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<number>\b\d[\w.]*(?:'\w+)+)
  | (?P<single>'(?:\\.|[^'\\\n])*')
  | (?P<template>`(?:\\.|[^`\\])*`)
""", re.X | re.S)
HASH_TOKEN = re.compile(r"""
    (?P<string>"(?:\\.|[^"\\])*"|'[^'\n]*')
  | (?P<comment>(?<![^\s])\#[^\n]*)
""", re.X)


def c_texts(source, suffix):
    """Comments and literals of C++, proto and TypeScript."""
    source = re.sub(r'^[ \t]*(?:#[ \t]*include|import)\b[^\n]*', "", source, flags=re.M)
    for match in C_TOKEN.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if match["comment"]:
            yield Text("comment", line, match["comment"])
        elif match["raw"]:
            yield Text("string", line, match["raw"])
        elif match["string"]:
            yield Text("string", line, match["string"][1:-1])
        elif match["single"] and suffix in {".ts", ".tsx", ".mjs", ".js"}:
            yield Text("string", line, match["single"][1:-1])
        elif match["template"] and suffix in {".ts", ".tsx", ".mjs", ".js"}:
            yield Text("string", line, re.sub(r"\$\{[^}]*\}", "x", match["template"][1:-1]))


def hash_texts(source):
    """Comments and quoted strings of shell, YAML and CMake."""
    for number, text in enumerate(source.split("\n"), 1):
        for match in HASH_TOKEN.finditer(text):
            if match["comment"]:
                if not match["comment"].startswith("#!"):
                    yield Text("comment", number, match["comment"])
            else:
                yield Text("string", number, match["string"][1:-1])


def python_texts(source):
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
    for token in tokens:
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            yield Text("comment", token.start[0], token.string)
        elif token.type == tokenize.STRING:
            yield Text("string", token.start[0], token.string)


def markdown_texts(source):
    """Prose: without fenced and indented code, inline code, link targets and HTML comments."""
    source = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), source, flags=re.S)
    fenced, was_blank, in_indented = False, True, False
    for number, text in enumerate(source.split("\n"), 1):
        if re.match(r"\s*(```|~~~)", text):
            fenced = not fenced
            continue
        blank = not text.strip()
        in_indented = bool(re.match(r" {4}|\t", text)) and (was_blank or in_indented)
        was_blank = blank
        if fenced or in_indented or blank:
            continue
        text = re.sub(r"`[^`]*`", "x", text)
        text = re.sub(r"\]\([^)]*\)", "]", text)
        yield Text("prose", number, text)


def texts_of(name, source):
    suffix = pathlib.PurePosixPath(name).suffix
    first = source.split("\n", 1)[0]
    if suffix in C_LIKE:
        return c_texts(source, suffix)
    if suffix == ".py" or (not suffix and first.startswith("#!") and "python" in first):
        return python_texts(source)
    if (suffix in HASH_LIKE or name.endswith("CMakeLists.txt")
            or (not suffix and first.startswith("#!") and "sh" in first)):
        return hash_texts(source)
    if suffix == ".md":
        return markdown_texts(source)
    return ()


# Names of code and files inside text: `code`, dataplane/flow/table.h, Message.field.
NAMES = re.compile(r"`[^`]*`|\b\w+(?:[/.]\w+)+\b")


def bare(comment):
    """A line of a comment without its marks."""
    return re.sub(r"^\s*(?:///?|/\*+|\*+(?!/)|#+)?!?\s*", "", comment).rstrip("*/ \t")


def is_prose(text):
    """Literals without a space are keys, names and formats."""
    return " " in text.strip()


def find(name, source):
    """Every hit in a file, in order of lines."""
    last = None  # the line of the comment before
    for kind, line, text in texts_of(name, source):
        if kind == "string" and not is_prose(text):
            continue
        for offset, part in enumerate(text.split("\n")):
            at = line + offset
            if kind == "comment":
                part = bare(part)
                begins = STARTS.match(part) or LOWER_STARTS.match(part)
                if begins and last != at - 1 and offset == 0 and not part.endswith("?"):
                    yield Hit(name, at, "start", begins[0], "write a full sentence")
                last = at
            part = NAMES.sub("x", part)
            if kind != "string" and (middle := MIDDLE_STARTS.search(part)):
                yield Hit(name, at, "start", middle[1], "write a full sentence")
            for word, pattern, hint in PATTERNS:
                for match in pattern.finditer(part):
                    yield Hit(name, at, word, match[0], hint)


def read_allowed(text):
    """Lines "GLOB: WORD: reason"; the word * stands for every word."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(":", 2)]
        if len(parts) != 3 or not parts[2]:
            raise SystemExit(f"words_allowed.txt:{number}: expected \"GLOB: WORD: reason\"")
        rows.append((parts[0], parts[1]))
    return rows


def is_allowed(hit, allowed):
    return any(fnmatch.fnmatch(hit.file, glob) and word in ("*", hit.name)
               for glob, word in allowed)


def read_baseline(text):
    rows = (line.rsplit(":", 1) for line in text.splitlines()
            if line.strip() and not line.startswith("#"))
    return {name: int(count) for name, count in rows}


def write_baseline(hits):
    counts = collections.Counter(hit.file for hit in hits)
    lines = ["# How many hits of words.py each file may have. Written by words.py --update-baseline."]
    return "\n".join(lines + [f"{name}: {counts[name]}" for name in sorted(counts)]) + "\n"


def exceeding(hits, baseline):
    """The hits of files that have more of them than the baseline allows."""
    counts = collections.Counter(hit.file for hit in hits)
    return [hit for hit in hits if counts[hit.file] > baseline.get(hit.file, 0)]


def folder_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else (parts[0] + "/" if len(parts) == 2 else ".")


def summary(hits):
    by_folder = collections.Counter(folder_of(hit.file) for hit in hits)
    by_word = collections.Counter(hit.name for hit in hits)
    lines = [f"{count:6d}  {folder}" for folder, count in sorted(by_folder.items())]
    lines += [f"{sum(by_folder.values()):6d}  in all", ""]
    return lines + [f"{count:6d}  {word}" for word, count in by_word.most_common()]


def tracked(root, paths):
    out = subprocess.run(["git", "ls-files", "-z", "--", *paths], cwd=root, check=True,
                         capture_output=True, text=True).stdout
    return [name for name in out.split("\0") if name]


def find_all(root, paths, allowed):
    hits = []
    for name in tracked(root, paths):
        if "/testdata/" in name or "/corpus/" in name:
            continue
        try:
            source = (root / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        hits += [hit for hit in find(name, source) if not is_allowed(hit, allowed)]
    return hits


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--update-baseline", action="store_true")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    options = parser.parse_args()
    if options.update_baseline and options.paths:
        parser.error("--update-baseline takes no PATH: the baseline covers the whole repository")

    hits = find_all(ROOT, options.paths, read_allowed(ALLOWED.read_text()))
    if options.update_baseline:
        BASELINE.write_text(write_baseline(hits))
        print(f"{BASELINE.relative_to(ROOT)}: {len(hits)} hits", file=sys.stderr)
        return 0
    baseline = read_baseline(BASELINE.read_text()) if BASELINE.exists() else {}
    worse = exceeding(hits, baseline)
    if options.summary:
        print("\n".join(summary(hits)))
    else:
        for hit in hits if options.all else worse:
            print(f"{hit.file}:{hit.line}: {hit.word} -> {hit.hint}")
    if worse:
        files = sorted({hit.file for hit in worse})
        print(f"{len(files)} files have more hits than words_baseline.txt allows: "
              f"{', '.join(files[:5])}{' ...' if len(files) > 5 else ''}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
