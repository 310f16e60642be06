"""What hearthd says about itself, its models and what it was asked, over gRPC and HTTP."""

import os
import pathlib
import subprocess

import grpc
import numpy as np
import pytest
from google.protobuf import descriptor_pb2, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from integration_tests import server_models as models
from integration_tests.command_line import BUILD
from integration_tests.daemon import binary
from integration_tests.serving import bad, fails, tensor


def test_the_server_is_live_and_ready(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("identity")
    assert client.is_model_ready("identity", "1")
    assert not client.is_model_ready("identity", "2")
    assert not client.is_model_ready("nothing")


def test_the_server_names_itself_and_what_it_offers(client):
    metadata = client.get_server_metadata()
    assert metadata.name == "hearth"
    assert "model_repository" in metadata.extensions
    assert "statistics" in metadata.extensions


def test_metadata_of_a_model_without_configuration_comes_from_its_schema(client):
    metadata = client.get_model_metadata("nested")
    assert list(metadata.versions) == ["1"]
    assert metadata.platform == "pytorch_libtorch"
    assert [(t.name, t.datatype) for t in metadata.inputs] == [
        ("images.*", "FP32"), ("pair.0", "INT64"), ("pair.1", "FP32"), ("options.*", "FP32"), ("names", "BYTES"),
    ]  # fmt: skip
    assert list(metadata.inputs[4].shape) == [-1]
    assert [(t.name, t.datatype) for t in metadata.outputs] == [
        ("0.*.*", "FP32"), ("1.boxes", "FP32"), ("1.label", "BYTES"), ("2", "FP32"), ("3", "INT64"), ("4", "BYTES"),
        ("5", "BOOL"),
    ]  # fmt: skip


def test_metadata_of_a_configured_model_is_its_configurations(client):
    metadata = client.get_model_metadata("two")
    assert [(t.name, t.datatype, list(t.shape)) for t in metadata.inputs] == [
        ("INPUT__0", "FP32", [-1, 3]),
        ("INPUT__1", "FP32", [-1, 3]),
    ]
    config = client.get_model_config("two").config
    assert config.max_batch_size == 4
    assert config.backend == "pytorch"
    assert config.default_model_filename == "model.pt"


def test_an_unknown_model_or_version_is_not_found(client):
    for ask in (client.get_model_metadata, client.get_model_config):
        assert "nothing" in fails(grpc.StatusCode.NOT_FOUND, lambda ask=ask: ask("nothing"))
        assert "only 1" in fails(grpc.StatusCode.NOT_FOUND, lambda ask=ask: ask("identity", "7"))
        assert "label 'x'" in fails(grpc.StatusCode.NOT_FOUND, lambda ask=ask: ask("identity", "x"))
    for version in ("0", "-1", "1.5"):
        fails(grpc.StatusCode.INVALID_ARGUMENT, lambda v=version: client.get_model_metadata("identity", v))


def test_statistics_and_metrics_count_what_was_asked(hearthd):
    server = hearthd({"two": (models.scripted(models.Two()), models.TWO_CONFIG)})
    a = np.zeros((3, 3), dtype=np.float32)
    with server.client() as client:
        for _ in range(4):
            client.infer("two", [tensor("INPUT__0", a), tensor("INPUT__1", a)])
        bad(client, "two", tensor("INPUT__0", a[:, :2]))
        stats = client.get_inference_statistics("two").model_stats[0]
        assert (stats.name, stats.version) == ("two", "1")
        assert stats.inference_count == 12
        assert stats.execution_count == 4
        assert stats.inference_stats.success.count == 4
        assert stats.inference_stats.fail.count == 1
        parts = stats.inference_stats
        measured = parts.queue.ns + parts.compute_input.ns + parts.compute_infer.ns + parts.compute_output.ns
        assert 0 < measured <= parts.success.ns
        assert [batch.batch_size for batch in stats.batch_stats] == [3]
        assert len(client.get_inference_statistics().model_stats) == 1
        fails(grpc.StatusCode.NOT_FOUND, lambda: client.get_inference_statistics("nothing"))
    assert server.metric("nv_inference_request_success", model="two", version="1") == 4
    assert server.metric("nv_inference_count", model="two") == 12
    assert server.metric("nv_inference_exec_count", model="two") == 4
    assert server.metric("nv_inference_request_failure", model="two", reason="OTHER") == 1
    assert server.metric("nv_model_load_duration_secs", model="two") > 0
    assert server.metric("hearth_request_duration_seconds_count", model="two") == 4
    assert server.metric("hearth_process_resident_bytes") > 0


@pytest.mark.skipif(BUILD.name != "release", reason="a sanitizer brings an allocator of its own")
def test_memory_is_jemallocs(server):
    assert "libjemalloc" in pathlib.Path(f"/proc/{server.pid}/maps").read_text()
    told = {**os.environ, "MALLOC_CONF": "confirm_conf:true"}
    done = subprocess.run([binary(), "--version"], env=told, capture_output=True, text=True, timeout=60, check=True)
    assert '"background_thread:true,oversize_threshold:0"' in done.stderr


def test_http_answers_probes(server):
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/identity/ready", "/v2/models/two/versions/1/ready"):
        assert server.get(path)[0] == 200, path
    assert server.get("/v2/models/two/versions/2/ready")[0] == 400
    assert server.get("/v2/models/nothing/ready")[0] == 400
    assert server.get("/v2/nothing")[0] == 404


def test_health_is_checked_listed_and_watched(server, client, protocol):
    with server.channel() as channel:
        health = health_pb2_grpc.HealthStub(channel)
        serving = health_pb2.HealthCheckResponse.SERVING

        def check(service):
            return health.Check(health_pb2.HealthCheckRequest(service=service)).status

        for service in ("", "inference.GRPCInferenceService", "identity"):
            assert check(service) == serving
        fails(grpc.StatusCode.NOT_FOUND, lambda: check("nothing"))
        # Newer than the client's package: asked through our own file.
        answer = message_factory.GetMessageClass(protocol.FindMessageTypeByName("grpc.health.v1.HealthListResponse"))
        listed = answer.FromString(channel.unary_unary("/grpc.health.v1.Health/List")(b"")).statuses
        assert listed[""].status == serving and listed["two"].status == serving

        watch = health.Watch(health_pb2.HealthCheckRequest(service="dict"))
        assert next(watch).status == serving
        client.unload_model("dict")
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
        client.load_model("dict")
        assert next(watch).status == serving
        unknown = health.Watch(health_pb2.HealthCheckRequest(service="nothing"))
        assert next(unknown).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        watch.cancel()
        unknown.cancel()


def test_reflection_gives_the_services_and_their_files(server):
    with server.channel() as channel:
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)

        def ask(**question):
            request = reflection_pb2.ServerReflectionRequest(**question)
            return next(iter(reflection.ServerReflectionInfo(iter([request]))))

        services = {s.name for s in ask(list_services="").list_services_response.service}
        assert {"inference.GRPCInferenceService", "grpc.health.v1.Health"} <= services
        answer = ask(file_containing_symbol="inference.GRPCInferenceService").file_descriptor_response
        files = [descriptor_pb2.FileDescriptorProto.FromString(f) for f in answer.file_descriptor_proto]
        methods = {m.name for file in files for service in file.service for m in service.method}
        assert {"ModelInfer", "ModelStreamInfer", "RepositoryModelLoad"} <= methods
