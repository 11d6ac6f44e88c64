# SPDX-License-Identifier: BSD-3-Clause
"""Group `line_rate`, DPDK ports: virtual devices, without hugepages or privileges."""

import json
import subprocess

import measure


# If the generator did not send at its rate, the run says nothing about the receiver.
LEAST_SENT = 0.99


def run(settings, *arguments):
    command = [str(measure.built(settings.build, "line_rate_port")), *arguments]
    measure.say("Ports: " + " ".join(arguments))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise measure.Unavailable(f"{' '.join(command)}: exit code {done.returncode}\n"
                                  f"{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def not_held(paced, seconds):
    """Returns why a paced run is invalid, or None."""
    due = paced["rate"] * seconds
    if paced["sent"] < LEAST_SENT * due:
        return (f"the generator sent {paced['sent']} of {due:.0f} frames: it did not get enough of its "
                "core. ")
    if not paced["balances"]:
        return "the ledger did not balance. "
    return None


def bars(settings, paced_seconds=10):
    if not (settings.build / "tests" / "perf" / "line_rate_port").exists():
        measure.say("Built without DPDK: skipping the port benchmarks.")
        return []
    rounds = ["--rounds", str(settings.rounds)]
    capture, _ = measure.generated_capture(settings.build, "port",
                                           ["--packets", "20000", "--snap", "128"])
    pcap = run(settings, "pcap", "--capture", str(capture), "--seconds", "1", *rounds)
    # The distribution of host pairs over two lcores is random, because a pair cannot be divided and
    # the first pair of the Zipf distribution has a large share. So the median over workloads
    # counts.
    lucks = [run(settings, "shared", "--frames", "40000", "--seed", str(seed), "--seconds", "0.5",
                 "--rounds", str(min(3, settings.rounds))) for seed in range(1, 8)]
    lucks.sort(key=lambda shared: shared["two_lcore_rate"] / shared["one_lcore_rate"])
    shared = lucks[len(lucks) // 2]
    paced = run(settings, "paced", "--seconds", str(paced_seconds))
    near = run(settings, "paced", "--seconds", str(paced_seconds), "--share", "0.7")
    return [
        measure.Bar(name="pcap_port_ratio", value=pcap["record_rate"] / pcap["receive_rate"],
                    unit="of receive-only", goal=0.55,
                    reference={"name": "receive-only", "value": pcap["receive_rate"],
                               "unit": "packets/CPU-s"},
                    details={"record_rate": pcap["record_rate"]}),
        measure.Bar(name="two_lcores_ratio",
                    value=shared["two_lcore_rate"] / shared["one_lcore_rate"],
                    unit="x of one lcore", goal=1.7,
                    reference={"name": "one lcore", "value": shared["one_lcore_rate"],
                               "unit": "packets/CPU-s"},
                    details={"two_lcore_rate": shared["two_lcore_rate"],
                             "largest_share": shared["largest_share"],
                             "all": [round(luck["two_lcore_rate"] / luck["one_lcore_rate"], 2)
                                     for luck in lucks]}),
        measure.Bar(name="paced_2m_loss", value=paced["missed"], unit="packets", goal=0,
                    exactly=True, not_held=not_held(paced, paced_seconds), details=paced),
        # Sent minus received and minus dropped at the full ring.
        measure.Bar(name="paced_70_percent_unaccounted",
                    value=near["sent"] - near["received"] - near["missed"], unit="packets", goal=0,
                    exactly=True, not_held=not_held(near, paced_seconds), details=near),
    ]
