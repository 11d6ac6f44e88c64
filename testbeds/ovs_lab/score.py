# SPDX-License-Identifier: BSD-3-Clause
"""The command `score`: compares the findings of the running appliance with the faults of the lab, or
scores a capture with `rocescope score`."""

import datetime
import subprocess

import appliance
import faults
from problem import Problem, say
from system import find_program

MISSED = 1


def score_capture(state, folder, options):
    """The program of the lab, or the newest one if the lab is not up."""
    try:
        program = state.require()["rocescope"]
    except Problem:
        program = find_program(None, "rocescope", "appliance")
    if program is None:
        raise Problem("the program rocescope was not found; build it (ninja -C build/release rocescope), or add its "
                      "folder to PATH")
    return subprocess.run([program, "score", folder, *options]).returncode


def score_appliance(state):
    """Returns 1 if a fault was missed or found with the wrong place or kind, or if a finding is false. Faults that
    are suspected, invisible, or found before their start do not count."""
    lab = state.require_complete()
    answer = appliance.ask(state, lab, "/api/v1/findings")
    rows, false = compare(faults.all_of(state), answer["findings"], answer.get("suspected_findings", ()))
    missed = False
    for number, fault, finding, result in rows:
        truth = fault["truth"]
        delay = f"{seconds_after(finding, truth):5.1f} s" if finding and result != "active before" else ""
        print(f"fault {number:<3} {truth['kind']:<18} {truth['place']:<40} {result:<13} {delay}")
        missed |= result in ("missed", "wrong place", "wrong kind")
    for finding in false:
        print(f"false     {finding['kind']:<18} {finding['place']:<40} confidence {finding['confidence']:.2f}")
    if not rows and not false:
        say("no faults were injected, and there are no findings")
    return MISSED if missed or false else 0


def nanoseconds(text):
    """A time in the format of RFC 3339, with up to nine decimal places, in nanoseconds since the epoch."""
    whole, _, rest = text.rstrip("Z").partition(".")
    time = datetime.datetime.fromisoformat(f"{whole}+00:00")
    return int(time.timestamp()) * 10**9 + int((rest or "0").ljust(9, "0"))


def seconds_after(finding, truth):
    return (nanoseconds(finding["detection_time"]) - truth["start_ns"]) / 1e9


def is_same_place(truth, place):
    links = [truth["place"], *truth.get("declared_links", [])]
    return any(place in (link, "-".join(reversed(link.split("-")))) for link in links)


def overlaps(truth, finding, margin_ns):
    start = nanoseconds(finding["start_time"])
    end = nanoseconds(finding["end_time"]) if finding.get("end_time") else 2**63
    return start <= truth.get("end_ns", 2**63) + margin_ns and end >= truth["start_ns"] - margin_ns


def compare(injected, findings, suspected=(), margin_ns=5 * 10**9):
    """Rows (number, fault, finding, result), and the findings that no fault explains."""
    rows, used = [], []
    for number, fault in injected.items():
        truth = fault["truth"]
        if fault.get("benign") or "start_ns" not in truth:
            continue
        # A finding that was detected earlier is not a result of this fault.
        near = [one for one in findings if overlaps(truth, one, margin_ns) and seconds_after(one, truth) >= 0]
        right_kind = [one for one in near if one["kind"] == truth["kind"]]
        right_place = [one for one in near if is_same_place(truth, one["place"])]
        both = [one for one in right_kind if one in right_place]
        unsure = [one for one in suspected if one["kind"] == truth["kind"] and overlaps(truth, one, margin_ns)
                  and is_same_place(truth, one["place"])]
        earlier = [one for one in findings if overlaps(truth, one, 0) and one not in near
                   and one["kind"] == truth["kind"] and is_same_place(truth, one["place"])]
        for candidates, result in ((both, "right"), (earlier, "active before"), (unsure, "suspected"),
                                   (right_place, "wrong kind"), (right_kind, "wrong place"), ([None], "missed")):
            if candidates:
                used += candidates
                visible = result != "missed" or truth.get("visible_ns")
                rows.append((number, fault, candidates[0], result if visible else "invisible"))
                break
    return rows, [one for one in findings if one not in used]
