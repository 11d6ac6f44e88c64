# SPDX-License-Identifier: BSD-3-Clause
"""Makes the modules of testbeds/ovs_lab importable. The first argument of the test that imports it is TESTBEDS."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "ovs_lab"))
