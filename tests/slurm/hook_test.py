#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the slurmctld scripts without Slurm: the calls, their order, and that the scripts return at
once whatever happens to the calls.

usage: hook_test.py HOOKS [UNITTEST ARGUMENT...]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HOOKS = None
AT_ONCE = 1.5  # seconds, on a busy machine; the timeout for the appliance is two seconds
# Replaces rocescope: records its arguments after a pause.
CALLED = """#!/bin/bash
sleep ${PAUSE:-0}
echo "$*" >>"$FOLDER/calls"
exit ${CODE:-0}
"""
SCONTROL = """#!/bin/bash
cat <<'END'
JobId=7 JobName=x
   StartTime=2026-11-23T12:00:00 EndTime=2026-11-23T12:00:30 Deadline=N/A
   Nodes=host[0-1] CPU_IDs=0-3 Mem=0 GRES=gpu:h100:4(IDX:0-3)
   Nodes=host4 CPU_IDs=0 Mem=0 GRES=gpu:a:2(IDX:1,3),nic:1(IDX:0),gpu:b:1(IDX:4)
   Nodes=host9 CPU_IDs=0 Mem=0 GRES=
   NodeList=host[0-1,4]
END
"""


class Hook(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.program("rocescope", CALLED)
        self.program("scontrol", "#!/bin/bash\nexit 1\n")
        shutil.copytree(HOOKS, self.folder / "hooks")
        (self.folder / "hooks" / "rocescope.conf").write_text(
            f"ROCESCOPE={self.folder}/rocescope\nROCESCOPE_APPLIANCE=appliance:1\n"
            f"ROCESCOPE_LOG={self.folder}/log\nROCESCOPE_LOCKS={self.folder}/locks\n")

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def run_hook(self, name, **environment):
        begin = time.monotonic()
        done = subprocess.run([self.folder / "hooks" / name], timeout=20, env={
            "PATH": f"{self.folder}:{os.environ['PATH']}", "FOLDER": str(self.folder),
            "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "host[0-1]", "SLURM_JOB_NAME": "two words",
            "SLURM_JOB_USER": "ada", **environment})
        self.assertEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - begin, AT_ONCE)

    def lines_of(self, name, count):
        path = self.folder / name
        for _ in range(200):
            if path.exists() and len(lines := path.read_text().splitlines()) >= count:
                return lines
            time.sleep(0.05)
        self.fail(f"{name}: {path.read_text() if path.exists() else 'missing'}")

    def test_a_job_is_registered_with_its_nodes(self):
        self.run_hook("prolog_slurmctld")
        self.assertEqual(self.lines_of("calls", 1),
                         ["job register 7 --nodes host[0-1] --name two words --user ada "
                          "--appliance appliance:1 --timeout 2s"])

    def test_gpus_come_from_scontrol(self):
        self.program("scontrol", SCONTROL)
        self.run_hook("prolog_slurmctld", SLURM_JOB_START_TIME="100", TZ="UTC")
        self.assertEqual(self.lines_of("calls", 1),
                         ["job register 7 --nodes host[0-1]:0-3 --nodes host4:1,3,4 "
                          "--nodes host9 --start 100 "
                          "--limit 1795435230 --name two words --user ada --appliance appliance:1 --timeout 2s"])

    def test_the_end_follows_the_registration(self):
        self.run_hook("prolog_slurmctld", PAUSE="1")
        self.run_hook("epilog_slurmctld")
        first, second = self.lines_of("calls", 2)
        self.assertTrue(first.startswith("job register 7 "), first)
        self.assertRegex(second, r"^job end 7 --at \d+ --appliance appliance:1 --timeout 2s$")

    def test_a_hanging_call_is_killed_and_logged(self):
        self.run_hook("prolog_slurmctld", PAUSE="60")
        line, = self.lines_of("log", 1)
        self.assertIn("job 7: rocescope job register failed with exit code 124", line)
        self.assertFalse((self.folder / "calls").exists())

    def test_a_failed_call_is_logged(self):
        self.run_hook("epilog_slurmctld", CODE="3")
        self.assertIn("rocescope job end failed with exit code 3", self.lines_of("log", 1)[0])

    def test_without_a_job_nothing_is_called(self):
        self.run_hook("prolog_slurmctld", SLURM_JOB_ID="")
        self.run_hook("epilog_slurmctld", SLURM_JOB_ID="")
        time.sleep(0.3)
        self.assertFalse((self.folder / "calls").exists())

    def test_a_lock_directory_of_another_user_is_not_used(self):
        (self.folder / "other").mkdir()
        (self.folder / "locks").symlink_to("other")
        self.run_hook("prolog_slurmctld")
        self.lines_of("calls", 1)
        self.assertIn("cannot lock in", self.lines_of("log", 1)[0])
        self.assertEqual(list((self.folder / "other").iterdir()), [])


if __name__ == "__main__":
    HOOKS = sys.argv.pop(1)
    unittest.main()
