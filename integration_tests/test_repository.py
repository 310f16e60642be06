"""Models on disk: loaded, swapped and unloaded under traffic; the daemon as a process: drained, ended, configured."""

import contextlib
import json
import queue
import signal
import socket
import threading
from pathlib import Path

import grpc
import pytest
import torch
from grpc_health.v1 import health_pb2, health_pb2_grpc
from torch import Tensor
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from integration_tests import hostile
from integration_tests import server_models as models
from integration_tests.attacks import infer_request
from integration_tests.daemon import CHANNEL_OPTIONS, NO_READING_AHEAD, eventually, put_model
from integration_tests.serving import LONG, Stream, answer_of, bad, fails, floats, in_flight, index_of, spin


def test_models_are_loaded_swapped_and_unloaded_by_request(hearthd):
    server = hearthd({"m": models.constant(1)})
    with server.client() as client:
        assert answer_of(client, "m") == [1]
        put_model(server.repository, "m", models.constant(2), version=2)
        assert answer_of(client, "m") == [1]
        client.load_model("m")
        assert answer_of(client, "m") == [2]
        assert "only 2" in fails(grpc.StatusCode.NOT_FOUND, lambda: answer_of(client, "m", "1"))
        client.load_model("m", config=json.dumps({"version_policy": {"all": {}}}))
        assert answer_of(client, "m", "1") == [1] and answer_of(client, "m") == [2]

        put_model(server.repository, "new", models.constant(9))
        assert index_of(client)[("new", "")] == ("", "")
        client.load_model("new")
        assert answer_of(client, "new") == [9]
        client.unload_model("new")
        assert "unloaded" in fails(grpc.StatusCode.UNAVAILABLE, lambda: answer_of(client, "new"))
        eventually(lambda: index_of(client)[("new", "1")] == ("UNAVAILABLE", "unloaded"))
    with server.channel() as channel:
        index = service_pb2_grpc.GRPCInferenceServiceStub(channel).RepositoryIndex
        ready = index(service_pb2.RepositoryIndexRequest(ready=True)).models
        assert [(model.name, model.version, model.state) for model in ready] == [
            ("m", "1", "READY"),
            ("m", "2", "READY"),
        ]


def test_a_version_that_is_swapped_out_answers_what_it_has_begun(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())})
    with server.client() as client:
        done = queue.Queue()
        client.async_infer("spin", spin(8_000_000), callback=lambda result, error: done.put((result, error)))
        eventually(lambda: in_flight(server) == 1)
        put_model(server.repository, "spin", models.scripted(models.Identity()), version=2)
        client.load_model("spin")
        assert client.infer("spin", [floats("x", 5)]).as_numpy("OUTPUT__0").tolist() == [5]
        result, error = done.get(timeout=120)
        assert error is None and result.as_numpy("OUTPUT__0").tolist() == [8_000_000]


def test_reloads_lose_no_request(hearthd):
    server = hearthd({"m": models.constant(1)})
    put_model(server.repository, "m", models.constant(2), version=2)
    problems, asked, stop = [], [0], threading.Event()

    def ask():
        with server.client() as client:
            while not stop.is_set():
                try:
                    if answer_of(client, "m") not in ([1], [2]):
                        problems.append("a wrong answer")
                except InferenceServerException as error:
                    problems.append(error)
                asked[0] += 1

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    with server.client() as client:
        for i in range(10):
            client.load_model("m", config=json.dumps({"version_policy": {"specific": {"versions": [1 + i % 2]}}}))
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == [] and asked[0] > 10


