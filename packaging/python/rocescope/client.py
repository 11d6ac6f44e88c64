# SPDX-License-Identifier: BSD-3-Clause
import grpc

from rocescope.v1 import error_details_pb2, service_pb2, service_pb2_grpc

TIMEOUT_SECONDS = 20
PAGE_SIZE = 1000
MAX_PAIRS = 1000  # in one BatchFindPathsRequest
MAX_RESPONSE_BYTES = 64 << 20

# List -> (service, method, repeated field of the response).
LISTS = {
    "sources": ("appliance", "ListSources", "sources"),
    "problems": ("appliance", "ListProblems", "problems"),
    "jobs": ("jobs", "ListJobs", "jobs"),
    "registered_jobs": ("jobs", "ListRegisteredJobs", "registered_jobs"),
    "links": ("fabric", "ListLinkLoads", "link_loads"),
    "node_switches": ("fabric", "ListNodeSwitches", "node_switches"),
    "nodes": ("fabric", "ListNodes", "nodes"),
    "paths": ("fabric", "FindPaths", "paths"),
    "hotspots": ("fabric", "ListHotspots", "hotspots"),
    "findings": ("diagnosis", "ListFindings", "findings"),
    "anomalies": ("diagnosis", "ListAnomalies", "anomalies"),
    "service_levels": ("diagnosis", "ListServiceLevels", "service_levels"),
    "past_events": ("history", "ListPastEvents", "events"),
}


class Client:
    """The services of an appliance: `appliance`, `jobs`, `fabric`, `diagnosis` and `history` are the stubs that gRPC
    generates. Calls raise grpc.RpcError."""

    def __init__(self, channel):
        self.channel = channel
        self.appliance = service_pb2_grpc.ApplianceStub(channel)
        self.jobs = service_pb2_grpc.JobsStub(channel)
        self.fabric = service_pb2_grpc.FabricStub(channel)
        self.diagnosis = service_pb2_grpc.DiagnosisStub(channel)
        self.history = service_pb2_grpc.HistoryStub(channel)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.channel.close()

    def list(self, name, timeout=TIMEOUT_SECONDS, **fields):
        """Yields all elements of a list (one of LISTS), page by page. `fields`: fields of the request, such as
        filter, order_by or job_id. `timeout`: seconds for each page. If the appliance restarts between two pages, or no
        longer has the snapshot of the first page, the call raises grpc.RpcError: begin again."""
        if name not in LISTS:
            raise ValueError(f"unknown list {name!r}; expected one of: {', '.join(LISTS)}")
        service, method, field = LISTS[name]
        call = getattr(getattr(self, service), method)
        message = getattr(service_pb2, method + "Request")(**{"page_size": PAGE_SIZE, **fields})
        while True:
            response = call(message, timeout=timeout)
            yield from getattr(response, field)
            if not response.next_page_token:
                return
            message.page_token = response.next_page_token

    def paths_of_pairs(self, pairs, job_id="", paths_per_pair=0, timeout=TIMEOUT_SECONDS):
        """Yields one PairPaths for each pair (source, destination), in the same order. A pair with an unknown endpoint
        has `error` set. With `job_id`, the endpoints are rank numbers. `timeout`: seconds for each request."""
        pairs = list(pairs)
        for first in range(0, len(pairs), MAX_PAIRS):
            message = service_pb2.BatchFindPathsRequest(job_id=job_id, paths_per_pair=paths_per_pair)
            for source, destination in pairs[first:first + MAX_PAIRS]:
                message.pairs.add(source=str(source), destination=str(destination))
            while True:
                response = self.fabric.BatchFindPaths(message, timeout=timeout)
                yield from response.results
                if not response.next_page_token:
                    break
                message.page_token = response.next_page_token

    def events(self, cursor=0):
        """Yields events until the stream ends: first the current snapshot and the active faults, then each change. To
        continue a stream, pass the `cursor` of its last event."""
        yield from self.appliance.WatchEvents(service_pb2.WatchEventsRequest(cursor=cursor))


def _content_of(path):
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()


def connect(address, *, ca=None, certificate=None, key=None, server_name=None):
    """Returns a Client of the appliance at HOST:PORT. `ca`, `certificate` and `key` are paths of PEM files. Pass all three
    for TLS, or none for a plaintext connection, which an appliance accepts only on its loopback interface.
    `server_name`: the name in the appliance's certificate if it differs from HOST."""
    options = [("grpc.max_receive_message_length", MAX_RESPONSE_BYTES)]
    if ca is None and certificate is None and key is None:
        if server_name:
            raise ValueError("server_name requires TLS: pass ca, certificate and key, too")
        return Client(grpc.insecure_channel(address, options))
    if None in (ca, certificate, key):
        raise ValueError("incomplete TLS files: pass all of ca, certificate and key, or none")
    if server_name:
        options.append(("grpc.ssl_target_name_override", server_name))
    credentials = grpc.ssl_channel_credentials(_content_of(ca), _content_of(key), _content_of(certificate))
    return Client(grpc.secure_channel(address, credentials, options))


def error_of(error):
    """The google.rpc.ErrorInfo of a grpc.RpcError with the reason, or None."""
    for name, value in error.trailing_metadata() or ():
        if name != "grpc-status-details-bin":
            continue
        for detail in error_details_pb2.RpcStatus.FromString(value).details:
            if detail.type_url.endswith("/google.rpc.ErrorInfo"):
                return error_details_pb2.ErrorInfo.FromString(detail.value)
    return None
