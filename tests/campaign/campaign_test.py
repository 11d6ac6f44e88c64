#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests a campaign of six drawn scenarios: it runs, can be resumed, and its statements are right.

    campaign_test.py CAMPAIGN BUILD

The goals are for campaigns with many runs. For these few runs, all statements must be right: no pair
outside its stripe, no path that is stated and wrong (except during a change), and no fault other than
the simulated one, which every view must report with its place.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

COUNT = 6
SEED = 20271


def run(campaign, build, directory, seed=SEED, *more):
    return subprocess.run([campaign, "--count", str(COUNT), "--seed", str(seed), "-d",
                           str(directory), "--build", build, *more], capture_output=True, text=True)


def share(scores, view, name):
    right = of = 0.0
    for score in scores:
        for one in score["views"]:
            for measure in one["measures"]:
                if one["view"] == view and measure["name"] == name:
                    right += measure["right"]
                    of += measure["of"]
    assert of > 0, f"{view} has no {name}"
    return right / of


def main():
    campaign, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder)
        first = run(campaign, build, directory)
        print(first.stdout, first.stderr, sep="\n")
        assert first.returncode in (0, 1), f"exit code {first.returncode}"
        files = sorted((directory / "scores").glob("*.score.json"))
        assert len(files) == COUNT, files
        assert not list(directory.glob("run-*")), "runs must be deleted"
        assert (directory / "summary.txt").read_text() in first.stdout

        scores = [json.loads(file.read_text()) for file in files]
        for view in ("all-ports", "leaves", "port-sets", "lossy-leaves", "leaves-alone"):
            precision = share(scores, view, "stripe_precision")
            assert precision >= 0.995, f"{view}: {precision:.4f} of the stated stripes are right"
            precision = share(scores, view, "pair_precision")
            assert precision >= 0.99, f"{view}: {precision:.4f} of the stated pairs are right"
        for view in ("all-ports", "leaves", "port-sets"):
            assert share(scores, view, "path_wrong") <= 0.02, view
        assert share(scores, "all-ports", "path") >= 0.95
        visible = 0
        for score in scores:
            views = {one["view"]: one for one in score["views"]}
            for view in ("full", "leaf-switch-counters", "port-sets-counters"):
                assert not views[view]["measures"], "this view is only about faults"
                findings = views[view]["findings"]
                where = f"{score['scenario']}, {view}"
                assert len(findings["faults"]) == len(score["faults"]), where
                assert not findings["false_findings"], f"{where}: {findings['false_findings']}"
                for fault in findings["faults"]:
                    if not fault["visible"]:
                        continue
                    visible += 1
                    said = (fault["stated_kind"], fault["stated_place"])
                    assert fault["kind_right"] and fault["place_right"], f"{where}: found {said}"
                    assert fault["detector"], f"{where}: no detector found {said}"
                judged = findings.get("judged", [])
                assert all(one["detector"] and one["readings"] == "simultaneous" for one in judged), where
        assert visible >= COUNT, "too few of the drawn faults are detectable in the three views"

        results = json.loads((directory / "results.json").read_text())
        assert results["campaign"]["count"] == COUNT
        groups = {group["view"]: group for group in results["groups"]}
        assert set(groups) == {"full", "leaf-switch-counters", "port-sets-counters"}, groups.keys()
        for view, group in groups.items():
            figures = {figure["name"]: figure for figure in group["figures"]}
            assert group["run_count"] == COUNT, view
            assert figures["detection_recall"]["value"] == 1, view
            assert figures["false_alarms_per_1000_windows"]["value"] == 0, view
            assert figures["false_alarms_per_1000_windows"]["upper_bound"] > 0, view
            detectors = {one["detector"]: one for one in group["detectors"]}
            assert detectors[""]["finding_count"] >= figures["detection_recall"]["numerator"], view
            assert sum(one["finding_count"] for one in group["detectors"]) == 2 * detectors[""]["finding_count"], view
            assert not any(one["false_finding_count"] or one["violated"] for one in group["detectors"]), view

        # Runs it again: one score is regenerated, the others do not change.
        stamps = {file: file.stat().st_mtime_ns for file in files[1:]}
        text = files[0].read_text()
        files[0].unlink()
        again = run(campaign, build, directory)
        assert again.returncode == first.returncode and again.stdout == first.stdout
        assert files[0].read_text() == text, "the same scenario has another score"
        assert all(file.stat().st_mtime_ns == stamp for file, stamp in stamps.items())
        for other in (run(campaign, build, directory, SEED + 1),
                      run(campaign, build, directory, SEED, "--view", "diagnosis")):
            assert other.returncode not in (0, 1) and "other arguments" in other.stderr

        profile = directory / "invalid.yaml"
        profile.write_text("name: invalid\npoll: {switches: {period: -30s}}\n")
        refused = run(campaign, build, directory / "other", SEED, "--profile", str(profile))
        assert refused.returncode == 2 and "invalid.yaml:2:27: " in refused.stderr, refused.stderr
        assert not (directory / "other").exists(), "the profile must be checked first"


if __name__ == "__main__":
    main()