def test_a_model_that_cannot_be_loaded_says_why_and_harms_no_other(hearthd, tmp_path):
    put_model(tmp_path, "good", models.constant(1))
    (tmp_path / "bad/1").mkdir(parents=True)
    (tmp_path / "bad/1/model.pt").write_bytes(b"not an archive")
    put_model(tmp_path, "odd", models.constant(1), config="max_batchsize: 3")
    (tmp_path / "empty").mkdir()
    server = hearthd(tmp_path, "--exit-on-error=false", "--strict-readiness=false")
    with server.client() as client:
        assert server.ready["models_ready"] == 1
        assert client.is_server_ready()
        assert answer_of(client, "good") == [1]
        index = index_of(client)
        assert index[("bad", "1")][0] == "UNAVAILABLE" and index[("bad", "1")][1]
        assert "max_batchsize" in index[("odd", "")][1]
        assert "no version folder" in index[("empty", "")][1]
        fails(grpc.StatusCode.UNAVAILABLE, lambda: answer_of(client, "bad"))
        put_model(tmp_path, "bad", models.constant(4))
        client.load_model("bad")
        assert answer_of(client, "bad") == [4]
        for name in ("../good", "a/b", "", "."):
            fails(grpc.StatusCode.INVALID_ARGUMENT, lambda n=name: client.load_model(n))
        fails(grpc.StatusCode.NOT_FOUND, lambda: client.load_model("nowhere"))
        fails(grpc.StatusCode.NOT_FOUND, lambda: client.unload_model("nowhere"))


def test_a_hostile_configuration_fails_its_load_and_harms_nothing(hearthd):
    server = hearthd({"m": models.constant(1)})
    tensor = {"name": "x", "dims": [1]}
    sample = {"name": "w", "inputs": {"x": {"data_type": 99, "dims": [1], "zero_data": True}}}
    huge = {"data_type": "TYPE_FP32", "dims": [1 << 32, 1 << 32], "zero_data": True}
    with server.client() as client:
        for config, message in [
            ({"input": [{**tensor, "data_type": 99}]}, "input[0].data_type is 99, which is no DataType"),
            ({"output": [{"name": "OUTPUT__0", "dims": [1], "data_type": 99}]}, "output[0].data_type is 99"),
            ({"model_warmup": [sample]}, ".data_type is 99"),
            ({"model_warmup": [{"name": "w", "inputs": {"x": huge}}]}, "makes the sample larger than"),
            ({"model_warmup": [{"name": "w", "count": 4294967295}]}, "makes the runs of all samples more than 10000"),
            ({"input": [{**tensor, "data_type": "TYPE_FP32", "dims": [1 << 32, 1 << 32]}]}, "than can be counted"),
            ({"input": [{**tensor, "data_type": "TYPE_FP32", "dims": [1] * 65}]}, "it may have 64"),
            ({"metric_tags": {"k": "v" * (1 << 20)}}, "the parameter 'config' has more than 1048576 bytes"),
        ]:
            assert message in fails(
                grpc.StatusCode.INVALID_ARGUMENT, lambda c=config: client.load_model("m", config=json.dumps(c))
            )
            assert answer_of(client, "m") == [1]


def test_a_configuration_that_cannot_be_read_fails_the_load(hearthd, tmp_path):
    put_model(tmp_path, "folder", models.constant(1))
    (tmp_path / "folder/config.pbtxt").mkdir()
    put_model(tmp_path, "nowhere", models.constant(1))
    (tmp_path / "nowhere/config.pbtxt").symlink_to("not_there")
    server = hearthd(tmp_path, "--exit-on-error=false")
    assert server.ready["models_ready"] == 0
    with server.client() as client:
        index = index_of(client)
        assert index[("folder", "")][1].endswith("folder/config.pbtxt: it is not a regular file")
        assert index[("nowhere", "")][1].endswith("nowhere/config.pbtxt: No such file or directory")
        (tmp_path / "nowhere/config.pbtxt").unlink()
        client.load_model("nowhere")
        assert answer_of(client, "nowhere") == [1]


