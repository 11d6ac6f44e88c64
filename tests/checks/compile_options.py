# SPDX-License-Identifier: BSD-3-Clause
"""The options of the compile commands of a build, for clang, and the environment of ccache."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DROPPED = ("-c", "-Werror", "-Winvalid-pch")  # options that do not apply without an output
WITH_VALUE = ("-o", "-x", "-MF", "-MT", "-MQ", "-include", "-Xclang")


def tracked(*patterns):
    return subprocess.check_output(["git", "ls-files", *patterns], cwd=ROOT, text=True).split()


def sample(files, most):
    """At most `most` files: those that changed most recently, and as many others, which differ with each commit."""
    log = ["git", "log", "-n", "30", "--format=", "--name-only"]
    present = set(files)
    changed = [file for file in dict.fromkeys(subprocess.check_output(log, cwd=ROOT, text=True).split())
               if file in present]
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT)
    others = sorted(present - set(changed), key=lambda file: zlib.crc32(head + file.encode()))
    first = changed[:max(most // 2, most - len(others))]
    return first + others[:most - len(first)]


def of_command(command, folder):
    """The output, and preprocessor and language options, with absolute include paths."""
    words = shlex.split(command)
    compiler = next(i for i, word in enumerate(words) if re.search(r"(c|g|clang)\+\+(-[0-9]+)?$", word))
    options, output = [], ""
    arguments = iter(words[compiler + 1:])
    for word in arguments:
        if word in WITH_VALUE:
            value = next(arguments)
            if word == "-o":
                output = value
            elif word == "-include" and not value.endswith("cmake_pch.hxx"):
                options += [word, value]
        elif word in ("-isystem", "-I"):
            options += [word, str(pathlib.Path(folder, next(arguments)))]
        elif word.startswith("-I"):
            options.append("-I" + str(pathlib.Path(folder, word[2:])))
        elif word not in DROPPED and word.startswith("-") and not word.startswith("-M"):
            options.append(word)
    return output, options


def commands(build):
    """(source, output, options) of each compile command."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        yield (entry["file"], *of_command(entry["command"], entry["directory"]))


def cached(program, **settings):
    """The command and environment with which ccache runs a compiler, or the compiler alone without ccache."""
    ccache = [shutil.which("ccache")] if shutil.which("ccache") else []
    return [*ccache, program], {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", **settings}
