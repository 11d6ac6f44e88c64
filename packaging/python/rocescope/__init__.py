# SPDX-License-Identifier: BSD-3-Clause
"""Client of the gRPC API of a rocescope appliance.

    import rocescope

    with rocescope.connect("appliance.example:50051", ca="ca.pem", certificate="slurm.pem", key="slurm.key") as appliance:
        for finding in appliance.list("findings", filter="confidence > 0.9"):
            print(finding.sentence)

The requests and responses are those of rocescope.v1, documented at docs/reference/grpc.md.
"""

from .client import Client, connect, error_of

__all__ = ["Client", "connect", "error_of"]