def test_strict_readiness_waits_for_every_model(hearthd, tmp_path):
    put_model(tmp_path, "good", models.constant(1))
    (tmp_path / "bad/1").mkdir(parents=True)
    (tmp_path / "bad/1/model.pt").write_bytes(b"not an archive")
    server = hearthd(tmp_path, "--exit-on-error=false")
    with server.client() as client:
        assert not client.is_server_ready()
        assert server.get("/v2/health/ready")[0] == 400
        put_model(tmp_path, "bad", models.constant(4))
        client.load_model("bad")
        assert client.is_server_ready()


def test_sigterm_answers_what_is_in_flight_refuses_the_rest_and_exits_0(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())}, "--drain-seconds", "300")
    client, late = server.client(), server.client()
    late.infer("spin", spin(1))  # connected before the drain
    done = queue.Queue()
    client.async_infer("spin", spin(80_000_000), callback=lambda result, error: done.put((result, error)))
    eventually(lambda: in_flight(server) == 1)
    with server.channel() as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        server.terminate()
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert server.get("/v2/health/ready")[0] == 400
    fails(grpc.StatusCode.UNAVAILABLE, lambda: late.infer("spin", spin(1)))
    result, error = done.get(timeout=120)
    # float32 counts no further than 2^24.
    assert error is None and result.as_numpy("OUTPUT__0").tolist() == [2**24]
    assert server.wait() == 0


def test_a_stream_is_drained_too(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())}, "--drain-seconds", "300")
    with Stream(server) as stream:
        for _ in range(2):
            stream.send("spin", spin(8_000_000))
        eventually(lambda: in_flight(server) == 2)
        server.terminate()
        for _ in range(2):
            result, error = stream.next()
            assert error is None and result.as_numpy("OUTPUT__0").tolist() == [8_000_000]
        assert "shutting down" in str(stream.next()[1])
    assert server.wait() == 0


def test_what_outlasts_the_drain_is_cancelled(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())}, "--drain-seconds", "0.2")
    done = queue.Queue()
    client = server.client()
    client.async_infer("spin", spin(LONG), callback=lambda result, error: done.put(error))
    eventually(lambda: in_flight(server) == 1)
    server.terminate()
    assert done.get(timeout=60) is not None
    assert server.wait() == 0


@pytest.mark.parametrize("protocol", ["grpc", "rest"])
def test_a_client_that_does_not_read_its_answer_holds_up_no_drain(hearthd, protocol):
    server = hearthd({"zeros": models.scripted(hostile.Zeros())}, "--drain-seconds", "300", "--send-seconds", "300",
                     "--drain-send-seconds", "0.5")  # fmt: skip
    elements = 16 << 20  # 64 MiB
    with contextlib.ExitStack() as opened:
        if protocol == "grpc":
            channel = opened.enter_context(grpc.insecure_channel(server.address, [*CHANNEL_OPTIONS, NO_READING_AHEAD]))
            message = infer_request("zeros", elements=elements)
            stream = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer")(iter([message]))
        else:
            rest = opened.enter_context(socket.socket())
            rest.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            rest.connect(("127.0.0.1", server.ready["http_port"]))
            body = json.dumps({"inputs": [{"name": "elements", "shape": [1], "datatype": "INT64", "data": [elements]}],
                               "parameters": {"binary_data_output": True}})  # fmt: skip
            head = f"POST /v2/models/zeros/infer HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
            rest.sendall((head + body).encode())
        eventually(lambda: server.metric("nv_inference_request_success", model="zeros") == 1)
        server.terminate()
        assert server.wait(25) == 0
        if protocol == "grpc":
            with pytest.raises(grpc.RpcError):
                next(stream)


def test_a_second_sigterm_ends_it_at_once(hearthd):
    server = hearthd({"spin": models.scripted(models.Spin())})
    client = server.client()
    client.async_infer("spin", spin(LONG), callback=lambda result, error: None)
    eventually(lambda: in_flight(server) == 1)
    server.terminate()
    eventually(lambda: server.get("/v2/health/ready")[0] == 400)
    server.terminate()
    assert server.wait() == 143


