# SPDX-License-Identifier: BSD-3-Clause
"""The ground truth of a capture in the format of the simulator (truth.proto), so that `rocescope score`
works unchanged. Nothing here changes the machine."""

import json
import re

SCHEMA_VERSION = 2  # as in sim/run/write_truth.cc
SECOND = 10**9
TIERS_OF_SWITCHES = 2
MOST_HOSTS = 10_000  # that a range can name; more than a lab can have
COUNTER_PERIOD_NS = SECOND  # exporter.PERIOD
# The files of the endpoints of earlier starts: EARLIER/NUMBER/, with the time of their end in STOPPED.
EARLIER, STOPPED = "earlier", "stopped_ns"


def build(name, fabric, plan, folder, recorder, faults, start_ns, end_ns, sflow_rate):
    """`folder`: the files that the endpoints wrote. `recorder`: the paths. `faults`: by number."""
    jobs = plan_jobs(fabric, plan)
    starts = starts_within(folder, start_ns, end_ns)
    connections = connections_of(fabric, jobs, [read_queue_pairs(fabric, one) for one in starts], recorder.intervals)
    return {
        "schema_version": SCHEMA_VERSION, "scenario": name, "seed": 0, "start_ns": start_ns, "end_ns": end_ns,
        "jobs": [job_truth(job, starts, start_ns, end_ns) for job in jobs],
        "connections": connections,
        "faults": [fault_truth(fault["truth"], jobs, connections, end_ns)
                   for fault in overlapping(faults, start_ns, end_ns) if not fault["benign"]],
        "benign": [benign_truth(fault["truth"], end_ns)
                   for fault in overlapping(faults, start_ns, end_ns) if fault["benign"]],
        "switch_tiers": TIERS_OF_SWITCHES, "sflow_rate": sflow_rate, "congested_unknown": True,
        "profile": {"name": "lab", "scale": 1, "pollers": [
            {"node": node, "group": group, "read": True, "period_ns": COUNTER_PERIOD_NS}
            for group, nodes in (("switch", fabric.switches), ("nic", fabric.hosts)) for node in nodes]},
    }


# Starts of the endpoints

def starts_within(folder, start_ns, end_ns):
    """The folders with the files of each start of the endpoints that ran during the capture, in order."""
    earlier = [path for path in (folder / EARLIER).glob("*") if (path / STOPPED).exists()]
    found = []
    for path in sorted(earlier, key=lambda path: int(path.name)):
        if stopped_ns(path) > start_ns:
            found.append(path)
        if stopped_ns(path) >= end_ns:
            return found
    return [*found, folder]


def stopped_ns(folder):
    return int((folder / STOPPED).read_text())


# Jobs

def plan_jobs(fabric, plan):
    """The jobs of a plan file, with their hosts by rank: each host has one GPU."""
    return [{**job, "hosts": [fabric.hosts[name] for name in expand(job["hosts"])]} for job in plan["jobs"]]


def expand(text):
    """`host[0-2,4],host7` -> names."""
    names = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not match:
            names.append(part)
            continue
        for span in match.group(2).split(","):
            first, _, last = span.partition("-")
            if int(last or first) - int(first) >= MOST_HOSTS:
                raise ValueError(f"{span}: more than {MOST_HOSTS} hosts")
            names += [f"{match.group(1)}{number:0{len(first)}}{match.group(3)}"
                      for number in range(int(first), int(last or first) + 1)]
    return names


def process_of(folder, host):
    """The process ID in the queue pairs of a host."""
    pids = {row.get("pid") for row in rows_of(folder, host) if row.get("pid")}
    return min(pids, default=0)


def job_truth(job, starts, start_ns, end_ns):
    ranks = range(len(job["hosts"]))
    return {
        "name": job["name"], "id": job["id"],
        "ranks": [{"host": host.name, "gpu": 0, "device": host.nic.name,
                   "process_id": process_of(starts[0], host)} for host in job["hosts"]],
        "restarts": [{"stop_ns": stopped_ns(before), "start_ns": started_ns(job, after),
                      "process_ids": [process_of(after, host) for host in job["hosts"]]}
                     for before, after in zip(starts, starts[1:])],
        "phases": [{"name": phase.get("name", phase["collective"]), "collective": phase["collective"],
                    "groups": [{"ranks": list(ranks)}]} for phase in job["phases"]],
        "iterations": [one for folder in starts for one in iterations_of(job, folder, start_ns, end_ns)],
    }


def started_ns(job, folder):
    """When the first rank started; 0 if none has."""
    return min((line["time_ns"] for host in job["hosts"]
                for line in json_lines(folder / "endpoint" / f"{host.name}.jsonl")
                if line.get("event") == "job_started" and line["job"] == job["name"]), default=0)


