"""Traces: what a collector of OpenTelemetry's is sent, which requests belong to which trace, and what is counted."""

import json
import queue
import subprocess
from concurrent import futures

import grpc
import pytest
import torch
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1 import trace_pb2
from torch import Tensor, nn

from integration_tests import server_models as models
from integration_tests.daemon import binary, eventually
from integration_tests.serving import floats

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
RECORDED = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
PARTS = ["read", "queue", "execute", "write"]


class RaisesLong(nn.Module):
    def __init__(self):
        super().__init__()
        self.text = "no " * 5000

    def forward(self, x: Tensor) -> Tensor:
        if x.numel() > 0:
            raise ValueError(self.text)
        return x


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self):
        self.messages = queue.SimpleQueue()
        self.refuse = False

    def Export(self, request, context):
        if self.refuse:
            context.abort(grpc.StatusCode.UNAVAILABLE, "busy")
        self.messages.put(request)
        return trace_service_pb2.ExportTraceServiceResponse()

    def requests(self, count):
        """The next so many requests: lists of spans, the request's own first."""
        found = []
        while len(found) < count:
            message = self.messages.get(timeout=30)
            for resource in message.resource_spans:
                self.resource = {each.key: each.value.string_value for each in resource.resource.attributes}
                spans = [span for scope in resource.scope_spans for span in scope.spans]
                for span in spans:
                    if span.kind == trace_pb2.Span.SPAN_KIND_SERVER:
                        found.append([span, *(part for part in spans if part.parent_span_id == span.span_id)])
        assert len(found) == count
        return found


@pytest.fixture
def collector():
    made = Collector()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(made, server)
    made.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield made
    server.stop(None)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "access.log"


@pytest.fixture
def server(hearthd, collector, log):
    served = {"identity": models.scripted(models.Identity()), "raises": torch.jit.script(RaisesLong())}
    flags = ["--trace-endpoint", f"http://127.0.0.1:{collector.port}", "--trace-rate", "0", "--id", "one"]
    return hearthd(served, *flags, "--access-log", log)


def attributes(span):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_a_request_of_a_recorded_trace_is_a_span_with_its_parts(server, collector):
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], headers=RECORDED, request_id="mine")
    [[request, *parts]] = collector.requests(1)
    assert collector.resource["service.name"] == "one"
    assert request.trace_id.hex() == TRACE and request.parent_span_id.hex() == CALLER
    assert request.name == "inference.GRPCInferenceService/ModelInfer"
    assert [part.name for part in parts] == PARTS
    assert all(part.trace_id == request.trace_id for part in parts)
    assert parts[0].start_time_unix_nano == request.start_time_unix_nano
    for before, after in zip(parts, parts[1:]):
        assert before.start_time_unix_nano <= before.end_time_unix_nano == after.start_time_unix_nano
    assert parts[-1].end_time_unix_nano <= request.end_time_unix_nano
    told = attributes(request)
    assert told["hearth.model"] == "identity" and told["hearth.version"] == "1" and told["hearth.request_id"] == "mine"
    assert told["hearth.code"] == "OK" and told["hearth.request_bytes"] > 0
    assert attributes(parts[2]) == {"hearth.tier": 0, "hearth.batch_size": 1}


def test_the_tier_of_a_run_is_told(server, collector, log):
    with server.client() as client:
        eventually(lambda: client.infer("identity", [floats("x", 1)]) and server.metric("hearth_plans", tier="1") == 1)
        client.infer("identity", [floats("x", 1)], headers=RECORDED)
    [[_, *parts]] = collector.requests(1)
    assert attributes(parts[2])["hearth.tier"] == 1
    eventually(lambda: '"tier":1' in log.read_text())


def test_http_streams_and_the_native_service_are_traced_too(server, collector):
    body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]})
    url = f"http://127.0.0.1:{server.ready['http_port']}/v2/models/identity/infer"
    curl = ["curl", "-sS", "--fail", "-H", f"traceparent: {RECORDED['traceparent']}", "-d", body, url]
    subprocess.run(curl, check=True, capture_output=True, timeout=60)
    assert collector.requests(1)[0][0].name == "POST /v2/models/{model}/infer"
    with server.channel() as channel:
        call = channel.unary_unary("/hearth.v1.ModelService/Call")
        with pytest.raises(grpc.RpcError):
            call(b"\x0a\x08identity", metadata=list(RECORDED.items()), timeout=20)
    [[request, *parts]] = collector.requests(1)
    assert request.name == "hearth.v1.ModelService/Call" and [part.name for part in parts] == ["read"]


