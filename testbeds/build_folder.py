# SPDX-License-Identifier: BSD-3-Clause
"""Finds the build folder whose programs the scripts of this folder run."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROCESCOPE = "appliance/rocescope"
SIMULATOR = "sim/rocescope-sim"


def build_folder(given, programs=(ROCESCOPE, SIMULATOR), builds=ROOT / "build"):
    """Returns `given`, or without it the folder below `builds` with the newest programs. Exits with 2 if a
    program is missing."""
    if given is not None:
        missing = [name for name in programs if not (given / name).is_file()]
        if missing:
            fail(f"{given / missing[0]} does not exist: build it, or name another folder with --build")
        return given
    complete = [folder for folder in builds.glob("*")
                if all((folder / name).is_file() for name in programs)]
    if not complete:
        fail(f"no folder in {builds} contains {' and '.join(programs)}: build them with `cmake --preset lab && "
             "cmake --build --preset lab`, or name their build folder with --build")
    return max(complete, key=lambda folder: min((folder / name).stat().st_mtime for name in programs))


def add_option(parser):
    parser.add_argument("--build", type=pathlib.Path, metavar="FOLDER",
                        help="build folder with the programs (default: the folder in build/ whose programs are "
                             "the newest)")


def fail(message):
    print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(2)
