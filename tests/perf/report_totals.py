# SPDX-License-Identifier: BSD-3-Clause
"""Compares a replay's report (appliance/api/rocescope/v1, as JSON) with the ground truth of a generated
capture."""


def skipped(truth):
    return truth["request_psns_skipped"] + truth["response_psns_skipped"]


# Name of a total to its value in the report and in the ground truth.
COMPARED = {
    "frames received": (lambda report: report["ledger"]["received"], lambda t: t["packets"]),
    "frames decoded": (lambda report: report["ledger"]["decoded"], lambda t: t["packets"]),
    "packets": (lambda report: report["totals"]["packets"], lambda t: t["packets"]),
    "wire bytes": (lambda report: report["totals"]["bytes"], lambda t: t["wire_bytes"]),
    "payload bytes": (lambda report: report["totals"]["payload_bytes"],
                      lambda t: t["payload_bytes"]),
    "messages": (lambda report: report["totals"]["messages"], lambda t: t["messages"]),
    "CE marks": (lambda report: report["totals"]["ce_marked_packets"], lambda t: t["ce_marks"]),
    "CNPs": (lambda report: report["totals"]["cnp_packets"], lambda t: t["cnps"]),
    "missing PSNs": (lambda report: report["totals"]["missing_packets"], skipped),
    "reordered": (lambda report: report["totals"]["reordered_packets"], lambda t: 0),
    "retransmitted": (lambda report: report["totals"]["retransmitted_packets"], lambda t: 0),
    "flows": (lambda report: report["totals"]["flow_count"], lambda t: t["flows"]),
    "flows evicted": (lambda report: report["coverage"]["evicted_flow_count"], lambda t: 0),
}

COMPARED_OF_FLOW = {
    "packets": (lambda flow: flow["packets"], lambda t: t["packets"]),
    "wire bytes": (lambda flow: flow["bytes"], lambda t: t["wire_bytes"]),
    "payload bytes": (lambda flow: flow["payload_bytes"], lambda t: t["payload_bytes"]),
    "messages": (lambda flow: flow["messages"], lambda t: t["messages"]),
    "CE marks": (lambda flow: flow["ce_marked_packets"], lambda t: t["ce_marks"]),
    "CNPs": (lambda flow: flow["operations"]["cnp"], lambda t: t["cnps"]),
    "ACKs": (lambda flow: flow["operations"]["acknowledge"], lambda t: t["acks"]),
    "missing PSNs": (lambda flow: flow["loss"]["missing_packets"], skipped),
}


def differing(compared, report, truth, where=""):
    for name, (reported, true) in compared.items():
        try:
            value = int(reported(report))
        except (KeyError, ValueError) as problem:
            value = f"{type(problem).__name__} {problem}"
        if value != true(truth):
            yield f"{where}{name}: report {value}, truth {true(truth)}"


def paired_queue_pairs(report):
    """For each connection that the report pairs: (address, QPN) of one end to that of the other."""
    partner = {}
    for connection in report["connections"]:
        if connection["state"] != "STATE_PAIRED":
            continue
        a, b = ((end["address"], int(end["qpn"])) for end in (connection["a"], connection["b"]))
        partner[a], partner[b] = b, a
    return partner


def wrongly_paired(report, top_flows):
    partner = paired_queue_pairs(report)
    for flow in top_flows:
        end = flow["destination_ip"], flow["destination_qpn"]
        true = flow["source_ip"], flow["reverse_qpn"]
        if partner.get(end, true) != true:
            yield f"partner of {end}: report {partner[end]}, truth {true}"


def differences(report, truth):
    """Returns a sentence for each total, flow and pair that differs."""
    wrong = list(differing(COMPARED, report, truth["totals"]))
    flows = {(flow["source"], flow["destination"], int(flow["destination_qpn"])): flow
             for flow in report["flows"]}
    for true in truth["top_flows"]:
        key = true["source_ip"], true["destination_ip"], true["destination_qpn"]
        if key in flows:
            wrong += differing(COMPARED_OF_FLOW, flows[key], true, f"flow {key}: ")
        else:
            wrong.append(f"flow {key}: not in the report")
    return wrong + list(wrongly_paired(report, truth["top_flows"]))
