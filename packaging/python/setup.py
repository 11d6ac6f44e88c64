# SPDX-License-Identifier: BSD-3-Clause
"""Used by build_wheel, which adds the generated modules and sets the version."""

import os

import setuptools

setuptools.setup(
    name="rocescope",
    version=os.environ["ROCESCOPE_VERSION"],
    description="Client of the gRPC API of rocescope, a telemetry appliance for RoCEv2 fabrics",
    url="https://github.com/rocescope/rocescope",
    license="BSD-3-Clause",
    license_files=["LICENSE"],
    packages=["rocescope", "rocescope.v1"],
    python_requires=">=3.9",
    # protoc 21 generates modules for these versions.
    install_requires=["grpcio>=1.51", "protobuf>=4.21,<6"],
)
