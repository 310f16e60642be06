"""Deadlines, cancelling, clients that go away, bounds, and streams of requests."""

import queue
import threading

import grpc
import numpy as np
import pytest

from integration_tests import server_models as models
from integration_tests.daemon import eventually
from integration_tests.serving import LONG, Stream, fails, floats, in_flight, spin, tensor


def test_a_deadline_ends_the_run(server, client):
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: client.infer("spin", spin(LONG), client_timeout=0.3))
    eventually(lambda: in_flight(server) == 0)


def test_a_cancelled_call_ends_the_run(server, client):
    done = queue.Queue()
    call = client.async_infer("spin", spin(LONG), callback=lambda result, error: done.put(error))
    eventually(lambda: in_flight(server) == 1)
    call.cancel()
    assert "CANCELLED" in str(done.get(timeout=30))
    eventually(lambda: in_flight(server) == 0)
    assert server.metric("nv_inference_request_failure", model="spin", reason="CANCELED") >= 1


def test_a_client_that_goes_away_ends_its_runs(server):
    client = server.client()
    client.async_infer("spin", spin(LONG), callback=lambda result, error: None)
    eventually(lambda: in_flight(server) == 1)
    client.close()
    eventually(lambda: in_flight(server) == 0)


def test_requests_over_the_bound_are_refused_at_once(hearthd):
    full = hearthd({"spin": models.scripted(models.Spin())}, "--max-in-flight-requests", "2")
    with full.client() as client:
        calls = [client.async_infer("spin", spin(LONG), callback=lambda result, error: None) for _ in range(2)]
        eventually(lambda: in_flight(full) == 2)
        message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("spin", spin(1)))
        assert "2 requests" in message
        for call in calls:
            call.cancel()
        eventually(lambda: in_flight(full) == 0)
        assert client.infer("spin", spin(1)).as_numpy("OUTPUT__0").tolist() == [1]
        assert full.metric("nv_inference_request_failure", model="spin", reason="REJECTED") == 1


def test_a_model_that_was_quick_and_then_is_slow_holds_nobody_up(server, client):
    for _ in range(50):
        client.infer("spin", spin(1))
    calls = [client.async_infer("spin", spin(LONG), callback=lambda result, error: None) for _ in range(8)]
    eventually(lambda: in_flight(server) == 8)
    for _ in range(20):
        assert client.is_server_ready()
        assert not client.is_model_ready("nothing")
    for call in calls:
        call.cancel()
    eventually(lambda: in_flight(server) == 0)


def test_quick_answers_of_many_clients_are_each_their_own(server):
    problems = []

    def ask(seed):
        with server.client() as client:
            for i in range(200):
                sent = np.array([seed, i], dtype=np.float32)
                got = client.infer("identity", [tensor("x", sent)]).as_numpy("OUTPUT__0")
                if not np.array_equal(got, sent):
                    problems.append((sent, got))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_stream_answers_in_the_order_of_its_requests(server):
    with Stream(server) as stream:
        rounds = [20000, 1, 5000, 2] * 25
        for i, count in enumerate(rounds):
            stream.send("spin", spin(count), request_id=str(i))
        for i, count in enumerate(rounds):
            result, error = stream.next()
            assert error is None
            assert result.get_response().id == str(i)
            assert result.as_numpy("OUTPUT__0").tolist() == [count]
            assert result.get_response().parameters["triton_final_response"].bool_param


@pytest.mark.parametrize(
    ("answers", "ahead"),
    [
        pytest.param([], 4, id="four at first"),
        pytest.param([1] * 10, 14, id="one more with each answer"),
        pytest.param([1] * 80, 64, id="sixty-four at most"),
        pytest.param([1] * 20 + [5 << 20], 3, id="sixteen mebibytes of answers"),
    ],
)
def test_a_stream_is_read_ahead_of_its_answers_only_so_far(server, answers, ahead):
    with Stream(server) as stream:
        for size in answers:
            stream.send("identity", [tensor("x", np.zeros(size, dtype=np.int8))])
        for _ in answers:
            assert stream.next()[1] is None
        for _ in range(80):
            stream.send("spin", spin(LONG))
        eventually(lambda: in_flight(server) == ahead)
        # Whatever was to be read on that connection before this call has been.
        assert stream.client.is_server_live()
        assert in_flight(server) == ahead
    eventually(lambda: in_flight(server) == 0)


def test_an_error_on_a_stream_ends_its_request_only(server):
    with Stream(server) as stream:
        stream.send("identity", [floats("x", 1)])
        stream.send("nothing", [floats("x", 1)])
        stream.send("identity", [floats("x", 2)])
        assert stream.next()[1] is None
        assert "unknown model 'nothing'" in str(stream.next()[1])
        result, error = stream.next()
        assert error is None and result.as_numpy("OUTPUT__0").tolist() == [2]


def test_large_tensors_pass_through_a_stream(server):
    sent = np.random.default_rng(2).standard_normal(2**20).astype(np.float32)
    with Stream(server) as stream:
        for _ in range(3):
            stream.send("identity", [tensor("x", sent)])
        for _ in range(3):
            np.testing.assert_array_equal(stream.next()[0].as_numpy("OUTPUT__0"), sent)


def test_a_stream_whose_client_goes_away_ends_its_runs(server):
    stream = Stream(server)
    for _ in range(3):
        stream.send("spin", spin(LONG))
    eventually(lambda: in_flight(server) == 3)
    stream.client.stop_stream(cancel_requests=True)
    eventually(lambda: in_flight(server) == 0)
