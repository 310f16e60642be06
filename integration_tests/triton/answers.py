"""Asks a server all requests, and gives what it answers as JSON can hold it."""

import http.client
import json
import re

import grpc
from google.protobuf import json_format
from tritonclient.grpc import service_pb2_grpc

from integration_tests.triton import configurations, models, requests

PATIENCE = 60  # seconds


def of(http_port, grpc_port, metrics_port):
    """Of a server that neither loads nor unloads."""
    return {
        "http": _over_http(http_port, requests.LOOK_UPS + requests.INFERENCES + requests.OTHER_MODELS),
        "sequences": _over_http(http_port, requests.SEQUENCES),
        "grpc": _over_grpc(grpc_port),
        "streams": _over_streams(grpc_port),
        "counted": _counted(http_port),
        "metrics": _metrics(metrics_port),
    }


def of_life(http_port):
    """Of a server that is told what to load."""
    return _over_http(http_port, requests.LIFE)


def of_loads(http_port):
    """By configuration: the status of its load, and how often its model is in the index of what is ready."""
    made = {}
    for name in configurations.CONFIGURATIONS:
        folder = configurations.folder_of(name)
        loaded = _asked(http_port, requests.Request("", "POST", f"/v2/repository/models/{folder}/load"))
        index = _asked(http_port, requests.Request("", "POST", "/v2/repository/index", {"ready": True}))["body"]
        ready = [entry for entry in index if entry["name"] == folder]
        made[name] = {"status": loaded["status"], "error": (loaded["body"] or {}).get("error"), "ready": len(ready)}
    return made


def _over_http(port, asked):
    """By name: the status, the header that says what the body is, the body."""
    return {request.name: _asked(port, request) for request in asked}


def _over_grpc(port):
    """By name: the code and, of an error, its message; of an answer, its fields."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        return {call.name: _called(stub, call) for call in requests.CALLS}


def _over_streams(port):
    """By name: the answers of a stream, as _over_grpc has them, and its own end."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        made = {}
        for name, calls in requests.STREAMS.items():
            made[name] = {"answers": []}
            try:
                for answer in stub.ModelStreamInfer(iter(call.message for call in calls), timeout=PATIENCE):
                    made[name]["answers"].append(_as_json(answer))
                made[name]["code"] = "OK"
            except grpc.RpcError as error:
                made[name]["code"] = error.code().name
        return made


def _as_json(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def _asked(port, request):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(request.method, request.path, body=request.bytes(), headers=request.headers)
        answer = connection.getresponse()
        text = answer.read()
        made = {"status": answer.status, "type": answer.getheader("Content-Type")}
        length = answer.getheader("Inference-Header-Content-Length")
        if length is not None:
            made["contents"] = text[int(length) :].hex()
            text = text[: int(length)]
        try:
            made["body"] = json.loads(text) if text else None
        except ValueError:
            made["body"] = text.decode(errors="backslashreplace")
        return made
    finally:
        connection.close()


def _called(stub, call):
    try:
        answer = getattr(stub, call.method)(call.message, timeout=PATIENCE)
    except grpc.RpcError as error:
        return {"code": error.code().name, "message": error.details()}
    return {"code": "OK", "answer": _as_json(answer)}


def _counted(port):
    """By model: what its statistics count, without times, after all requests."""
    made = {}
    for model in models.MODELS:
        for version in _asked(port, requests.Request("", "GET", f"/v2/models/{model}/stats"))["body"]["model_stats"]:
            batches = {str(batch["batch_size"]): batch["compute_infer"]["count"] for batch in version["batch_stats"]}
            made[f"{model}/{version['version']}"] = {
                "inference_count": version["inference_count"],
                "execution_count": version["execution_count"],
                **{name: duration["count"] for name, duration in version["inference_stats"].items()},
                "batches": batches,
            }
    return made


def _metrics(port):
    """By name of what models are told by: the metric's type, and its labels."""
    text = _asked(port, requests.Request("", "GET", "/metrics"))["body"]
    types = dict(re.findall(r"^# TYPE (nv_inference_\w+) (\w+)", text, re.MULTILINE))
    labels = re.findall(r"^(nv_inference_\w+)\{(.*)\} ", text, re.MULTILINE)
    return {name: [types[name], sorted(re.findall(r'(\w+)="', names))] for name, names in labels}
