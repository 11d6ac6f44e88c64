#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Queries a running appliance as a scheduler does: its responses equal those of a replay of the same
frames.

usage: scheduler_test.py PATH/rocescope-sim PATH/rocescope SCENARIO WHEEL [UNITTEST ARGUMENT...]
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import grpc
from google.protobuf import json_format

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api_time import nanoseconds  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

SIMULATOR = ROCESCOPE = SCENARIO = ""
DEADLINE = 20  # seconds
INTERVAL = "1ms"  # the run takes 10 ms
EAL = ["--no-huge", "--no-shconf", "-m", "256", "--no-pci", "--no-telemetry", "-l", "0"]


def as_json(message):
    return json.loads(json_format.MessageToJson(
        message, including_default_value_fields=True, preserving_proto_field_name=True))


class Scheduler(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        run = pathlib.Path(cls.folder.name, "run")
        subprocess.run([SIMULATOR, "run", SCENARIO, "-d", run], capture_output=True, check=True)
        hosts = {"nccl_logs": run / "nccl", "slurm": run / "slurm.json"}
        words = [word for key, path in hosts.items()
                 for word in ("--" + key.replace("_", "-"), path)]
        cls.replayed = json.loads(subprocess.run(
            [ROCESCOPE, "replay", "--via", "dpdk", run / "mirror.pcap", "--topology",
             run / "topology.yaml", *words, "--interval", INTERVAL, "--window", INTERVAL,
             "-o", "json"], capture_output=True, check=True).stdout)
        config = pathlib.Path(cls.folder.name, "appliance.yaml")
        config.write_text(json.dumps({  # JSON is YAML
            "topology": str(run / "topology.yaml"), "record_interval": INTERVAL,
            "analysis_window": INTERVAL, "http": "127.0.0.1:0",
            "grpc": {"listen": ["127.0.0.1:0"]},
            "host_files": {key: [str(path)] for key, path in hosts.items()},
            "dpdk": {"eal": EAL + [f"--vdev=net_pcap0,rx_pcap={run / 'mirror.pcap'}"]}}))
        cls.process = subprocess.Popen([ROCESCOPE, "run", config], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end_appliance)
        heard = ""
        while "gRPC on" not in heard:
            line = cls.process.stderr.readline()
            assert line, heard
            heard += line
        cls.target = re.search(r"gRPC on (\S+)", heard).group(1)
        cls.page = re.search(r"http://\S+/", heard).group(0)
        cls.channel = grpc.insecure_channel(cls.target)
        cls.addClassCleanup(cls.channel.close)
        cls.appliance, cls.jobs, cls.fabric, cls.diagnosis = (
            stub(cls.channel) for stub in (stubs.ApplianceStub, stubs.JobsStub, stubs.FabricStub,
                                           stubs.DiagnosisStub))
        cls.wait_for_the_last_frame()

    @classmethod
    def end_appliance(cls):
        cls.process.send_signal(signal.SIGTERM)
        cls.process.communicate(timeout=50)

    @classmethod
    def wait_for_the_last_frame(cls):
        """Waits until the file is read to its end and a snapshot contains it."""
        end = nanoseconds(cls.replayed["captured"]["end_time"])
        for _ in range(200):
            health = cls.appliance.GetHealth(api.GetHealthRequest(), timeout=DEADLINE)
            if health.snapshot.data_time.ToNanoseconds() >= end:
                return
            time.sleep(0.1)
        raise AssertionError(f"the appliance has reached only {health.snapshot.data_time.ToNanoseconds()} of {end}")

    def error_of(self, call, request):
        with self.assertRaises(grpc.RpcError) as caught:
            call(request, timeout=DEADLINE)
        trailer = dict(caught.exception.trailing_metadata())["grpc-status-details-bin"]
        status = error_details.RpcStatus.FromString(trailer)
        info = error_details.ErrorInfo.FromString(status.details[0].value)
        return caught.exception.code(), info.reason

    def test_all_frames_are_accounted_for(self):
        source, = self.appliance.ListSources(api.ListSourcesRequest(), timeout=DEADLINE).sources
        self.assertEqual(source.kind, api.Source.KIND_DPDK)
        self.assertEqual(as_json(source.ledger), self.replayed["ledger"])

    def test_jobs_are_those_of_a_replay(self):
        listed = self.jobs.ListJobs(api.ListJobsRequest(), timeout=DEADLINE).jobs
        self.assertEqual([job.job_id for job in listed], [job["job_id"] for job in self.replayed["jobs"]])
        for summary, replayed in zip(listed, self.replayed["jobs"]):
            answer = self.jobs.GetJob(api.GetJobRequest(job_id=summary.job_id), timeout=DEADLINE)
            self.assertEqual(as_json(answer.job)["ranks"], replayed["ranks"])
            self.assertEqual(as_json(answer.job)["edges"], replayed["edges"])
            self.assertEqual(summary.bytes, sum(int(edge["bytes"]) for edge in replayed["edges"]))

    def test_paths_of_two_ranks_are_those_of_a_replay(self):
        job = self.replayed["jobs"][0]
        edge = max(job["edges"], key=lambda edge: int(edge["bytes"]))
        found = self.fabric.FindPaths(api.FindPathsRequest(
            job_id=job["job_id"], source=str(edge["source_rank"]),
            destination=str(edge["destination_rank"])), timeout=DEADLINE)
        by_flow = {(path["source"], path["destination"], path["destination_qpn"]): path
                   for path in self.replayed["paths"]}
        self.assertGreater(found.total_size, 0)
        for path in found.paths:
            replayed = by_flow[path.source, path.destination, path.destination_qpn]
            self.assertEqual(as_json(path)["intervals"], replayed["intervals"])
        carried = {qpn for path in found.paths for qpn in [path.destination_qpn]}
        self.assertLessEqual(set(edge["destination_qpns"]), carried)

    def test_pages_add_up_to_the_whole_list(self):
        request = api.FindPathsRequest(job_id=self.replayed["jobs"][0]["job_id"], page_size=1000)
        whole = self.fabric.FindPaths(request, timeout=DEADLINE)
        request.page_size = 7
        paths = []
        while True:
            page = self.fabric.FindPaths(request, timeout=DEADLINE)
            paths += page.paths
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        self.assertEqual(paths, list(whole.paths))
        self.assertEqual(len(paths), whole.total_size)

    def test_each_node_has_its_switches(self):
        nodes = self.fabric.ListNodeSwitches(api.ListNodeSwitchesRequest(),
                                             timeout=DEADLINE).node_switches
        topology = self.fabric.GetTopology(api.GetTopologyRequest(), timeout=DEADLINE)
        hosts = {node.name for node in topology.nodes if node.tier == api.TopologyNode.TIER_HOST}
        leaves = {node.name for node in topology.nodes if node.tier == api.TopologyNode.TIER_LEAF}
        self.assertEqual({node.node for node in nodes}, hosts)
        for node in nodes:
            above = {link.b.split(":")[0] for link in topology.links
                     if link.a.split(":")[0] == node.node}
            self.assertEqual(set(node.leaf_switches), above & leaves)

    def rank(self, **request):
        return self.fabric.RecommendNodes(api.RecommendNodesRequest(**request), timeout=DEADLINE)

    def test_nodes_with_running_jobs_are_not_offered(self):
        used = {rank["host"] for job in self.replayed["jobs"] for rank in job["ranks"]}
        topology = self.fabric.GetTopology(api.GetTopologyRequest(), timeout=DEADLINE)
        hosts = {node.name for node in topology.nodes if node.tier == api.TopologyNode.TIER_HOST}
        ranked = self.rank(node_count=len(hosts))
        self.assertEqual({node.node for node in ranked.candidates}, hosts)
        taken = {node.node for node in ranked.candidates
                 if any(reason.kind == diagnosis.PlacementReason.KIND_IN_USE for reason in node.reasons)}
        self.assertLessEqual(used, taken)
        self.assertEqual(list(ranked.chosen_nodes), [])
        self.assertEqual(ranked.suitable_count, sum(node.suitable for node in ranked.candidates))
        self.assertLessEqual(ranked.suitable_count, len(hosts - used))
        self.assertIn(f"{len(taken)} in use", ranked.sentence)

    def test_a_registered_job_uses_its_node_until_it_ends(self):
        own = 4_000_000_000
        node = sorted(node.node for node in self.rank(node_count=1).candidates)[0]
        held = [job for job in self.replayed["jobs"] if "allocation" in job][0]
        request = {"node_count": 1, "candidate_nodes": [node],
                   "scheduler_job_id": int(held["allocation"]["scheduler_job_id"])}
        self.jobs.RegisterJob(api.RegisterJobRequest(
            scheduler_job_id=own, nodes=[api.JobNode(node=node + ".cluster.example")]),
            timeout=DEADLINE)
        try:
            reasons = {reason.kind: list(reason.scheduler_job_ids)
                       for reason in self.rank(**request).candidates[0].reasons}
            self.assertIn(own, reasons[diagnosis.PlacementReason.KIND_IN_USE])
            listed = self.jobs.ListRegisteredJobs(api.ListRegisteredJobsRequest(
                filter=f"scheduler_job_id = {own}"), timeout=DEADLINE).registered_jobs
            self.assertEqual([(job.scheduler_job_id, job.ended) for job in listed], [(own, False)])
            self.assertEqual(listed[0], self.jobs.GetRegisteredJob(
                api.GetRegisteredJobRequest(scheduler_job_id=own), timeout=DEADLINE))
            status, answer = self.get(f"registered-jobs/{own}")
            self.assertEqual((status, answer), (200, as_json(listed[0])))
        finally:
            self.jobs.EndJob(api.EndJobRequest(scheduler_job_id=own), timeout=DEADLINE)
        self.assertNotIn(own, [job for reason in self.rank(**request).candidates[0].reasons
                               for job in reason.scheduler_job_ids])

    def test_invalid_placement_requests_are_errors(self):
        self.assertEqual(self.error_of(self.fabric.RecommendNodes, api.RecommendNodesRequest(
            node_count=1, candidate_nodes=["nobody"])), (grpc.StatusCode.NOT_FOUND, "UNKNOWN_NODE"))
        self.assertEqual(self.error_of(self.fabric.RecommendNodes, api.RecommendNodesRequest()),
                         (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"))

    def test_responses_match_the_openapi_document(self):
        document = self.get("openapi.json")[1]
        self.assertEqual(document["openapi"], "3.1.0")
        job = self.replayed["jobs"][0]["job_id"]
        port = self.get("links")[1]["link_loads"][0]["port"]
        own = 4_000_000_001
        self.jobs.RegisterJob(api.RegisterJobRequest(
            scheduler_job_id=own, nodes=[api.JobNode(node="elsewhere")]), timeout=DEADLINE)
        self.addCleanup(self.jobs.EndJob, api.EndJobRequest(scheduler_job_id=own))
        words = {"paths": f"?job_id={job}", "recommended-nodes": "?node_count=1",
                 "dependencies": f"?question=QUESTION_NEEDS&element={job}",
                 "history/links": f"?port={port}", "history/jobs": f"?job_id={job}"}
        asked = 0
        for path, item in document["paths"].items():
            name = path.removeprefix("/api/v1/").replace("{job_id}", job)
            name = name.replace("{scheduler_job_id}", str(own))
            if name in ("events", "openapi.json") or "get" not in item:
                continue
            status, answer = self.get(name + words.get(name, ""))
            responses = item["get"]["responses"]
            schema = responses.get(str(status), responses["default"])
            self.assertEqual(status, 400 if name.startswith("history/") else 200, (name, answer))
            self.check(document, schema["content"]["application/json"]["schema"], answer, name)
            asked += 1
        self.assertGreater(asked, 15)
        self.assertEqual(self.get("jobs/nobody")[0], 404)
        self.check(document, {"$ref": "#/components/schemas/Error"},
                   self.get("jobs/nobody")[1], "an error")

    def get(self, path):
        try:
            with urllib.request.urlopen(f"{self.page}api/v1/{path}", timeout=DEADLINE) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def check(self, document, schema, answer, name):
        """Validates strictly: a field that is not in the document is an error."""
        if jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        schemas = {key: {**value, "additionalProperties": False} if "properties" in value else value
                   for key, value in document["components"]["schemas"].items()}
        validator = jsonschema.Draft202012Validator({**schema, "components": {"schemas": schemas}})
        wrong = [f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}"
                 for error in validator.iter_errors(answer)]
        self.assertEqual(wrong[:3], [])

    def test_errors_differ(self):
        self.assertEqual(self.error_of(self.jobs.GetJob, api.GetJobRequest(job_id="nobody")),
                         (grpc.StatusCode.NOT_FOUND, "UNKNOWN_JOB"))
        self.assertEqual(self.error_of(self.jobs.GetRegisteredJob,
                                       api.GetRegisteredJobRequest(scheduler_job_id=1)),
                         (grpc.StatusCode.NOT_FOUND, "UNKNOWN_JOB"))
        self.assertEqual(self.error_of(self.jobs.ListJobs, api.ListJobsRequest(page_size=-1)),
                         (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"))
        self.assertEqual(self.error_of(self.fabric.FindPaths, api.FindPathsRequest(source="a")),
                         (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"))
        links = api.ListLinkLoadsRequest(page_size=1)
        first = self.fabric.ListLinkLoads(links, timeout=DEADLINE)
        # The token of a snapshot that does not exist.
        links.page_token = re.sub(r"^\d+", "9999", first.next_page_token)
        self.assertEqual(self.error_of(self.fabric.ListLinkLoads, links),
                         (grpc.StatusCode.OUT_OF_RANGE, "PAGE_FORGOTTEN"))

    def test_lists_are_filtered_and_sorted(self):
        whole = self.fabric.ListLinkLoads(api.ListLinkLoadsRequest(page_size=1000), timeout=DEADLINE)
        busy = self.fabric.ListLinkLoads(api.ListLinkLoadsRequest(
            filter='bytes > 0 AND NOT port:"spine"', order_by="bytes desc", page_size=1000),
            timeout=DEADLINE)
        wanted = sorted((load for load in whole.link_loads if load.bytes and "spine" not in load.port),
                        key=lambda load: -load.bytes)
        self.assertGreater(len(wanted), 0)
        self.assertEqual(list(busy.link_loads), wanted)
        self.assertEqual(busy.total_size, len(wanted))
        self.assertEqual(self.error_of(self.fabric.ListLinkLoads,
                                       api.ListLinkLoadsRequest(filter="nothing = 1")),
                         (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"))

    def test_http_responses_equal_grpc_responses(self):
        for path, call, request in (
                ("jobs", self.jobs.ListJobs, api.ListJobsRequest()),
                ("topology", self.fabric.GetTopology, api.GetTopologyRequest()),
                ("hotspots", self.fabric.ListHotspots, api.ListHotspotsRequest()),
                ("findings", self.diagnosis.ListFindings, api.ListFindingsRequest()),
                ("problems", self.appliance.ListProblems, api.ListProblemsRequest()),
                ("service-levels", self.diagnosis.ListServiceLevels,
                 api.ListServiceLevelsRequest())):
            with urllib.request.urlopen(f"{self.page}api/v1/{path}", timeout=DEADLINE) as answer:
                spoken = json.load(answer)
            self.assertEqual(spoken, as_json(call(request, timeout=DEADLINE)), path)

    def test_doctor_prints_the_problems_of_the_api(self):
        listed = self.appliance.ListProblems(api.ListProblemsRequest(page_size=1000),
                                             timeout=DEADLINE)
        self.assertTrue(listed.HasField("snapshot"))
        said = subprocess.run([ROCESCOPE, "doctor", self.page], capture_output=True, text=True)
        self.assertEqual(said.stdout.count("Action: "), listed.total_size)
        self.assertNotIn("No analysis window is complete", said.stdout)

    def test_events_start_with_the_current_snapshot(self):
        stream = self.appliance.WatchEvents(api.WatchEventsRequest(), timeout=DEADLINE)
        event = next(stream)
        stream.cancel()
        self.assertEqual(event.kind, api.Event.KIND_SNAPSHOT)
        self.assertGreater(event.snapshot.version, 0)

    def test_health_and_reflection_are_available(self):
        # grpc.health.v1: status (1) is SERVING (1).
        check = self.channel.unary_unary("/grpc.health.v1.Health/Check")
        self.assertEqual(check(b"", timeout=DEADLINE), b"\x08\x01")
        # grpc.reflection.v1alpha: list_services (7) is "".
        reflect = self.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        said = next(reflect(iter([b"\x3a\x00"]), timeout=DEADLINE))
        for service in (b"rocescope.v1.Jobs", b"rocescope.v1.Fabric", b"rocescope.v1.Diagnosis"):
            self.assertIn(service, said)

    def test_the_package_reads_whole_lists(self):
        with rocescope.connect(self.target) as client:
            jobs = [job.job_id for job in client.list("jobs")]
            self.assertEqual(jobs, [job["job_id"] for job in self.replayed["jobs"]])
            for name in client_module.LISTS:
                fields = {"job_id": jobs[0]} if name == "paths" else {}
                with self.subTest(name):
                    try:
                        elements = list(client.list(name, page_size=3, **fields))
                    except grpc.RpcError as error:
                        self.assertEqual((name, rocescope.error_of(error).reason), ("past_events", "NO_HISTORY"))
                        continue
                    whole = list(client.list(name, **fields))
                    self.assertEqual([as_json(element) for element in elements], [as_json(element) for element in whole])
            paths = list(client.list("paths", job_id=jobs[0], source="0", page_size=1))
            self.assertGreater(len(paths), 1)
            with self.assertRaises(ValueError):
                list(client.list("path"))

    def test_the_package_finds_paths_of_many_pairs(self):
        with rocescope.connect(self.target) as client:
            job = next(client.list("jobs")).job_id
            paths = list(client.list("paths", job_id=job, source="0", destination="1"))
            results = list(client.paths_of_pairs([(0, 1), (0, "nowhere")] * 600, job_id=job, paths_per_pair=1000))
        self.assertEqual(len(results), 1200)
        self.assertEqual([as_json(path) for path in results[1198].paths], [as_json(path) for path in paths])
        self.assertEqual({result.error.reason for result in results}, {"", "BAD_REQUEST"})

    def test_the_package_knows_all_lists(self):
        paged = {name for file in (api.DESCRIPTOR, fabric_pb2.DESCRIPTOR)
                 for name, message in file.message_types_by_name.items()
                 if "next_page_token" in message.fields_by_name}
        paged.remove("BatchFindPathsResponse")  # Client.paths_of_pairs
        known = {method + "Response" for _, method, _ in client_module.LISTS.values()}
        self.assertEqual(known, paged)

    def test_the_package_states_the_reason_of_an_error(self):
        with rocescope.connect(self.target) as client:
            with self.assertRaises(grpc.RpcError) as caught:
                client.jobs.GetJob(api.GetJobRequest(job_id="none"), timeout=DEADLINE)
        self.assertEqual(rocescope.error_of(caught.exception).reason, "UNKNOWN_JOB")

    def test_the_package_follows_events(self):
        with rocescope.connect(self.target) as client:
            event = next(client.events())
            self.assertEqual(event.kind, api.Event.KIND_SNAPSHOT)

    def test_the_package_wants_all_files_of_tls(self):
        with self.assertRaisesRegex(ValueError, "incomplete TLS files"):
            rocescope.connect(self.target, ca="ca.pem")
        with self.assertRaises(FileNotFoundError):
            rocescope.connect(self.target, ca="/nonexistent", certificate="/nonexistent", key="/nonexistent")


if __name__ == "__main__":
    SIMULATOR, ROCESCOPE, SCENARIO, WHEEL = sys.argv[1:5]
    del sys.argv[1:5]
    sys.path.insert(0, WHEEL)
    import rocescope
    from rocescope import client as client_module
    from rocescope.v1 import diagnosis_pb2 as diagnosis
    from rocescope.v1 import error_details_pb2 as error_details
    from rocescope.v1 import fabric_pb2
    from rocescope.v1 import service_pb2 as api
    from rocescope.v1 import service_pb2_grpc as stubs
    unittest.main()
