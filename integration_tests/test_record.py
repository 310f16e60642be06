"""hearth record and hearth replay: live requests of every protocol in a file, and sent again from there."""

import contextlib
import json
import threading

import grpc
import numpy as np
import pytest
import torch
import tritonclient.utils.shared_memory as shm
from google.protobuf import message_factory
from torch import Tensor, nn
from tritonclient.grpc import service_pb2, service_pb2_grpc

from integration_tests import rest
from integration_tests import server_models as models
from integration_tests.command_line import hearth
from integration_tests.daemon import CHANNEL_OPTIONS, NO_READING_AHEAD, eventually
from integration_tests.native import NativeClient
from integration_tests.recordings import Recorder, inference, part_class, write_parts
from integration_tests.serving import Stream, floats, outputs_of, raw_request, tensor

LARGE = np.arange(4096, dtype=np.float32)  # from 4096 bytes on a tensor lies in the message's own memory


class AddsInPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.add_(1)


class Keeps(nn.Module):
    """Adds to what the call before brought."""

    def __init__(self):
        super().__init__()
        self.last = torch.zeros(4096)

    def forward(self, x: Tensor) -> Tensor:
        self.last += 1
        self.last = x
        return x + 0


class Half(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.numel() == 1:
            raise ValueError("one is not enough")
        return x


@pytest.fixture(scope="module")
def server(hearthd):
    made = {name: models.scripted(model) for name, model in [
        ("identity", models.Identity()), ("in_place", AddsInPlace()), ("keeps", Keeps()), ("half", Half()),
        ("other", models.Identity()), ("raises", Raises()), ("nested", models.Nested()), ("idle", models.Identity()),
    ]}  # fmt: skip
    return hearthd(made, "--allow-client-shm")


@contextlib.contextmanager
def recording(protocol, server, model, tmp_path, requests, *flags):
    """A recording that ends with so many requests, which the block sends."""
    recorder = Recorder(protocol, server, model, tmp_path / "record", "--requests", str(requests), *flags)
    yield recorder
    code, text = recorder.end()
    assert code == 0, text


def test_requests_of_every_protocol_are_recorded_in_one_form(server, protocol, tmp_path):
    with recording(protocol, server, "identity", tmp_path, 5, "--answers") as recorder:
        with server.client() as client:
            client.infer("identity", [floats("x", 1)], request_id="mine", model_version="1")
        with Stream(server) as stream:
            stream.send("identity", [floats("x", 2)])
            stream.next()
        with rest.rest_client(server) as client:
            client.infer("identity", [rest.floats("x", 3, binary=False)])
            client.infer("identity", [rest.floats("x", 4)])
        with server.channel() as channel:
            typed = service_pb2.ModelInferRequest(model_name="identity")
            typed.inputs.add(name="x", datatype="FP32", shape=[1]).contents.fp32_contents.append(5)
            service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(typed)
    header, *requests, end = recorder.parts()
    assert (header.header.format, header.header.format_version, header.header.model) == ("hearth-record", 1, "identity")
    assert header.header.answers and header.header.began_ns > 1.7e18
    assert (end.end.requests, end.end.lost) == (5, 0)
    recorded = [part.request for part in requests]
    assert {each.method for each in recorded} == {"inference.GRPCInferenceService/ModelInfer"}
    assert [each.came_by.rpartition("/")[2] for each in recorded] == [
        "ModelInfer", "ModelStreamInfer", "infer", "infer", "ModelInfer"]  # fmt: skip
    assert all(each.version == "1" and each.code == 0 and each.duration_ns > 0 for each in recorded)
    assert sorted(each.arrival_ns for each in recorded) == [each.arrival_ns for each in recorded]
    for value, each in enumerate(recorded, 1):
        request, inputs, outputs = inference(each)
        assert (request.model_name, request.inputs[0].name, inputs, outputs) == ("identity", "x", [[value]], [[value]])
        assert not request.inputs[0].parameters and not request.inputs[0].HasField("contents")
    first = inference(recorded[0])[0]
    assert (first.id, first.model_version) == ("mine", "1")
    assert recorder.path.stat().st_mode & 0o777 == 0o600


def test_calls_of_the_native_service_are_recorded(server, protocol, tmp_path):
    native = NativeClient(protocol, server.channel())
    with recording(protocol, server, "nested", tmp_path, 1, "--answers") as recorder:
        arguments = ([torch.ones(2)], (3, torch.zeros(2)), {"a": torch.ones(2)}, ["name"])
        answer = native.call("nested", "forward", *arguments)
    [recorded] = recorder.requests()
    assert recorded.method == recorded.came_by == "hearth.v1.ModelService/Call"
    assert native.message("CallRequest").FromString(recorded.request).model == "nested"
    response = native.message("CallResponse").FromString(recorded.answer)
    assert str(native.read_answer(response)) == str(answer)
    done = hearth("replay", recorder.path, server.address, "--compare", "--speed", "max")
    assert done.returncode == 0 and "1 answers" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("model", ["in_place", "keeps"])
@pytest.mark.parametrize("way", ["grpc", "rest", "native"])
def test_what_models_write_to_or_keep_is_recorded_as_it_came(server, protocol, tmp_path, model, way):
    native = NativeClient(protocol, server.channel())
    with recording(protocol, server, model, tmp_path, 3) as recorder, server.client() as client:
        for _ in range(3):
            if way == "grpc":
                client.infer(model, [tensor("x", LARGE)])
            elif way == "rest":
                with rest.rest_client(server) as http:
                    http.infer(model, [rest.tensor("x", LARGE)])
            else:
                native.call(model, "forward", torch.from_numpy(LARGE.copy()))
    for recorded in recorder.requests():
        if way == "native":
            [contents] = native.message("CallRequest").FromString(recorded.request).payloads
        else:
            [contents] = inference(recorded)[0].raw_input_contents
        assert np.array_equal(np.frombuffer(contents, np.float32), LARGE)
        assert recorded.answer == b""


def test_shared_memory_is_recorded_with_its_contents(server, protocol, tmp_path):
    size = LARGE.nbytes
    regions = {name: shm.create_shared_memory_region(name, f"/hearth_record_{name}", size) for name in ("in", "out")}
    try:
        with server.client() as client:
            shm.set_shared_memory_region(regions["in"], [LARGE])
            for name in regions:
                client.register_system_shared_memory(name, f"/hearth_record_{name}", size)
            with recording(protocol, server, "identity", tmp_path, 1, "--answers") as recorder:
                given = tensor("x", LARGE)
                given.set_shared_memory("in", size)
                asked = service_pb2.ModelInferRequest.InferRequestedOutputTensor(name="OUTPUT__0")
                asked.parameters["shared_memory_region"].string_param = "out"
                asked.parameters["shared_memory_byte_size"].int64_param = size
                request = service_pb2.ModelInferRequest(model_name="identity", outputs=[asked])
                request.inputs.add(name="x", datatype="FP32", shape=LARGE.shape)
                request.inputs[0].parameters["shared_memory_region"].string_param = "in"
                request.inputs[0].parameters["shared_memory_byte_size"].int64_param = size
                with server.channel() as channel:
                    service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(request)
            client.unregister_system_shared_memory()
    finally:
        for region in regions.values():
            shm.destroy_shared_memory_region(region)
    request, inputs, outputs = inference(recorder.requests()[0])
    assert inputs == outputs == [LARGE.tolist()]
    assert not request.inputs[0].parameters and request.outputs[0].name == "OUTPUT__0"
    assert not request.outputs[0].parameters
    assert hearth("replay", recorder.path, server.address, "--compare").returncode == 0


def test_a_replay_measures_and_compares(server, protocol, tmp_path):
    with recording(protocol, server, "identity", tmp_path, 20, "--answers") as recorder, server.client() as client:
        for value in range(20):
            client.infer("identity", [floats("x", value, float("nan"))])
    done = hearth("replay", recorder.path, server.address, "--compare", "--speed", "10")
    assert done.returncode == 0, done.stderr
    assert "as recorded, at speed 10" in done.stdout and "20 answers, largest difference 0" in done.stdout
    before = server.metric("nv_inference_request_success", model="other") or 0
    done = hearth("replay", recorder.path, server.address, "--model", "other", "--speed", "max", "--clients", 4, "--json")
    told = json.loads(done.stdout)
    assert (told["answered"], told["failed"], told["clients"]) == (20, 0, 4) and told["latency_ms"]["p99"] > 0
    assert "comparison" not in told and "late" not in told
    assert server.metric("nv_inference_request_success", model="other") == before + 20
    done = hearth("replay", recorder.path, server.address, "--model", "half", "--compare", "--json")
    assert done.returncode == 1
    compared = json.loads(done.stdout)["comparison"]
    assert (compared["compared"], compared["different"], compared["not_comparable"]) == (20, 19, 0)
    assert compared["largest_difference"] == 0.5 and "'OUTPUT__0'[0] is 0.5, expected 1" in compared["first_difference"]
    done = hearth("replay", recorder.path, server.address, "--model", "half", "--compare", "--tolerance", "0.6")
    assert done.returncode == 0, done.stdout
    done = hearth("replay", recorder.path, server.address, "--requests", "3", "--json")
    assert json.loads(done.stdout)["answered"] == 3


def test_requests_that_fail_are_recorded_as_such(server, protocol, tmp_path):
    with recording(protocol, server, "raises", tmp_path, 2, "--answers") as recorder, server.client() as client:
        with pytest.raises(Exception, match="one is not enough"):
            client.infer("raises", [floats("x", 1)])
        # What is no request of the model is not recorded.
        with pytest.raises(Exception, match="y"):
            client.infer("raises", [floats("y", 1)])
        client.infer("raises", [floats("x", 1, 2)])
    failed, answered = recorder.requests()
    assert failed.code == grpc.StatusCode.INTERNAL.value[0] and "one is not enough" in failed.error
    assert failed.answer == b"" and answered.code == 0 and answered.answer
    assert hearth("replay", recorder.path, server.address, "--compare").returncode == 0
    done = hearth("replay", recorder.path, server.address, "--compare", "--model", "identity")
    assert done.returncode == 1 and "the answer is OK, recorded was INTERNAL" in done.stdout


def test_times_are_those_of_the_recording(server, protocol, tmp_path):
    parts = [part_class(protocol)() for _ in range(3)]
    parts[0].header.format, parts[0].header.format_version = "hearth-record", 1
    for part, seconds in zip(parts[1:], (5, 1)):
        request = raw_request("FP32", [1], np.float32(seconds).tobytes())
        part.request.method = "inference.GRPCInferenceService/ModelInfer"
        part.request.request = request.SerializeToString()
        part.request.arrival_ns = int(seconds * 1e9)
    path = tmp_path / "made"
    path.write_bytes(write_parts(parts))
    done = hearth("replay", path, server.address, "--speed", "10", "--json")
    told = json.loads(done.stdout)
    assert told["answered"] == 2 and told["seconds"] >= 0.4
    assert "has no end: its recording was broken off" in done.stderr


def test_requests_that_were_turned_away_are_not_compared(server, protocol, tmp_path):
    parts = [part_class(protocol)() for _ in range(3)]
    parts[0].header.format, parts[0].header.format_version, parts[0].header.answers = "hearth-record", 1, True
    for part, code in zip(parts[1:], (grpc.StatusCode.CANCELLED, grpc.StatusCode.RESOURCE_EXHAUSTED)):
        part.request.method = "inference.GRPCInferenceService/ModelInfer"
        part.request.request = raw_request("FP32", [1], np.float32(1).tobytes()).SerializeToString()
        part.request.code = code.value[0]
    path = tmp_path / "made"
    path.write_bytes(write_parts(parts))
    done = hearth("replay", path, server.address, "--compare", "--json")
    compared = json.loads(done.stdout)["comparison"]
    assert (compared["compared"], compared["different"], compared["without_answer"], done.returncode) == (0, 0, 2, 0)


def test_a_recording_ends_with_its_time_its_bytes_or_its_client(server, protocol, tmp_path):
    with server.client() as client:
        code, text = Recorder(protocol, server, "idle", tmp_path / "time", "--seconds", "0.2").end()
        assert code == 2 and "its time is over" in text and "no request was recorded" in text
        recorder = Recorder(protocol, server, "identity", tmp_path / "bytes", "--max-bytes", "40000")
        for _ in range(3):
            client.infer("identity", [tensor("x", LARGE)])
        code, text = recorder.end()
        assert code == 0 and "2 requests" in text and "more than 40000 bytes" in text
        recorder = Recorder(protocol, server, "identity", tmp_path / "interrupted")
        client.infer("identity", [floats("x", 1)])
        eventually(lambda: recorder.requests())
        code, text = recorder.interrupt()
        assert code == 0 and "1 requests" in text and "it was interrupted" in text
        assert recorder.parts()[-1].end.requests == 1
        # And another one may be made then.
        again = tmp_path / "again"
        eventually(lambda: Recorder(protocol, server, "identity", again, "--seconds", "0.1").end() and again.exists())


def test_a_server_that_ends_ends_recordings(hearthd, protocol, tmp_path):
    server = hearthd({"identity": models.scripted(models.Identity())})
    recorder = Recorder(protocol, server, "identity", tmp_path / "record")
    with server.client() as client:
        client.infer("identity", [floats("x", 1)])
    assert server.stop() == 0
    code, text = recorder.end()
    assert code == 0 and "the server is shutting down" in text
    assert len(recorder.requests()) == 1


def test_a_client_that_reads_slowly_loses_requests_and_is_told_how_many(server, protocol):
    record = message_factory.GetMessageClass(protocol.FindMessageTypeByName("hearth.v1.RecordRequest"))
    options = [*CHANNEL_OPTIONS, NO_READING_AHEAD]
    large = np.zeros(1 << 20, np.float32)
    sent = 30  # of 4 MiB each; 64 MiB may wait
    read, ended = [], threading.Event()

    def ask_on():
        with server.client() as client:
            while not ended.is_set():
                client.infer("identity", [floats("x", 1)])

    with grpc.insecure_channel(server.address, options=options) as channel, server.client() as client:
        call = channel.unary_stream("/hearth.v1.ModelService/Record", record.SerializeToString,
                                    part_class(protocol).FromString)  # fmt: skip
        parts = call(record(model="identity", bytes=1 << 40, requests=sent, seconds=600), timeout=120)
        assert next(parts).HasField("header")
        for _ in range(sent):
            assert outputs_of(client.infer("identity", [tensor("x", large)]))["OUTPUT__0"].nbytes == 4 << 20
        # Those that were lost are made up for by others, once there is room.
        asking = threading.Thread(target=ask_on)
        asking.start()
        try:
            read = list(parts)
        finally:
            ended.set()
            asking.join()
    assert read[-1].end.lost > 0 and read[-1].end.requests == sent == len(read) - 1
    assert read[-2].request.lost > 0 and read[0].request.lost == 0


def test_it_is_administration_and_bounded(server, hearthd, protocol, tmp_path):
    closed = hearthd({"identity": models.scripted(models.Identity())}, "--admin", "off")
    done = hearth("record", closed.address, "identity", "--output", tmp_path / "file")
    assert done.returncode == 2 and "administration is off" in done.stderr
    done = hearth("record", server.address, "nothing", "--output", tmp_path / "file")
    assert done.returncode == 2 and "unknown model 'nothing'" in done.stderr
    assert not (tmp_path / "file").exists()
    recorder = Recorder(protocol, server, "identity", tmp_path / "first")
    done = hearth("record", server.address, "identity", "--output", tmp_path / "file")
    assert done.returncode == 2 and "another recording of model 'identity' is being made" in done.stderr
    recorder.interrupt()
    record = message_factory.GetMessageClass(protocol.FindMessageTypeByName("hearth.v1.RecordRequest"))
    with server.channel() as channel:
        call = channel.unary_stream("/hearth.v1.ModelService/Record")
        for request, code in [
            (record(model="identity", seconds=3601).SerializeToString(), grpc.StatusCode.INVALID_ARGUMENT),
            (record(model="identity", seconds=float("nan")).SerializeToString(), grpc.StatusCode.INVALID_ARGUMENT),
            (record(model="identity", version="7").SerializeToString(), grpc.StatusCode.NOT_FOUND),
            (b"\xff\xff\xff", grpc.StatusCode.INVALID_ARGUMENT),
        ]:
            with pytest.raises(grpc.RpcError) as refused:
                list(call(request, timeout=20))
            assert refused.value.code() == code


def test_files_that_are_no_recordings_are_refused(server, protocol, tmp_path):
    part = part_class(protocol)
    header = part()
    header.header.format, header.header.format_version = "hearth-record", 1
    newer = part()
    newer.header.format, newer.header.format_version = "hearth-record", 2
    request = part()
    request.request.method = "some/Method"
    whole = write_parts([header, request])
    for data, says in [
        (b"", "it is no recording of hearth's: it is empty"),
        (b"PK\x03\x04" + bytes(100), "it is no recording of hearth's"),
        (write_parts([newer]), "its format has the version 2; this program reads version 1"),
        (write_parts([header]), "it has no requests"),
        (whole, "it has a request of 'some/Method', which is not replayed"),
        (whole[:-1], "message 2, at byte"),
        (write_parts([header, header]), "is another header"),
        (whole + b"\xff\xff\xff\xff\xff\xff", "message 3, at byte"),
    ]:
        path = tmp_path / "file"
        path.write_bytes(data)
        done = hearth("replay", path, server.address)
        assert done.returncode == 2 and says in done.stderr, done.stderr
    done = hearth("replay", tmp_path / "none", server.address)
    assert done.returncode == 2 and "No such file" in done.stderr
    done = hearth("replay", tmp_path / "file", server.address, "--speed", "0")
    assert done.returncode == 2 and "--speed is '0'" in done.stderr