def iterations_of(job, folder, start_ns, end_ns):
    """An iteration lasts from the first rank that starts it to the last one that finishes it."""
    found = {}
    for host in job["hosts"]:
        for line in json_lines(folder / "endpoint" / f"{host.name}.jsonl"):
            if line.get("event") == "iteration" and line["job"] == job["name"]:
                first, last = found.get(line["iteration"], (line["begin_ns"], 0))
                found[line["iteration"]] = min(first, line["begin_ns"]), max(last, line["end_ns"])
    return [{"start_ns": first, "end_ns": last} for _, (first, last) in sorted(found.items())
            if last > start_ns and first < end_ns]


def json_lines(path):
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        yield json.loads(line)


# Connections

def rows_of(folder, host):
    path = folder / "rdma" / f"{host.name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def read_queue_pairs(fabric, folder):
    """Host name -> local QPN -> remote QPN."""
    return {host.name: {row["lqpn"]: row["rqpn"] for row in rows_of(folder, host) if row.get("rqpn")}
            for host in fabric.hosts.values()}


def connections_of(fabric, jobs, queue_pairs, intervals):
    """Pairs the two ends of each connection by their QPNs, in each start, and by the flows between them."""
    hosts = {host.address: host for host in fabric.hosts.values()}
    flows = {(flow.source, flow.destination, flow.qpn): flow for flow in intervals}
    ranks = {host.name: (job, rank) for job in jobs for rank, host in enumerate(job["hosts"])}
    found, stripes = [], {}
    for flow in sorted(intervals):
        there = flow.qpn
        if flow.source not in hosts or flow.destination not in hosts:
            continue
        first, second = hosts[flow.source], hosts[flow.destination]
        number, here = next(((number, here) for number, of_host in enumerate(queue_pairs)
                             if (here := of_host.get(second.name, {}).get(there)) is not None
                             and of_host.get(first.name, {}).get(here) == there), (None, None))
        if here is None:
            continue
        back = flows.get((flow.destination, flow.source, here))
        forward_paths, backward_paths = intervals[flow], intervals.get(back, [])
        if data_bytes(backward_paths) > data_bytes(forward_paths) or (
                data_bytes(backward_paths) == data_bytes(forward_paths) and back and back < flow):
            continue  # listed from its other end
        job, from_rank = ranks.get(first.name, (None, 0))
        pair = (first.name, second.name, number)
        stripes[pair] = stripes.get(pair, -1) + 1
        found.append({
            "first": end_truth(first, here, flow.source_port),
            "second": end_truth(second, there, back.source_port if back else 0),
            "job": job["name"] if job else "", "phase": 0, "group": 0, "from_rank": from_rank,
            "to_rank": ranks.get(second.name, (None, 0))[1], "stripe": stripes[pair], "incarnation": number,
            "forward": [path_truth(one) for one in forward_paths],
            "backward": [path_truth(one) for one in backward_paths]})
    return found


def data_bytes(paths):
    return sum(path.bytes for path in paths)


def end_truth(host, qpn, port):
    return {"host": host.name, "device": host.nic.name, "address": host.address, "qpn": qpn,
            "udp_source_port": port}


def path_truth(interval):
    return {"start_ns": interval.start_ns, "end_ns": interval.end_ns, "ports": list(interval.ports),
            "bytes": interval.bytes}


# Faults

def overlapping(faults, start_ns, end_ns):
    return [fault for fault in faults.values() if "start_ns" in fault["truth"]
            and fault["truth"]["start_ns"] < end_ns and fault["truth"].get("end_ns", end_ns) > start_ns]


def fault_truth(truth, jobs, connections, end_ns):
    """A fault that lasts longer than the capture ends with it."""
    out = {**truth, "end_ns": min(truth.get("end_ns", end_ns), end_ns), "growth": 1,
           "affected_jobs_unknown": True}
    if out.get("visible_ns", 0) >= end_ns:
        out["visible_ns"] = 0
    out["exposed_jobs"] = sorted({one["job"] for one in connections if one["job"]
                                  and is_exposed(one, truth, out["end_ns"])})
    return out


def is_exposed(connection, truth, end_ns):
    place = truth["place"]
    nodes = {connection[end]["host"] for end in ("first", "second")}
    for path in connection["forward"] + connection["backward"]:
        if path["start_ns"] < end_ns and path["end_ns"] > truth["start_ns"]:
            ends = set(path["ports"]) | {f"{connection[end]['host']}:{connection[end]['device']}"
                                         for end in ("first", "second")}
            if ends & set(place.split("-")) or place in nodes | {end.partition(":")[0] for end in ends} | ends:
                return True
    return False


def benign_truth(truth, end_ns):
    return {"kind": truth["kind"], "place": truth["place"], "start_ns": truth["start_ns"],
            "end_ns": min(truth.get("end_ns", end_ns), end_ns)}
