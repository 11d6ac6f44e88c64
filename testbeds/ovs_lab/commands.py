# SPDX-License-Identifier: BSD-3-Clause
"""The commands of testbeds/lab and their options."""

import argparse
import json
import math
import os

import build
import capture
import fault_kinds
import faults
import regression
import replay
import score
import slurm
import traffic
from fabric import Fabric
from problem import Problem, say
from state import State
from status import show_status


def positive(text):
    value = int(text)
    if value <= 0:
        raise ValueError
    return value


def positive_number(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def add_to(parser):
    sub = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name, run, help_text):
        added = sub.add_parser(name, help=help_text, description=help_text)
        added.add_argument("--name", default="lab", help="name of the lab, the prefix of its namespaces "
                                                         "(default: lab)")
        added.set_defaults(run=run)
        return added

    add_up(command("up", run_up, "Build a lab and start its traffic and the appliance."))
    command("down", run_down, "Remove a lab, also one that was not built completely.")
    command("status", lambda o: show_status(State(o.name)), "Show the parts of a lab and the appliance's health.")
    one = command("fault", run_fault, "Inject a fault. It lasts until `heal`, or for --seconds.")
    one.epilog, one.formatter_class = fault_kinds.help_text(), argparse.RawDescriptionHelpFormatter
    one.add_argument("kind", metavar="KIND", choices=fault_kinds.KINDS, help="see below")
    one.add_argument("place", metavar="PLACE")
    one.add_argument("value", metavar="VALUE", nargs="?")
    one.add_argument("--seconds", type=float, metavar="S", help="end the fault after this time")
    one = command("heal", run_heal, "End faults.")
    one.add_argument("numbers", metavar="N", nargs="*", type=int, help="number of a fault (default: all faults)")
    one = command("capture", run_capture, "Record what the collector receives, as a run directory.")
    one.add_argument("-d", "--directory", required=True, metavar="DIR", help="run directory to write")
    one.add_argument("--seconds", type=float, default=60, metavar="S", help="duration (default: 60)")
    one.add_argument("--fault", action="append", default=[], metavar="'ONSET DURATION KIND PLACE [VALUE]'",
                     help="inject a fault this many seconds after the start, for this many seconds; repeatable")
    one = command("score", run_score, "Compare the findings of the appliance with the faults, or score a "
                                      "capture.")
    one.add_argument("directory", metavar="DIR", nargs="?", help="run directory (default: the running appliance)")
    one.add_argument("options", metavar="OPTION", nargs="*", help="options of `rocescope score`, after --")
    one = command("replay", run_replay, "Send the RoCEv2 packets of a capture through the fabric, with their addresses "
                                        "mapped to hosts of the lab, and show how many arrive and are mirrored.")
    one.add_argument("capture", metavar="CAPTURE.pcap", help="pcap file with complete packets")
    one.add_argument("--map", action="append", default=[], metavar="OLD=HOST",
                     help="the host that has this address of the capture; repeatable (default: the other hosts in "
                          "order, on alternating leaves)")
    one.add_argument("--speed", type=positive_number, default=1, metavar="FACTOR",
                     help="2 sends in half of the time (default: 1)")
    one = command("regression", run_regression,
                  "Check that `rocescope replay` finds the faults of a fixed set of runs. Runs that DIR lacks are "
                  "captured first, in a lab of their own that is removed afterwards.")
    one.add_argument("-d", "--directory", required=True, metavar="DIR", help="directory of the runs")
    add_programs(one)
    one = command("traffic", run_traffic, "Start or stop the endpoints of all hosts. With Slurm: submit or "
                                          "cancel the jobs.")
    one.add_argument("action", choices=("start", "stop"))
    one = command("slurm", run_slurm, "Run a command of Slurm on the controller, such as `squeue` or `scontrol show "
                                      "topology`.")
    one.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="command and its options")


