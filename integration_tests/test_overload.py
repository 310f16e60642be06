"""Shares of the threads, and more requests than can be answered: who is served, who is refused, and what refusals say."""

import concurrent.futures
import threading

import grpc
import numpy as np
import pytest
import torch
from google.protobuf import message_factory
from tritonclient.grpc import service_pb2, service_pb2_grpc

from integration_tests import rest
from integration_tests.daemon import eventually
from integration_tests.server_models import Spin
from integration_tests.serving import in_flight

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
A_WHILE = 100_000  # rounds of Spin: some tens of milliseconds at first, a few once the loop is compiled
BOUNDED = 'parameters { key: "max_queue_milliseconds" value { string_value: "200" } }'


@pytest.fixture(scope="module")
def server(hearthd):
    spin = torch.jit.script(Spin())
    return hearthd({"flooded": spin, "other": spin, "bounded": (spin, BOUNDED)}, "--threads", "1")


@pytest.fixture
def stub(server):
    with server.channel() as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def request(model, rounds=A_WHILE):
    made = service_pb2.ModelInferRequest(model_name=model)
    made.inputs.add(name="x", datatype="FP32", shape=[1])
    made.inputs.add(name="rounds", datatype="INT64", shape=[1])
    made.raw_input_contents.extend([np.zeros(1, np.float32).tobytes(), np.array([rounds]).tobytes()])
    return made


class Flood:
    """So many requests to a model at once, under way when this is made."""

    def __init__(self, server, stub, model, count):
        self.ended = []
        self._lock = threading.Lock()
        self.calls = [stub.ModelInfer.future(request(model)) for _ in range(count)]
        for call in self.calls:
            call.add_done_callback(self.note)
        eventually(lambda: in_flight(server, model) + len(self.ended) >= count)

    def note(self, call):
        with self._lock:
            self.ended.append(call.code())

    def wait(self):
        eventually(lambda: len(self.ended) == len(self.calls), seconds=120)


def test_one_request_of_a_model_is_not_behind_all_of_a_flooded_one(server, stub):
    flood = Flood(server, stub, "flooded", 30)
    before = len(flood.ended)
    stub.ModelInfer(request("other", rounds=1))
    assert len(flood.ended) - before < 10
    flood.wait()
    assert set(flood.ended) == {grpc.StatusCode.OK}


@pytest.fixture(scope="module")
def advice(protocol):
    """Of an error: the milliseconds that its trailing metadata says, and the seconds of google.rpc.RetryInfo."""

    def parsed(name, data):
        return message_factory.GetMessageClass(protocol.FindMessageTypeByName(f"google.rpc.{name}")).FromString(data)

    def read(error):
        trailing = dict(error.trailing_metadata())
        status = parsed("Status", trailing["grpc-status-details-bin"])
        assert status.code == EXHAUSTED.value[0]
        assert status.message == error.details()
        (detail,) = status.details
        assert detail.type_url == "type.googleapis.com/google.rpc.RetryInfo"
        delay = parsed("RetryInfo", detail.value).retry_delay
        return int(trailing["grpc-retry-pushback-ms"]), delay.seconds + delay.nanos / 1e9

    return read


def test_more_requests_than_are_run_within_the_bound_are_refused_and_told_when_to_come(server, stub, advice):
    # How long a call waits is known once some have left while others waited.
    Flood(server, stub, "bounded", 30).wait()
    flood = Flood(server, stub, "bounded", 200)
    flood.wait()
    assert set(flood.ended) == {grpc.StatusCode.OK, EXHAUSTED}
    errors = [call.exception() for call in flood.calls if call.exception() is not None]
    early = [error for error in errors if "has more requests than it can answer" in error.details()]
    assert early
    milliseconds, seconds = advice(early[0])
    assert 1 <= milliseconds <= 60_000
    assert seconds == pytest.approx(milliseconds / 1e3)
    # The queue is empty, so a burst is taken again.
    assert [call.code() for call in [stub.ModelInfer.future(request("bounded", 1)) for _ in range(3)]] == [
        grpc.StatusCode.OK
    ] * 3


def test_a_request_whose_deadline_the_queue_cannot_meet_is_refused_at_once(server, stub):
    flood = Flood(server, stub, "flooded", 200)
    eventually(lambda: len(flood.ended) >= 3)
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request("flooded"), timeout=0.1)
    assert caught.value.code() == EXHAUSTED
    assert "the request's deadline is in" in caught.value.details()
    flood.wait()
    assert set(flood.ended) == {grpc.StatusCode.OK}


def test_http_says_when_to_come_again(server, stub):
    floods = []
    body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [0]},
                       {"name": "rounds", "datatype": "INT64", "shape": [1], "data": [A_WHILE]}]}

    def refusals():
        floods.append(Flood(server, stub, "bounded", 200))
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            asked = [pool.submit(rest.ask, server, "POST", "/v2/models/bounded/infer", body) for _ in range(16)]
            return [headers for status, headers, _ in (each.result() for each in asked) if status == 503]

    # On a busy machine a flood may have been answered before anybody asks.
    refused = next(filter(None, (refusals() for _ in range(10))), [])
    assert refused
    assert all(int(headers["retry-after"]) >= 1 for headers in refused)
    for flood in floods:
        flood.wait()