def test_the_callers_tracestate_is_in_every_span(server, collector):
    state = "vendor=00f067aa0ba902b7,other@system=a b"
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], headers={**RECORDED, "tracestate": state})
        client.infer("identity", [floats("x", 1)], headers={**RECORDED, "tracestate": f"{state},vendor=again"})
        client.infer("identity", [floats("x", 1)], headers={"traceparent": "nonsense", "tracestate": state})
    [as_it_was, malformed] = collector.requests(2)
    assert [span.trace_state for span in as_it_was] == 5 * [state]
    assert [span.trace_state for span in malformed] == 5 * [""]

    body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]})
    url = f"http://127.0.0.1:{server.ready['http_port']}/v2/models/identity/infer"
    headers = ["-H", f"traceparent: {RECORDED['traceparent']}", "-H", "tracestate: a=1", "-H", "tracestate: b=2"]
    subprocess.run(["curl", "-sS", "--fail", *headers, "-d", body, url], check=True, capture_output=True, timeout=60)
    with server.channel() as channel, pytest.raises(grpc.RpcError):
        metadata = [*RECORDED.items(), ("tracestate", "a=1"), ("tracestate", "b=2")]
        channel.unary_unary("/hearth.v1.ModelService/Call")(b"\x0a\x08identity", metadata=metadata, timeout=20)
    joined = [span.trace_state for request in collector.requests(2) for span in request]
    assert joined == 7 * ["a=1,b=2"]


def test_errors_are_told_and_cut(server, collector):
    with server.client() as client, pytest.raises(Exception, match="no no"):
        client.infer("raises", [floats("x", 1)], headers=RECORDED)
    [[request, *parts]] = collector.requests(1)
    assert request.status.code == trace_pb2.Status.STATUS_CODE_ERROR
    assert len(request.status.message) == 1024 and attributes(request)["hearth.code"] == "INTERNAL"
    assert [part.name for part in parts] == PARTS


def test_only_those_that_are_to_be_traced_are(server, collector):
    with server.client() as client:
        client.infer("identity", [floats("x", 1)])
        client.infer("identity", [floats("x", 1)], headers={"traceparent": f"00-{TRACE}-{CALLER}-00"})
        client.infer("identity", [floats("x", 1)], headers={"traceparent": "nonsense"})
        assert client.get_trace_settings(as_json=True)["settings"]["trace_mode"]["value"] == ["opentelemetry"]
        client.update_trace_settings(settings={"trace_rate": "1", "trace_count": "2"})
        for _ in range(5):
            client.infer("identity", [floats("x", 1)], request_id="begun")
        begun = collector.requests(2)
        assert all(attributes(request)["hearth.request_id"] == "begun" for request, *_ in begun)
        assert not any(request.parent_span_id for request, *_ in begun)
        assert begun[0][0].trace_id != begun[1][0].trace_id
        client.update_trace_settings(settings={"trace_count": None, "trace_level": "OFF"})
        client.infer("identity", [floats("x", 1)], headers=RECORDED)
        client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
        client.infer("identity", [floats("x", 1)], request_id="last")
        assert attributes(collector.requests(1)[0][0])["hearth.request_id"] == "last"
        assert "trace" in client.get_server_metadata().extensions
        for settings, says in [
            ({"trace_rate": "-1"}, "at least 0"),
            ({"trace_level": ["TENSORS"]}, "no tensors"),
            ({"trace_level": ["SOME"]}, "OFF or TIMESTAMPS"),
            ({"trace_file": "/tmp/traces"}, "stays"),
            ({"nothing": "1"}, "no trace setting"),
        ]:
            with pytest.raises(Exception, match=says):
                client.update_trace_settings(settings=settings)
        with pytest.raises(Exception, match="all models"):
            client.update_trace_settings(model_name="identity", settings={"trace_rate": "5"})


def test_the_access_log_names_the_trace(server, collector, log):
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], headers=RECORDED)
        client.infer("identity", [floats("x", 1)], headers={"traceparent": f"00-{TRACE[::-1]}-{CALLER}-00"})
        client.infer("identity", [floats("x", 1)])
    eventually(lambda: log.exists() and len(log.read_text().splitlines()) == 3)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line.get("trace_id") for line in lines] == [TRACE, TRACE[::-1], None]
    assert all("tier" in line for line in lines)


def test_a_collector_that_does_not_take_them_costs_no_request(server, collector):
    collector.refuse = True
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], headers=RECORDED)
        eventually(lambda: server.metric("hearth_traces_total", outcome="failed") == 1)
        collector.refuse = False
        client.infer("identity", [floats("x", 1)], headers=RECORDED)
    assert len(collector.requests(1)) == 1
    eventually(lambda: server.metric("hearth_traces_total", outcome="exported") == 1)


def test_what_waits_at_the_end_is_sent(server, collector):
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], headers=RECORDED)
    assert server.stop() == 0
    assert len(collector.requests(1)) == 1


def test_an_endpoint_that_is_none_ends_the_start(tmp_path):
    done = subprocess.run(
        [binary(), "--model-repository", tmp_path, "--grpc-port", "0", "--http-port", "0", "--metrics-port", "0",
         "--trace-endpoint", "http://collector/v1/traces"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "expected HOST:PORT" in done.stderr
