#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests a campaign with telemetry profiles: each scenario is simulated once, and each profile is
applied and scored. Scripts replace the simulator and the program, and log their arguments.

    profile_test.py CAMPAIGN
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

SIMULATOR = """#!/usr/bin/env python3
import pathlib, sys
words = sys.argv[1:]
if words[:2] == ["profile", "/dev/null"]:
    name = words[words.index("--profile") + 1]
    sys.exit(f"rocescope-sim: --profile {name}: {name}:2:27: period must be above 0"
             if name.endswith("invalid.yaml") else "rocescope-sim: /dev/null/run.json: cannot be opened")
with open(sys.argv[0] + ".log", "a") as log:
    print(*words, file=log)
to = pathlib.Path(words[words.index("-d") + 1])
if words[0] == "draw":
    for name in ("0001-flap", "0002-healthy", "0003-gray_loss"):
        (to / f"{name}.yaml").write_text(f"name: {name}\\n")
else:
    if words[0] == "profile":
        if words[words.index("--profile") + 1].endswith("impossible.yaml"):
            sys.exit("no readings")
        assert (pathlib.Path(words[1]) / "exact").exists(), "the run has no exact counters"
    to.mkdir()
    (to / ("exact" if "--record" in words else "shown")).write_text(words[1])
"""

# The run with gray loss has a fault below the detection limit, the healthy one a false finding.
PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
words = sys.argv[1:]
with open(sys.argv[0] + ".log", "a") as log:
    print(*words, file=log)
path = pathlib.Path(words[1])
if "guess" in words:
    sys.exit("rocescope: --view guess: expected one of all")
if path.name == "scores":
    if pathlib.Path(sys.argv[0] + ".fails").exists():
        print("rocescope: no memory", file=sys.stderr)
        sys.exit(2)
    print(json.dumps({"schema_version": 1, "groups": [{"run_count": len(list(path.iterdir()))}]})
          if "--summary" in words else "the table")
    sys.exit(0)
assert (path / "shown").exists(), "the run was scored without its profile"
fault = {"visible": True, "too_short": False, "undetectable": False, "kind_right": False, "place_right": False, "affected_frames": "7",
         "detection_limit_frames": 12.5 if "gray_loss" in path.name else 0.0}
findings = {"faults": [] if "healthy" in path.name else [fault],
            "false_findings": [{}] if "healthy" in path.name else []}
if "flap" in path.name:
    fault["kind_right"] = fault["place_right"] = True
