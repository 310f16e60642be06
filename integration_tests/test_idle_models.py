"""Models that nobody uses are unloaded and come again when they are asked for; what all of them hold is bounded."""

import concurrent.futures
import queue
import re
import time

import grpc
import pytest
import torch
from torch import nn
from tritonclient.grpc import service_pb2, service_pb2_grpc

from integration_tests import rest
from integration_tests import server_models as models
from integration_tests.daemon import eventually, put_model
from integration_tests.serving import LONG, Stream, answer_of, fails, floats, in_flight, index_of, spin

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
IDLE = "0.05"  # seconds
MEGABYTE = 1_000_000


class Heavy(nn.Module):
    """Its number, and so many megabytes of weights."""

    def __init__(self, number: int, megabytes: int):
        super().__init__()
        self.number = number
        self.weight = nn.Parameter(torch.zeros(megabytes * MEGABYTE // 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 0 + self.number + self.weight[0]


def heavy(number, megabytes):
    return torch.jit.script(Heavy(number, megabytes))


def log_of(server):
    return open(server.log.name).read()


def await_idle(server, client, model):
    """Until it is unloaded, and then what the index says."""
    eventually(lambda: index_of(client)[model, "1"][0] == "UNAVAILABLE")
    return index_of(client)[model, "1"][1]


@pytest.fixture(scope="module")
def server(hearthd):
    made = {"m": models.constant(3), "n": models.constant(4), "spin": models.scripted(models.Spin())}
    return hearthd(made, "--idle-unload-seconds", IDLE, "--model-control-mode", "none")


def test_an_idle_model_is_unloaded_and_every_way_to_ask_for_it_waits_for_its_load(server, client):
    def by_stream():
        with Stream(server) as stream:
            stream.send("m", [floats("x", 0)])
            result, error = stream.next()
            assert error is None
            return result.as_numpy("OUTPUT__0").tolist()

    def by_rest():
        with rest.rest_client(server) as over_http:
            return over_http.infer("m", [rest.floats("x", 0.0)]).as_numpy("OUTPUT__0").tolist()

    def by_rest_metadata():
        return rest.ask_json(server, "GET", "/v2/models/m/versions/1")[1]["name"]

    ways = {
        lambda: answer_of(client, "m"): [3],
        lambda: answer_of(client, "m", "1"): [3],
        by_stream: [3],
        by_rest: [3],
        lambda: client.get_model_metadata("m").versions[:]: ["1"],
        lambda: client.get_model_config("m").config.name: "m",
        by_rest_metadata: "m",
    }
    for ask, answer in ways.items():
        assert await_idle(server, client, "m") == f"unloaded: idle for {IDLE} s"
        assert client.is_model_ready("m") and client.is_server_ready()
        assert server.metric("hearth_model_ready", model="m", version="1") == 1
        assert server.metric("hearth_model_weight_bytes", model="m") is None
        assert ask() == answer
    assert server.metric("hearth_idle_unloads_total", reason="time") >= len(ways)
    assert server.metric("hearth_idle_loads_total") >= len(ways)
    assert server.metric("nv_inference_request_failure", model="m", reason="OTHER") == 0
    assert f"model m is unloaded: idle for {IDLE} s" in log_of(server)
    assert "model m is asked for and is loaded again" in log_of(server)


def test_who_only_looks_does_not_load_an_idle_model(server, client):
    await_idle(server, client, "n")
    message = fails(UNAVAILABLE, lambda: client.get_inference_statistics("n"))
    assert message == f"model 'n' is unloaded: idle for {IDLE} s; an inference has it loaded again"
    assert "n" not in [model.name for model in client.get_inference_statistics().model_stats]
    assert index_of(client)["n", "1"][0] == "UNAVAILABLE"


def test_a_model_whose_requests_are_under_way_is_not_unloaded(server, client):
    ended = queue.Queue()
    call = client.async_infer("spin", spin(LONG), callback=lambda result, error: ended.put(error))
    eventually(lambda: in_flight(server) == 1)
    unloads = server.metric("hearth_idle_unloads_total", reason="time")
    answer_of(client, "m")
    # It was looked at since.
    eventually(lambda: server.metric("hearth_idle_unloads_total", reason="time") > unloads)
    assert index_of(client)["spin", "1"] == ("READY", "")
    call.cancel()
    assert "CANCELLED" in str(ended.get(timeout=30))
    await_idle(server, client, "spin")


def test_many_who_ask_at_once_share_one_load(server, client):
    await_idle(server, client, "m")
    loads = server.metric("hearth_idle_loads_total")
    with concurrent.futures.ThreadPoolExecutor(8) as crowd:
        assert [call.result() for call in [crowd.submit(answer_of, client, "m") for _ in range(8)]] == [[3]] * 8
    assert server.metric("hearth_idle_loads_total") - loads <= 2


@pytest.fixture
def busy(hearthd):
    """A server whose only thread that loads is busy for ever, with an idle model m."""
    limits = ["--load-seconds", "0", "--load-threads", "1"]
    server = hearthd({"m": models.constant(3)}, "--idle-unload-seconds", IDLE, *limits)
    put_model(server.repository, "slow", torch.jit.script(models.SlowToLoad()))
    with server.channel() as channel, server.client() as client:
        await_idle(server, client, "m")
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        load = stub.RepositoryModelLoad.future(service_pb2.RepositoryModelLoadRequest(model_name="slow"))
        eventually(lambda: "loading slow version 1 from" in log_of(server))
        yield server
        fails(UNAVAILABLE, load.result)


def test_who_waits_for_a_load_is_let_go_by_a_deadline_and_by_going_away(busy):
    with busy.client() as client:
        fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: client.infer("m", [floats("x", 0)], client_timeout=0.2))
        ended = queue.Queue()
        call = client.async_infer("m", [floats("x", 0)], callback=lambda result, error: ended.put(error))
        eventually(lambda: index_of(client)["m", "1"][0] == "LOADING")
        call.cancel()
        assert "CANCELLED" in str(ended.get(timeout=30))
        # Others are answered, and hear at the end of the server that there is no answer.
        client.async_infer("m", [floats("x", 0)], callback=lambda result, error: ended.put(error))
        for _ in range(10):  # what is sent later over one connection comes later: the inference has come
            assert client.is_server_live()
        busy.terminate()
        assert "the server is shutting down" in str(ended.get(timeout=30))
    assert busy.wait() == 0


def test_a_model_that_cannot_be_loaded_again_is_told_so_until_it_can(hearthd):
    server = hearthd({"m": models.constant(3)}, "--idle-unload-seconds", IDLE)
    archive = server.repository / "m/1/model.pt"
    with server.client() as client:
        await_idle(server, client, "m")
        archive.rename(archive.with_name("away"))
        message = fails(UNAVAILABLE, lambda: answer_of(client, "m"))
        assert message.startswith("the idle model 'm' cannot be loaded again: version 1 of 'm': there is no file")
        assert not client.is_model_ready("m")
        archive.with_name("away").rename(archive)
        # Who does not want to wait until it is tried again loads it.
        client.load_model("m")
        assert answer_of(client, "m") == [3]


def test_loads_beyond_the_budget_are_refused_with_who_holds_it(hearthd, tmp_path):
    put_model(tmp_path, "a", heavy(1, 10))
    put_model(tmp_path, "b", heavy(2, 10))
    server = hearthd(tmp_path, "--model-control-mode", "explicit", "--load-model", "a", "--model-memory-bytes", "15MB")
    with server.client() as client:
        # The weights, and what else the load left in memory, which varies.
        refusal = fails(EXHAUSTED, lambda: client.load_model("b"))
        assert re.fullmatch(
            r"version 1 of 'b': it needs 1\d{7} bytes of memory; the models' budget is 15728640 bytes, "
            r"of which 1\d{7} are held: version 1 of 'a' 1\d{7}",
            refusal,
        ), refusal
        assert answer_of(client, "a") == [1]
        held = server.metric("hearth_models_memory_bytes")
        of_a = [
            server.metric(f"hearth_{part}", model="a")
            for part in ("model_weight_bytes", "model_code_bytes", "plan_bytes", "weight_copy_bytes")
        ]
        assert of_a[0] == 10 * MEGABYTE and of_a[1] > 0 and held == sum(of_a)
        client.unload_model("a")
        client.load_model("b")
        assert answer_of(client, "b") == [2]


def test_models_take_turns_where_one_fits_at_a_time(hearthd, tmp_path):
    for number in range(2):
        put_model(tmp_path, f"m{number}", heavy(number, 10))
    server = hearthd(tmp_path, "--model-memory-bytes", "15MB", "--unload-idle-models")
    with server.client() as client:
        for turn in range(40):
            # The request for the other one has been answered, and may be about to end.
            assert answer_of(client, f"m{turn % 2}") == [turn % 2]
    assert server.metric("hearth_idle_unloads_total", reason="room") >= 39


def test_more_models_are_served_than_fit_at_a_time(hearthd, tmp_path):
    for number in range(4):
        put_model(tmp_path, f"m{number}", heavy(number, 10))
    server = hearthd(tmp_path, "--model-memory-bytes", "25MB", "--unload-idle-models")
    with server.client() as client:
        for number in [0, 1, 2, 3, 2, 1, 0]:
            assert answer_of(client, f"m{number}") == [number]
            assert server.metric("hearth_models_memory_bytes") <= 25 << 20
            # A model is used until the server is through with its request, which is a moment after the answer.
            time.sleep(0.05)
        # The one that was asked for before the last one is still there, the others are not.
        states = {name: state for (name, _), (state, _) in index_of(client).items()}
        assert states == {"m0": "READY", "m1": "READY", "m2": "UNAVAILABLE", "m3": "UNAVAILABLE"}
        reason = index_of(client)["m2", "1"][1]
        assert re.fullmatch(r"unloaded: idle for \S+ s, to make room for version 1 of 'm0'", reason)
        assert server.metric("hearth_idle_unloads_total", reason="room") >= 5
    assert server.stop() == 0
