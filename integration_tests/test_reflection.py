"""Streams of gRPC's reflection: they hold no threads, there is a bound to them, and they do not hold up the end."""

import contextlib
import os
import threading

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_requests import Client

from integration_tests.daemon import eventually
from integration_tests.server_models import Identity, scripted


def test_a_client_that_has_no_protocol_files_asks_and_infers(hearthd):
    """grpc_requests, which makes its messages, as grpcurl does, of what reflection says."""
    server = hearthd({"identity": scripted(Identity())})
    # Everybody else's messages of the same names are in the process's own pool.
    client = Client(server.address, descriptor_pool=DescriptorPool())
    assert {"inference.GRPCInferenceService", "hearth.v1.ModelService", "grpc.health.v1.Health"} <= set(client.service_names)
    assert client.request("grpc.health.v1.Health", "Check", {"service": "identity"}) == {"status": "SERVING"}
    tensor = {"name": "x", "datatype": "FP32", "shape": [2], "contents": {"fp32_contents": [0.5, -1]}}
    service = client.service("inference.GRPCInferenceService")
    answer = service.ModelInfer({"model_name": "identity", "inputs": [tensor]})
    assert answer["outputs"][0]["shape"] == ["2"]
    statistics = service.ModelStatistics({"name": "identity"})
    assert statistics["model_stats"][0]["inference_count"] == "1"


def test_streams_of_reflection_hold_no_threads_and_are_bounded(hearthd):
    server = hearthd({})

    def threads():
        return len(os.listdir(f"/proc/{server.pid}/task"))

    question = reflection_pb2.ServerReflectionRequest(list_services="")
    end = threading.Event()

    def ask_and_stay():
        yield question
        end.wait()

    with server.channel() as channel:
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        health = health_pb2_grpc.HealthStub(channel)
        next(iter(reflection.ServerReflectionInfo(iter([question]))))
        before = threads()
        streams, refused = [], 0
        for _ in range(200):
            stream = reflection.ServerReflectionInfo(ask_and_stay())
            try:
                assert next(stream).list_services_response.service
                streams.append(stream)
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
                refused += 1
        # gRPC's own threads come and go by a few.
        assert threads() <= before + 8
        assert len(streams) == 64 and refused == 136
        answer = health.Check(health_pb2.HealthCheckRequest(service=""), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        for stream in streams:
            stream.cancel()
        end.set()

        def answered_again():
            with contextlib.suppress(grpc.RpcError):
                return bool(next(iter(reflection.ServerReflectionInfo(iter([question])))))

        eventually(answered_again)


def test_an_open_stream_of_reflection_does_not_hold_up_the_end(hearthd):
    server = hearthd({})
    end = threading.Event()

    def ask_and_stay():
        yield reflection_pb2.ServerReflectionRequest(list_services="")
        end.wait()

    with server.channel() as channel:
        stream = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(ask_and_stay())
        next(stream)
        server.terminate()
        with pytest.raises(grpc.RpcError) as caught:
            next(stream)
        end.set()
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert server.wait() == 0