def test_settings_come_from_a_file_too_and_lines_of_the_access_log_are_json(hearthd, tmp_path):
    settings = tmp_path / "settings.pbtxt"
    settings.write_text(f'access_log: "{tmp_path / "access.log"}"  threads: 1')
    server = hearthd({"identity": models.scripted(models.Identity())}, "--config", settings)
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], request_id="a")
        bad(client, "identity", floats("y", 1))
    assert server.stop() == 0
    lines = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert [(line["model"], line["code"]) for line in lines] == [("identity", "OK"), ("identity", "INVALID_ARGUMENT")]
    assert lines[0]["id"] == "a" and lines[0]["request_bytes"] > 0 and lines[0]["response_bytes"] > 0


def test_sighup_reopens_the_access_log_and_ends_nothing(hearthd, tmp_path):
    log, old = tmp_path / "access.log", tmp_path / "access.log.1"
    server = hearthd({"identity": models.scripted(models.Identity())}, "--access-log", log)
    with server.client() as client:
        client.infer("identity", [floats("x", 1)], request_id="a")
        log.rename(old)
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "the access log is reopened" in Path(server.log.name).read_text())
        client.infer("identity", [floats("x", 1)], request_id="b")
    assert server.stop() == 0
    ids = [[json.loads(line)["id"] for line in file.read_text().splitlines()] for file in (old, log)]
    assert ids == [["a"], ["b"]]


def test_sighup_ends_no_daemon_without_an_access_log(hearthd):
    server = hearthd({"m": models.constant(1)})
    server.process.send_signal(signal.SIGHUP)
    with server.client() as client:
        assert answer_of(client, "m") == [1]
    assert server.stop() == 0


ENDLESS_WARM_UP = """
model_warmup { name: "w" inputs { key: "x" value { data_type: TYPE_FP32 dims: 1 zero_data: true } }
                         inputs { key: "rounds" value { data_type: TYPE_INT64 zero_data: true } } }
"""


class Endless(torch.nn.Module):
    def forward(self, x: Tensor, rounds: int) -> Tensor:
        while rounds == 0:
            x = x * 1
        return x


@pytest.mark.parametrize("model", [torch.jit.script(models.SlowToLoad()), (torch.jit.script(Endless()), ENDLESS_WARM_UP)])
def test_sigterm_ends_loads_under_way_and_those_that_wait(hearthd, model):
    archive, config = model if isinstance(model, tuple) else (model, None)
    limits = ["--load-seconds", "0", "--warmup-seconds", "0", "--load-threads", "1"]
    server = hearthd({"m": models.constant(1), "n": models.constant(1)}, *limits)
    put_model(server.repository, "slow", archive, config=config)
    with server.channel() as channel, server.client() as client:
        load = service_pb2_grpc.GRPCInferenceServiceStub(channel).RepositoryModelLoad
        client.unload_model("m")
        client.unload_model("n")
        loads = [load.future(service_pb2.RepositoryModelLoadRequest(model_name="slow"))]
        eventually(lambda: "loading slow version 1 from" in Path(server.log.name).read_text())
        # The only thread that loads is busy, so these wait.
        loads += [load.future(service_pb2.RepositoryModelLoadRequest(model_name=name)) for name in ("m", "n")]
        eventually(lambda: {index_of(client)[(name, "1")][0] for name in ("m", "n")} == {"LOADING"})
        server.terminate()
        for under_way in loads:
            assert "the server is shutting down" in fails(grpc.StatusCode.UNAVAILABLE, under_way.result)
    assert server.wait() == 0
    assert Path(server.log.name).read_text().splitlines()[-1].endswith("stopped")


def test_sigterm_ends_a_daemon_that_still_loads_its_models(hearthd):
    server = hearthd({"slow": torch.jit.script(models.SlowToLoad())}, "--load-seconds", "0", wait=False)
    eventually(lambda: "loading slow version 1 from" in Path(server.log.name).read_text())
    server.terminate()
    assert server.wait() == 0
    assert server.process.stdout.read() == ""