def add_up(up):
    number = {"type": positive, "metavar": "N"}
    up.add_argument("--leaves", default=2, help="number of leaf switches (default: 2)", **number)
    up.add_argument("--spines", default=2, help="number of spine switches (default: 2)", **number)
    up.add_argument("--hosts", default=4, help="number of hosts, each with one NIC and one GPU (default: 4)",
                    **number)
    up.add_argument("--speed", default="20000000", metavar="RATE",
                    help="speed of the links in bit/s, or such as 1G; switches mark packets with CE as if their "
                         "queues were drained at this rate (default: 20000000)")
    up.add_argument("--sflow-rate", default=64, help="one of N packets is sampled (default: 64)", **number)
    up.add_argument("--sflow-polling", type=int, default=0, metavar="S",
                    help="seconds between counter samples, which contain the speed of the virtual Ethernet "
                         "interfaces (10 Gbit/s) instead of --speed; 0: none (default: 0)")
    up.add_argument("--window", type=positive, default=2, metavar="S",
                    help="analysis window in seconds (default: 2)")
    up.add_argument("--http", default=8080, help="port of the dashboard on 127.0.0.1 (default: 8080)", **number)
    up.add_argument("--grpc", default=50051, help="port of the gRPC API on 127.0.0.1 (default: 50051)", **number)
    up.add_argument("--jobs", metavar="FILE", help="JSON file with the list of jobs, in the format of "
                                                   "sim/scenario/README.md (default: two jobs on all hosts); with"
                                                   " --slurm, `nodes` instead of `hosts` lets Slurm choose the hosts")
    up.add_argument("--slurm", action="store_true",
                    help="submit the jobs with a Slurm cluster that has a slurmd for each host; it registers them "
                         "with the appliance")
    up.add_argument("--no-traffic", action="store_true", help="do not start the endpoints")
    add_programs(up)


def add_programs(command):
    command.add_argument("--rocescope", metavar="PROGRAM",
                         help="the program rocescope (default: the newest in build/, or from PATH)")
    command.add_argument("--endpoint", metavar="PROGRAM",
                         help=f"the program {traffic.PROGRAM} (default: the newest in build/, or from PATH)")


def read_jobs(path):
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise Problem(f"{path}: {error}") from None
    return content["jobs"] if isinstance(content, dict) else content


def run_up(options):
    known = {key: value for key, value in vars(options).items() if key not in ("name", "run", "jobs")}
    build.up(State(options.name), build.Options(**known, jobs=read_jobs(options.jobs) if options.jobs else None))
    print(f"Dashboard: http://127.0.0.1:{options.http}/   gRPC: 127.0.0.1:{options.grpc}")


def run_down(options):
    if os.geteuid() != 0:
        raise Problem("only root can remove a lab; run this command as root")
    state = State(options.name)
    if not state.exists():
        say(f"there is no lab {options.name}")
        return
    state.remove()
    say(f'lab "{options.name}" is removed')


def run_fault(options):
    state = State(options.name)
    number = faults.inject(state, options.kind, options.place, options.value, options.seconds)
    truth = faults.all_of(state)[number]["truth"]
    print(f"Fault {number}: {truth['kind']} at {truth['place']}"
          + (f", sent by {truth['direction']}" if truth.get("direction") else ""))


def run_heal(options):
    state = State(options.name)
    state.require()
    healed = faults.heal(state, options.numbers)
    print(f"Ended: {', '.join(f'fault {number}' for number in healed) or 'no fault is active'}")


def planned_fault(text):
    words = text.split()
    try:
        onset, duration = float(words[0]), float(words[1])
        kind, place = words[2:4]
        fault_kinds.KINDS[kind]
    except (ValueError, IndexError, KeyError):
        raise Problem(f"--fault {text!r}: expected ONSET DURATION KIND PLACE [VALUE], such as "
                      "'20 20 loss leaf0:spine1 1%'") from None
    return onset, duration, kind, place, words[4] if len(words) > 4 else None


def run_capture(options):
    capture.capture(State(options.name), options.directory, options.seconds,
                    [planned_fault(text) for text in options.fault])


def run_replay(options):
    replay.replay(State(options.name), options.capture, options.map, options.speed)


def run_regression(options):
    return regression.regression(State(options.name), options.directory, options.rocescope, options.endpoint)


def run_score(options):
    state = State(options.name)
    if options.directory:
        return score.score_capture(state, options.directory, options.options)
    return score.score_appliance(state)


def run_traffic(options):
    state = State(options.name)
    lab = state.require()
    if options.action == "stop":
        traffic.stop(state)
    else:
        build.start_traffic(state, Fabric(lab["fabric"]), traffic.find_endpoint(lab["endpoint"]))


def run_slurm(options):
    if not options.words:
        raise Problem("expected a command of Slurm, such as `testbeds/lab slurm squeue`")
    return slurm.run_command(State(options.name), options.words)
