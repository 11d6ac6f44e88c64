# SPDX-License-Identifier: BSD-3-Clause
"""The commands of testbeds/lab and their options."""

import argparse
import json
import math

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


def natural(text):
    """A whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 0")
    return int(text)


def positive(text):
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 1")
    return int(text)


def port(text):
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number from 1 to 65535")
    return int(text)


def positive_number(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def add_to(parser):
    sub = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name, run, help_text, needs_root=True):
        added = sub.add_parser(name, help=help_text, description=help_text)
        added.add_argument("--name", default="lab", help="name of the lab, the prefix of its namespaces "
                                                         "(default: lab)")
        added.set_defaults(run=run, needs_root=needs_root)
        return added

    add_up(command("up", run_up, "Build a lab, and start its traffic and the appliance."))
    command("down", run_down, "Remove a lab, even if it was not built completely.")
    command("status", lambda o: show_status(State(o.name)),
            "Show the state of a lab: processes, frames on the links, faults, jobs, and the appliance's health.")
    add_fault(command("fault", run_fault, "Inject a fault. It lasts until `heal`, or for --seconds."))
    one = command("heal", run_heal, "End faults.")
    one.add_argument("numbers", metavar="N", nargs="*", type=positive, help="number of a fault (default: all faults)")
    add_capture(command("capture", run_capture, "Record what the collector receives as a run directory, with the "
                                                "ground truth. All active faults end with the capture."))
    one = command("score", run_score, "Compare the findings of the running appliance with the injected faults, or "
                                      "score a capture (DIR) with `rocescope score`.", needs_root=False)
    one.add_argument("directory", metavar="DIR", nargs="?", help="run directory (default: the running appliance)")
    one.add_argument("options", metavar="OPTION", nargs="*", help="options of `rocescope score`, after --")
    add_replay(command("replay", run_replay, "Send the RoCEv2 packets of a capture through the fabric, with their "
                                             "addresses mapped to hosts of the lab. Show how many packets arrive "
                                             "and are mirrored."))
    one = command("regression", run_regression,
                  "Check that `rocescope replay` finds the faults of a fixed set of runs. Runs that are missing in DIR "
                  "are captured first (only root can do that), in a lab that is removed afterwards.", needs_root=False)
    one.add_argument("-d", "--directory", required=True, metavar="DIR", help="directory of the runs")
    add_programs(one)
    one = command("traffic", run_traffic, "Start the endpoints of all hosts again, or stop them. With Slurm: submit "
                                          "the jobs again, or cancel them.")
    one.add_argument("action", choices=("start", "stop"))
    one = command("slurm", run_slurm, "Run a command of Slurm on the controller, such as `squeue` or `scontrol show "
                                      "topology`. The exit code is that of the command.")
    one.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="command and its options")


def add_fault(fault):
    fault.epilog, fault.formatter_class = fault_kinds.help_text(), argparse.RawDescriptionHelpFormatter
    fault.add_argument("kind", metavar="KIND", choices=fault_kinds.KINDS, help="kind of fault, see below")
    fault.add_argument("place", metavar="PLACE", help="link, switch or host, see below")
    fault.add_argument("value", metavar="VALUE", nargs="?", help="size of the fault, see below")
    fault.add_argument("--seconds", type=positive_number, metavar="S", help="end the fault after this time "
                                                                            "(default: it lasts until `heal`)")


def add_capture(capture_command):
    capture_command.add_argument("-d", "--directory", required=True, metavar="DIR",
                                 help="run directory to write; created if it does not exist")
    capture_command.add_argument("--seconds", type=positive_number, default=60, metavar="S",
                                 help="duration (default: 60)")
    capture_command.add_argument("--fault", action="append", default=[], metavar="'ONSET DURATION KIND PLACE [VALUE]'",
                                 help="inject a fault ONSET seconds after the start of the capture, for DURATION "
                                      "seconds; repeatable. `lab fault --help` describes KIND, PLACE and VALUE")


def add_replay(replay_command):
    replay_command.add_argument("capture", metavar="CAPTURE.pcap", help="pcap file with complete packets")
    replay_command.add_argument("--map", action="append", default=[], metavar="OLD=HOST",
                                help="send and receive the packets of the address OLD at this host; repeatable "
                                     "(default for the other addresses: the other hosts in order, on alternating "
                                     "leaves)")
    replay_command.add_argument("--speed", type=positive_number, default=1, metavar="FACTOR",
                                help="replay speed: 2 takes half as long as the capture (default: 1)")


def add_up(up):
    number = {"type": positive, "metavar": "N"}
    up.add_argument("--leaves", default=2, help="number of leaf switches (default: 2)", **number)
    up.add_argument("--spines", default=2, help="number of spine switches (default: 2)", **number)
    up.add_argument("--hosts", default=4, help="number of hosts, each with one NIC and one GPU (default: 4)",
                    **number)
    up.add_argument("--speed", default="20000000", metavar="RATE",
                    help="speed of the links in bit/s, with a suffix such as 1G. The links are not limited to it, but "
                         "switches mark packets with CE as if their queues were drained at this rate (default: "
                         "20000000)")
    up.add_argument("--sflow-rate", default=64, help="sFlow sampling rate: one of N packets (default: 64)", **number)
    up.add_argument("--sflow-polling", type=natural, default=0, metavar="S",
                    help="seconds between sFlow counter samples, which report the speed of the virtual Ethernet "
                         "interfaces (10 Gbit/s) instead of --speed; 0: none (default: 0)")
    up.add_argument("--window", type=positive, default=2, metavar="S",
                    help="analysis window of the appliance in seconds (default: 2)")
    up.add_argument("--http", type=port, default=8080, metavar="PORT",
                    help="port of the dashboard on 127.0.0.1 (default: 8080)")
    up.add_argument("--grpc", type=port, default=50051, metavar="PORT",
                    help="port of the gRPC API on 127.0.0.1 (default: 50051)")
    up.add_argument("--jobs", metavar="FILE",
                    help="JSON file with a list of jobs, in the format of sim/scenario/README.md (default: two jobs "
                         "that use all hosts). With --slurm, `nodes` instead of `hosts` lets Slurm choose the hosts")
    up.add_argument("--slurm", action="store_true",
                    help="run the jobs with a Slurm cluster: slurmctld, and a slurmd for each host. Its prolog "
                         "registers the jobs with the appliance")
    up.add_argument("--no-traffic", action="store_true", help="do not start the endpoints")
    add_programs(up)


def add_programs(command):
    command.add_argument("--rocescope", metavar="PROGRAM",
                         help="path of rocescope (default: the newest in build/, or from PATH)")
    command.add_argument("--endpoint", metavar="PROGRAM",
                         help=f"path of {traffic.PROGRAM} (default: the newest in build/, or from PATH)")


def read_jobs(path):
    """The jobs of a file: a list, or an object with the key `jobs`."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise Problem(f"--jobs {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Problem(f"--jobs {path}: not a JSON file: {error}") from None
    jobs = content.get("jobs") if isinstance(content, dict) else content
    if not isinstance(jobs, list) or not jobs:
        raise Problem(f"--jobs {path}: expected a list of at least one job (sim/scenario/README.md)")
    return jobs


def run_up(options):
    known = {key: value for key, value in vars(options).items() if key not in ("name", "run", "needs_root", "jobs")}
    jobs = None if options.jobs is None else read_jobs(options.jobs)
    build.up(State(options.name), build.Options(**known, jobs=jobs))
    print(f"Dashboard: http://127.0.0.1:{options.http}/   gRPC: 127.0.0.1:{options.grpc}")


def run_down(options):
    state = State(options.name)
    if not state.exists():
        say(f'there is no lab "{options.name}"')
        return
    state.refuse_running_up()
    state.remove()
    say(f'lab "{options.name}" is removed')


def run_fault(options):
    state = State(options.name)
    number = faults.inject(state, options.kind, options.place, options.value, options.seconds)
    truth = faults.all_of(state)[number]["truth"]
    parts = [f"Fault {number}: {truth['kind']} at {truth['place']}"]
    if truth.get("direction"):
        parts.append(f"direction from {truth['direction']}")
    if value := fault_kinds.shown_value(options.kind, options.value):
        parts.append(value)
    print(", ".join(parts))


def run_heal(options):
    state = State(options.name)
    state.require_complete()
    healed = faults.heal(state, options.numbers)
    print(f"Ended: {', '.join(f'fault {number}' for number in healed)}" if healed else "No fault was active")


def planned_fault(text, capture_seconds):
    """(onset, duration, kind, place, value) of an option --fault."""
    words = text.split()
    try:
        onset, duration = float(words[0]), float(words[1])
        kind, place, *value = words[2:]
        if len(value) > 1 or not (0 <= onset < math.inf and 0 < duration < math.inf):
            raise ValueError
    except (ValueError, IndexError):
        raise Problem(f"--fault {text!r}: expected ONSET DURATION KIND PLACE [VALUE], with times in seconds, such as "
                      "'20 20 loss leaf0:spine1 1%'") from None
    if kind not in fault_kinds.KINDS:
        raise Problem(f"--fault {text!r}: unknown kind of fault {kind}; expected one of {', '.join(fault_kinds.KINDS)}")
    if onset >= capture_seconds:
        raise Problem(f"--fault {text!r}: the fault starts after the end of the capture ({capture_seconds:g} s); "
                      "increase --seconds")
    return onset, duration, kind, place, value[0] if value else None


def run_capture(options):
    capture.capture(State(options.name), options.directory, options.seconds,
                    [planned_fault(text, options.seconds) for text in options.fault])


def run_replay(options):
    replay.replay(State(options.name), options.capture, options.map, options.speed)


def run_regression(options):
    return regression.regression(State(options.name), options.directory, options.rocescope, options.endpoint)


def run_score(options):
    state = State(options.name)
    if options.directory is not None:
        return score.score_capture(state, options.directory, options.options)
    return score.score_appliance(state)


def run_traffic(options):
    state = State(options.name)
    lab = state.require_complete()
    if options.action == "stop":
        traffic.stop(state)
    else:
        build.start_traffic(state, Fabric(lab["fabric"]), traffic.find_endpoint(lab["endpoint"]))


def run_slurm(options):
    if not options.words:
        raise Problem("the command of Slurm is missing; run for example `testbeds/lab slurm squeue`")
    return slurm.run_command(State(options.name), options.words)