print(json.dumps({"scenario": path.name, "views": [{"view": "all", "findings": findings}]}))
sys.exit(1)
"""


class Stage:
    def __init__(self, campaign, folder):
        self.folder = pathlib.Path(folder)
        self.simulator = self.script("sim/rocescope-sim", SIMULATOR)
        self.program = self.script("appliance/rocescope", PROGRAM)
        self.out = self.folder / "out"
        self.campaign = campaign

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir()
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, *words):
        """Returns the finished campaign and the logged arguments of both programs."""
        for log in self.logs():
            log.unlink(missing_ok=True)
        done = subprocess.run([self.campaign, "--count", "3", "-d", self.out, "--build",
                               self.folder, *words], capture_output=True, text=True)
        return done, *(log.read_text().splitlines() if log.exists() else [] for log in self.logs())

    def logs(self):
        return pathlib.Path(f"{self.simulator}.log"), pathlib.Path(f"{self.program}.log")


def started(lines, word):
    return [line for line in lines if line.split()[0] == word]


def test_each_profile_is_applied_to_one_simulation(campaign, folder):
    stage = Stage(campaign, folder)
    words = ("--profile", "gnmi-1s", "--profile", "snmp-30s", "--faults", "0-4", "--benign",
             "--windows", "20", "--no-victims")
    done, simulated, scored = stage.run(*words)
    assert done.returncode == 0, done.stderr
    assert "the table" in done.stdout
    draw, = started(simulated, "draw")
    assert draw.endswith("--stratified --max-faults 4 --benign --windows 20"), draw
    assert len(started(simulated, "run")) == 3
    assert all(line.endswith("--record --no-victims") for line in started(simulated, "run"))
    profiles = started(simulated, "profile")
    assert len(profiles) == 6
    seeds = [re.search(r"--seed (\d+)", line)[1] for line in profiles]
    assert len(set(seeds)) == 3, "each scenario has a seed, which is the same in all profiles"
    runs = [line for line in scored if "/scores" not in line]
    assert len(runs) == 6 and all(line.endswith("--view all") for line in runs), runs
    names = sorted(file.name for file in (stage.out / "scores").iterdir())
    assert names == [f"{run}.{profile}.score.json"
                     for run in ("0001-flap", "0002-healthy", "0003-gray_loss")
                     for profile in ("gnmi-1s", "snmp-30s")], names
    assert not list(stage.out.glob("run-*")), "runs must be deleted"
    missed = sorted(file.name for file in (stage.out / "missed").iterdir())
    assert missed == ["0002-healthy.gnmi-1s.txt", "0002-healthy.snmp-30s.txt",
                      "0002-healthy.yaml"], missed
    results = json.loads((stage.out / "results.json").read_text())
    assert results["campaign"] == {"count": 3, "seed": 1, "weighted": False, "faults": "0-4",
                                   "profiles": ["gnmi-1s", "snmp-30s"], "benign": True,
                                   "windows": 20, "no_victims": True}, results
    assert results["groups"] == [{"run_count": 6}]

    # Resumes: only the missing score is made again.
    (stage.out / "scores/0003-gray_loss.snmp-30s.score.json").unlink()
    done, simulated, _ = stage.run(*words)
    assert done.returncode == 0, done.stderr
    assert not started(simulated, "draw")
    run, = started(simulated, "run")
    profile, = started(simulated, "profile")
    assert "0003-gray_loss" in run and "--profile snmp-30s" in profile

    done, simulated, _ = stage.run("--profile", "gnmi-1s")
    assert done.returncode == 2 and "other arguments" in done.stderr and not simulated


def test_what_changed_is_made_again(campaign, folder):
    stage = Stage(campaign, folder)
    own = stage.folder / "own.yaml"
    own.write_text("name: own\n")
    words = ("--profile", "gnmi-1s", "--profile", str(own))
    assert stage.run(*words)[0].returncode == 0
    done, simulated, _ = stage.run(*words)
    assert done.returncode == 0 and not simulated and not done.stderr, done.stderr

    own.write_text("name: own\npoll: {switches: {period: 5s}}\n")
    done, simulated, _ = stage.run(*words)
    assert "3 runs are scored again, because the score, the scenario, the profile or a program has changed" in \
        done.stderr, done.stderr
    assert len(started(simulated, "run")) == len(started(simulated, "profile")) == 3
    assert all(str(own) in line for line in started(simulated, "profile"))

    (stage.out / "scenarios/0001-flap.yaml").write_text("name: 0001-flap\nseed: 2\n")
    _, simulated, _ = stage.run(*words)
    run, = started(simulated, "run")
    assert "0001-flap" in run and len(started(simulated, "profile")) == 2

    # The run of another program misses nothing.
    assert (stage.out / "missed/0002-healthy.own.txt").exists()
    stage.program.write_text(PROGRAM.replace("[{}] if", "[] if"))
    _, simulated, _ = stage.run(*words)
    assert len(started(simulated, "profile")) == 6
    assert not list((stage.out / "missed").iterdir())
    assert not stage.run(*words)[1]


def test_lost_scenarios_and_foreign_scores_are_errors(campaign, folder):
    stage = Stage(campaign, folder)
    assert stage.run("--profile", "lab")[0].returncode == 0
    foreign = stage.out / "scores/0002-healthy.score.json"  # a run without the profile
    foreign.write_text("{}")
    done, _, scored = stage.run("--profile", "lab")
    assert done.returncode == 2 and not done.stdout, done
    assert f"{foreign} is not a score of this campaign" in done.stderr, done.stderr
    assert not any("--priors" in line for line in scored)
    foreign.unlink()
    (stage.out / "scenarios/0002-healthy.yaml").unlink()
    (stage.out / "scores/0002-healthy.lab.score.json").unlink()
    done, simulated, _ = stage.run("--profile", "lab")
    assert done.returncode == 2 and not done.stdout and not simulated, done
    assert "contains 2 scenarios instead of 3" in done.stderr and "use another -d" in done.stderr, done.stderr


def test_damaged_scores_and_digests_are_made_again(campaign, folder):
    stage = Stage(campaign, folder)
    assert stage.run()[0].returncode == 0
    score = stage.out / "scores/0002-healthy.score.json"
    digest = stage.out / "digests/0002-healthy.sha256"
    right = score.read_bytes()
    for file, content in ((score, b""), (score, right[:20]), (score, b"\xff\xfe\0"),
                          (score, right.replace(b"false_findings", b"none")),
                          (digest, b""), (digest, b"\xff\xfe\0"), (digest, digest.read_bytes()[:64])):
        file.write_bytes(content)
        done, simulated, _ = stage.run()
        assert done.returncode == 0 and done.stderr.startswith("campaign: 1 runs are scored again"), done.stderr
        run, = started(simulated, "run")
        assert "0002-healthy" in run and score.read_bytes() == right, content


def test_a_failed_summary_changes_no_figures(campaign, folder):
    stage = Stage(campaign, folder)
    assert stage.run()[0].returncode == 0
    files = [stage.out / "summary.txt", stage.out / "results.json"]
    before = [file.read_text() for file in files]
    fails = pathlib.Path(f"{stage.program}.fails")
    fails.touch()
    done, _, _ = stage.run()
    assert done.returncode == 2 and "campaign: the summary failed" in done.stderr, done.stderr
    assert "no memory" in done.stderr
    assert [file.read_text() for file in files] == before
    fails.unlink()
    files[1].with_suffix(".part").mkdir()  # results.json cannot be written
    stage.program.write_text(PROGRAM.replace("the table", "another table"))
    done, _, _ = stage.run()
    assert done.returncode == 2 and "results.part" in done.stderr, done.stderr
    assert [file.read_text() for file in files] == before


def test_without_profiles_nothing_is_recorded(campaign, folder):
    stage = Stage(campaign, folder)
    done, simulated, scored = stage.run()
    assert done.returncode == 0, done.stderr
    assert not started(simulated, "profile")
    assert not any("--record" in line for line in simulated)
    assert not any("--view" in line for line in scored)
    assert sorted(file.name for file in (stage.out / "scores").iterdir())[0] == \
        "0001-flap.score.json"


def test_the_model_is_that_of_the_drawn_scenarios(campaign, folder):
    stage = Stage(campaign, folder)
    done, simulated, _ = stage.run("--model", "flow", "--profile", "snmp-30s")
    assert done.returncode == 0, done.stderr
    draw, = started(simulated, "draw")
    assert draw.endswith(" --model flow --stratified"), draw
    assert len(started(simulated, "run")) == len(started(simulated, "profile")) == 3
    results = json.loads((stage.out / "results.json").read_text())
    assert results["campaign"]["model"] == "flow", results
    done, simulated, _ = stage.run("--profile", "snmp-30s")
    assert done.returncode == 2 and "other arguments" in done.stderr and not simulated


def test_at_least_one_fault_means_no_healthy_run(campaign, folder):
    _, simulated, _ = Stage(campaign, folder).run("--faults", "1-3", "--lift")
    draw, = started(simulated, "draw")
    assert draw.endswith("--max-faults 3 --healthy 0 --lift"), draw


def test_a_failed_profile_is_reported_and_the_others_are_scored(campaign, folder):
    stage = Stage(campaign, folder)
    file = stage.folder / "impossible.yaml"
    file.write_text("name: impossible\n")
    done, _, _ = stage.run("--profile", "gnmi-1s", "--profile", str(file))
    assert done.returncode == 2
    assert f"profile {file} failed with exit code 1: no readings" in done.stderr
    assert len(list((stage.out / "scores").glob("*.gnmi-1s.score.json"))) == 3
    assert not list(stage.out.glob("run-*"))


def test_an_invalid_profile_is_refused_before_the_first_run(campaign, folder):
    stage = Stage(campaign, folder)
    file = stage.folder / "invalid.yaml"
    file.write_text("name: invalid\npoll: {switches: {period: -30s}}\n")
    done, simulated, _ = stage.run("--profile", "gnmi-1s", "--profile", str(file))
    assert done.returncode == 2 and not simulated and not stage.out.exists(), done
    assert done.stderr == f"campaign: --profile {file}: {file}:2:27: period must be above 0\n", done.stderr


def test_wrong_arguments_are_refused(campaign, folder):
    stage = Stage(campaign, folder)
    for words in (["--faults", "2-4"], ["--faults", "many"], ["--windows", "0"],
                  ["--profile", "lab", "--profile", "lab"], ["--model", "guess"],
                  ["--profile", "snmp"], ["--profile", "../profiles/snmp-30s"],
                  ["--profile", "none.yaml"], ["--view", "guess"]):
        done, simulated, _ = stage.run(*words)
        assert done.returncode == 2 and not simulated, words


def main():
    for test in (test_each_profile_is_applied_to_one_simulation,
                 test_what_changed_is_made_again,
                 test_lost_scenarios_and_foreign_scores_are_errors,
                 test_damaged_scores_and_digests_are_made_again,
                 test_a_failed_summary_changes_no_figures,
                 test_without_profiles_nothing_is_recorded,
                 test_the_model_is_that_of_the_drawn_scenarios,
                 test_at_least_one_fault_means_no_healthy_run,
                 test_a_failed_profile_is_reported_and_the_others_are_scored,
                 test_an_invalid_profile_is_refused_before_the_first_run,
                 test_wrong_arguments_are_refused):
        with tempfile.TemporaryDirectory() as folder:
            test(sys.argv[1], folder)


if __name__ == "__main__":
    main()
