"""Dynamic batching: requests of several clients are run as one, and nobody can tell but by how fast it is."""

import concurrent.futures
import json
import threading
from typing import Dict, Tuple

import grpc
import hearth
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from integration_tests import native, rest
from integration_tests.daemon import eventually, put_model
from integration_tests.serving import LONG, Stream, fails, in_flight, tensor

DEADLINE = grpc.StatusCode.DEADLINE_EXCEEDED
HOUR = 3600 * 10**6  # microseconds: a delay that only a full batch ends


class Rows(nn.Module):
    """Twice its rows, and for each of them how many there are in the run. Works for as long as it is asked to."""

    def forward(self, x: Tensor, rounds: int = 0) -> Tuple[Tensor, Tensor]:
        for _ in range(rounds):
            x = x + 0
        return x * 2, torch.full([x.size(0)], x.size(0))


class Positive(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool((x < 0).any()):
            raise ValueError("a row is below 0")
        return x.sqrt()


class Sum(nn.Module):
    """Whose answer has no batch, which is not proved when it loads: it might be the rows themselves."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.isnan().all()):
            return x
        return x.sum(0)


class Parts(nn.Module):
    def forward(self, d: Dict[str, Tensor]) -> Dict[str, Tensor]:
        return {"sum": d["a"] + d["b"], "rows": torch.full([d["a"].size(0)], d["a"].size(0))}


class Weighted(nn.Module):
    """Its version's number in each row."""

    def __init__(self, value: float):
        super().__init__()
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(200):
            x = x + 0
        return x * 0 + self.value


class Draws(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand_like(x)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x + self.calls


class Length(nn.Module):
    def forward(self, x: Tensor) -> int:
        return x.size(0)


def config(batching, rows=4):
    """Of a model with one run at a time."""
    return f"max_batch_size: {rows}\ndynamic_batching {{ {batching} }}\ninstance_group {{ count: 1 }}\n"


ALLOWED = 'parameters { key: "allowed_batch_sizes" value { string_value: "1,4" } }\n'
TOGETHER = config(f"max_queue_delay_microseconds: {HOUR}")


def models():
    made = {
        "together": (Rows(), TOGETHER),
        "rows": (Rows(), config("", rows=64)),
        "preferred": (Rows(), config(f"preferred_batch_size: 2 max_queue_delay_microseconds: {HOUR}", rows=64)),
        "positive": (Positive(), TOGETHER),
        "sum": (Sum(), TOGETHER),
        "parts": (Parts(), TOGETHER),
        "levels": (Rows(), config("priority_levels: 2 default_priority_level: 2", rows=0)),
        "bounded": (Rows(), config("default_queue_policy { max_queue_size: 2 }")),
        "rejects": (Rows(), config("default_queue_policy { default_timeout_microseconds: 100000 }")),
        "delays": (
            Rows(),
            config(
                "default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 3600000000"
                " allow_timeout_override: true }",
                rows=0,
            ),
        ),
        "ordered": (Rows(), config("preserve_ordering: true", rows=8)),
        "padded": (Rows(), config("") + ALLOWED),
    }
    return {name: (torch.jit.script(module), text) for name, (module, text) in made.items()}


@pytest.fixture(scope="module")
def access_log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "access.log"


@pytest.fixture(scope="module")
def server(hearthd, access_log):
    return hearthd(models(), "--access-log", access_log)


@pytest.fixture(scope="module")
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture(scope="module")
def crowd():
    """Threads of which each asks with a client."""
    with concurrent.futures.ThreadPoolExecutor(32) as executor:
        yield executor


def rows(*values):
    return tensor("x", np.array(values, dtype=np.float32).reshape(len(values), 1))


def rounds(count):
    return tensor("rounds", np.array(count))


def answers(futures):
    return [future.result(timeout=60) for future in futures]


class Busy:
    """A model whose only run is taken by a request that lasts until `with` ends."""

    def __init__(self, server, model):
        self.server, self.model, self.client = server, model, server.client()

    def waiting(self):
        return self.server.metric("nv_inference_pending_request_count", model=self.model)

    def wait_for(self, count):
        eventually(lambda: self.waiting() == count)

    def __enter__(self):
        self.call = self.client.async_infer(self.model, [rows(0), rounds(LONG)], lambda result, error: None)
        eventually(lambda: in_flight(self.server, self.model) == 1 and self.waiting() == 0)
        return self

    def __exit__(self, *error):
        self.call.cancel()
        self.client.close()


def runs_of(server, model):
    """Batch elements, and runs, so far."""
    return [server.metric(f"nv_inference_{name}", model=model) for name in ("count", "exec_count")]


# ---- Batches ----


def test_requests_of_several_clients_are_one_run(server, client, crowd):
    made = answers([crowd.submit(client.infer, "together", [rows(i)]) for i in range(4)])
    assert [one.as_numpy("0").tolist() for one in made] == [[[0]], [[2]], [[4]], [[6]]]
    assert [one.as_numpy("1").tolist() for one in made] == [[4]] * 4
    assert runs_of(server, "together") == [4, 1]
    statistics = client.get_inference_statistics("together").model_stats[0]
    assert (statistics.inference_count, statistics.execution_count) == (4, 1)
    assert [(batch.batch_size, batch.compute_infer.count) for batch in statistics.batch_stats] == [(4, 1)]
    assert statistics.inference_stats.success.count == statistics.inference_stats.queue.count == 4
    assert server.metric("hearth_batch_size_bucket", model="together", le="2") == 0
    assert server.metric("hearth_batch_size_bucket", model="together", le="4") == 1
    assert server.metric("hearth_batch_size_sum", model="together") == 4


def test_requests_of_several_rows_and_of_rest_join(server, client, crowd):
    with rest.rest_client(server) as other:
        over_http = crowd.submit(other.infer, "together", [rest.floats("x", [1.0], [2.0])])
        over_grpc = [crowd.submit(client.infer, "together", [rows(value)]) for value in (3, 4)]
        made = answers([over_http, *over_grpc])
    assert [one.as_numpy("0").tolist() for one in made] == [[[2], [4]], [[6]], [[8]]]
    assert [one.as_numpy("1").tolist() for one in made] == [[4, 4], [4], [4]]


def test_calls_of_the_native_service_join_however_they_are_written(server, client, crowd, protocol):
    with server.channel() as channel:
        methods = native.NativeClient(protocol, channel)

        def call(*args, **kwargs):
            return crowd.submit(methods.call, "together", "forward", *args, **kwargs)

        joins = crowd.submit(client.infer, "together", [rows(1), rounds(0)], client_timeout=60)
        made = answers([call(torch.tensor([[2.0]]), 0), call(x=torch.tensor([[3.0], [4.0]]), rounds=0)])
        assert [[part.tolist() for part in one] for one in made] == [[[[4]], [4]], [[[6], [8]], [4, 4]]]
        assert joins.result().as_numpy("1").tolist() == [4]


def test_nested_values_are_joined(server, crowd, protocol):
    with server.channel() as channel:
        methods = native.NativeClient(protocol, channel)

        def call(value):
            return methods.call("parts", "forward", {"a": torch.full([1, 2], value), "b": torch.ones(1, 2)})

        made = answers([crowd.submit(call, float(value)) for value in range(4)])
    assert [one["sum"].tolist() for one in made] == [[[value + 1.0] * 2] for value in range(4)]
    assert [one["rows"].tolist() for one in made] == [[4]] * 4


def test_what_does_not_fit_is_run_apart(server, client, crowd):
    """Of a batch are rows alike: of one shape, one dtype, and with the same numbers beside."""

    def ask(seed):
        random = np.random.default_rng(seed)
        shape = [int(random.integers(1, 4)), int(random.integers(1, 3))]
        dtype = [np.float32, np.float64, np.int64][random.integers(3)]
        x = random.integers(0, 100, shape).astype(dtype)
        result = client.infer("rows", [tensor("x", x), rounds(int(random.integers(2)))])
        assert result.as_numpy("0").dtype == dtype
        assert np.array_equal(result.as_numpy("0"), x * 2)
        assert result.as_numpy("1").shape == (shape[0],)
        return shape[0]

    with Busy(server, "rows") as busy:
        before = runs_of(server, "rows")
        futures = [crowd.submit(ask, seed) for seed in range(30)]
        busy.wait_for(30)
    total = sum(answers(futures))
    after = runs_of(server, "rows")
    assert after[0] - before[0] == total
    assert after[1] - before[1] <= 2 * 3 * 2, "no more runs than there are kinds of requests"


def test_a_preferred_size_is_run_at_once(client, crowd):
    made = answers([crowd.submit(client.infer, "preferred", [rows(i)]) for i in range(4)])
    assert [one.as_numpy("1").tolist() for one in made] == [[2]] * 4


def test_parts_of_dicts_are_joined(client, crowd):
    def ask(value):
        pair = np.full((1, 2), value, np.float32)
        return client.infer("parts", [tensor("a", pair), tensor("b", pair * 10)])

    made = answers([crowd.submit(ask, value) for value in range(4)])
    assert [one.as_numpy("sum").tolist() for one in made] == [[[11.0 * value] * 2] for value in range(4)]
    assert [one.as_numpy("rows").tolist() for one in made] == [[4]] * 4


def test_a_request_with_too_many_rows_is_run_by_itself_where_the_configuration_lists_no_inputs(client):
    assert client.infer("together", [rows(*range(5))]).as_numpy("1").tolist() == [5] * 5


def test_a_batch_is_padded_to_an_allowed_size(server, client, protocol):
    made = client.infer("padded", [rows(1, 2)])
    assert made.as_numpy("0").tolist() == [[2], [4]]
    assert made.as_numpy("1").tolist() == [4, 4]
    assert client.infer("padded", [rows(1)]).as_numpy("1").tolist() == [1]
    assert server.metric("hearth_batch_padding_rows_total", model="padded") == 2
    with server.channel() as channel:
        made = native.NativeClient(protocol, channel).call("padded", "forward", torch.ones(3, 1))
    assert [part.tolist() for part in made] == [[[2]] * 3, [4] * 3]
    assert server.metric("hearth_batch_padding_rows_total", model="padded") == 3


def test_sizes_that_make_no_sense_are_refused_when_the_model_loads(hearthd):
    wrong = config("") + ALLOWED.replace("1,4", "1,3")
    server = hearthd({"m": (torch.jit.script(Rows()), wrong)}, "--model-control-mode=explicit")
    with server.client() as client:
        message = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.load_model("m"))
    assert "allowed_batch_sizes is '1,3'; it must be 'any', or sizes in ascending order" in message
    server.stop()


def test_an_idle_model_waits_for_nobody(client):
    assert client.infer("rows", [rows(1)]).as_numpy("1").tolist() == [1]


# ---- What goes wrong in a batch ----


def test_one_bad_request_fails_alone(server, client, crowd):
    futures = [crowd.submit(client.infer, "positive", [rows(value)]) for value in (1, 4, -1, 9)]
    made = [future.exception(timeout=60) or future.result() for future in futures]
    assert [made[i].as_numpy("OUTPUT__0").tolist() for i in (0, 1, 3)] == [[[1]], [[2]], [[3]]]
    assert made[2].status() == "StatusCode.INTERNAL" and "a row is below 0" in made[2].message()
    assert server.metric("hearth_batch_failures_total", model="positive", reason="RAISED") == 1
    assert runs_of(server, "positive") == [3, 3]


def test_answers_without_a_batch_are_not_batched_for_long(server, client, crowd):
    for _ in range(3):
        made = answers([crowd.submit(client.infer, "sum", [rows(value)]) for value in range(4)])
        assert sorted(one.as_numpy("OUTPUT__0").tolist() for one in made) == [[0], [1], [2], [3]]
    assert server.metric("hearth_batch_failures_total", model="sum", reason="ROWS") == 3
    # No batch is waited for any more.
    assert client.infer("sum", [rows(7)]).as_numpy("OUTPUT__0").tolist() == [7]


@pytest.mark.parametrize(
    ("module", "batching", "expected"),
    [
        (Draws(), "", ["'forward' draws random numbers (aten::rand_like at ", "test_batching.py:"]),
        (Counts(), "", ["'forward' writes the model's state (prim::SetAttr at ", "test_batching.py:"]),
        (Length(), "", ["'forward' gives int"]),
        (Rows(), "preferred_batch_size: 5", ["preferred_batch_size is 5; it must be from 1 to max_batch_size"]),
    ],
)
def test_what_cannot_be_batched_is_refused_when_it_loads(hearthd, module, batching, expected):
    server = hearthd({"m": (torch.jit.script(module), config(batching))}, "--model-control-mode=explicit")
    with server.client() as client:
        message = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.load_model("m"))
    assert all(part in message for part in expected), message
    server.stop()


# ---- The queue ----


def test_a_request_that_waits_ends_by_its_deadline_or_its_client(server, client):
    with Busy(server, "rows") as busy:
        fails(DEADLINE, lambda: client.infer("rows", [rows(1)], client_timeout=0.2))
        fails(DEADLINE, lambda: client.infer("rows", [rows(1)], timeout=100_000))
        call = client.async_infer("rows", [rows(1)], lambda result, error: None)
        busy.wait_for(1)
        call.cancel()
        busy.wait_for(0)
    eventually(lambda: in_flight(server, "rows") == 0)
    assert client.infer("rows", [rows(1)]).as_numpy("1").tolist() == [1]


def long_batch(server, client):
    """Two requests of a run that lasts, and how they ended."""
    ended = {}
    calls = [
        client.async_infer(
            "preferred", [rows(i), rounds(LONG)], lambda result, error, i=i: ended.update({i: error})
        )
        for i in range(2)
    ]
    eventually(
        lambda: in_flight(server, "preferred") == 2
        and server.metric("nv_inference_pending_request_count", model="preferred") == 0
    )
    return calls, ended


def test_a_batch_goes_on_without_who_leaves_it_and_ends_with_the_last(server, client):
    calls, ended = long_batch(server, client)
    calls[0].cancel()
    eventually(lambda: in_flight(server, "preferred") == 1)
    assert set(ended) <= {0}
    calls[1].cancel()
    eventually(lambda: in_flight(server, "preferred") == 0)
    # The run is free again.
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        made = answers([two.submit(client.infer, "preferred", [rows(i)]) for i in range(2)])
    assert [one.as_numpy("1").tolist() for one in made] == [[2], [2]]


def test_a_timeout_of_one_ends_it_in_a_batch_that_runs(server, client, crowd):
    other = client.async_infer("preferred", [rows(1), rounds(LONG)], lambda result, error: None)
    fails(DEADLINE, lambda: client.infer("preferred", [rows(2), rounds(LONG)], timeout=300_000))
    assert in_flight(server, "preferred") == 1
    other.cancel()
    eventually(lambda: in_flight(server, "preferred") == 0)


def run_order(server, access_log, model, requests):
    """In which order requests that wait, sent one by one, are run; each by itself and for a while. Answers may pass each
    other on their way to the client; the access log says when each run began."""
    names = [f"{model} {index}" for index in range(len(requests))]

    def began():
        lines = [json.loads(line) for line in access_log.read_text().splitlines()]
        return {line["id"]: line["time_ms"] - (line["infer_us"] + line["output_us"]) / 1000
                for line in lines if line.get("id") in names}

    with server.client() as client:
        with Busy(server, model) as busy:
            for index, options in enumerate(requests):
                work = [rows(index), rounds(300_000 + index)]
                client.async_infer(model, work, lambda result, error: None, request_id=names[index], **options)
                busy.wait_for(index + 1)
        eventually(lambda: len(began()) == len(requests))
    return sorted(range(len(requests)), key=lambda index: began()[names[index]])


def test_a_higher_priority_goes_first(server, access_log):
    assert run_order(server, access_log, "levels", [{}, {"priority": 2}, {"priority": 1}, {"priority": 1}]) == [2, 3, 0, 1]


def test_a_priority_that_the_model_has_not_is_refused(server, client):
    message = fails(
        grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer("levels", [rows(1)], priority=3)
    )
    assert "is 3; it is from 1 to the model's priority_levels, which is 2" in message
    with hearth.Client(server.address) as methods:
        with pytest.raises(hearth.InvalidArgument, match="is 3; it is from 1 to"):
            methods.call("levels", args=[np.ones((1, 1), np.float32)], priority=3)


def test_a_native_call_has_its_priority(server):
    order = []

    def call(methods, priority):
        # What is run first is answered long before what is run behind it.
        methods.call("levels", args=[np.ones((1, 1), np.float32), priority * 1_000_000], priority=priority)
        order.append(priority)

    with hearth.Client(server.address) as methods, concurrent.futures.ThreadPoolExecutor(2) as two:
        with Busy(server, "levels") as busy:
            made = []
            for waiting, priority in enumerate((2, 1), 1):
                made.append(two.submit(call, methods, priority))
                busy.wait_for(waiting)
        answers(made)
    assert order == [1, 2]


def test_a_request_whose_timeout_delays_it_goes_last(server, access_log):
    # The first two are delayed by the time the run is free: all of the time that the third takes to be seen waiting.
    requests = [{"timeout": 1}, {"timeout": 1}, {}]
    assert run_order(server, access_log, "delays", requests) == [2, 0, 1]


def test_a_full_queue_refuses(server, client, crowd):
    with Busy(server, "bounded") as busy:
        waiting = [crowd.submit(client.infer, "bounded", [rows(i)]) for i in range(2)]
        busy.wait_for(2)
        message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("bounded", [rows(1)]))
        assert "queue of model 'bounded' is full: 2 requests wait" in message
    assert [one.as_numpy("1").tolist() for one in answers(waiting)] == [[2], [2]]


def test_a_policys_timeout_rejects(server, client):
    with Busy(server, "rejects"):
        assert "waited in the queue of model 'rejects'" in fails(DEADLINE, lambda: client.infer("rejects", [rows(1)]))
    assert client.infer("rejects", [rows(1)]).as_numpy("1").tolist() == [1]


def test_answers_come_in_the_order_of_requests_where_that_is_kept(server):
    requests = 40
    with Stream(server) as stream:
        for i in range(requests):
            x = np.full((1, 1 + i % 2), i, np.float32)
            stream.send("ordered", [tensor("x", x)])
        for i in range(requests):
            result, error = stream.next()
            assert error is None and result.as_numpy("0").flatten()[0] == 2 * i


# ---- While the server changes ----


def test_no_request_is_lost_while_versions_are_swapped(hearthd, tmp_path, crowd):
    batched = config("max_queue_delay_microseconds: 1000", rows=8)
    put_model(tmp_path, "m", torch.jit.script(Weighted(1)), version=1, config=batched)
    server = hearthd(tmp_path, "--model-control-mode=poll", "--repository-poll-secs=0.1")
    stop, seen = threading.Event(), set()

    def ask():
        with server.client() as client:
            count = 0
            while not stop.is_set():
                x = np.zeros((1 + count % 3, 1), np.float32)
                result = client.infer("m", [tensor("x", x)])
                values = set(result.as_numpy("OUTPUT__0").flatten().tolist())
                assert values == {float(result.get_response().model_version)}, "an answer is its version's"
                assert result.as_numpy("OUTPUT__0").shape == x.shape
                seen.update(values)
                count += 1
            return count

    asking = [crowd.submit(ask) for _ in range(8)]
    for version in (2, 3):
        eventually(lambda: version - 1 in seen)
        put_model(tmp_path, "m", torch.jit.script(Weighted(version)), version=version)
        eventually(lambda: version in seen)
    stop.set()
    assert all(count > 0 for count in answers(asking)), "no request failed"
    assert runs_of(server, "m")[1] > 0


def test_what_waits_is_answered_before_the_server_ends(hearthd, crowd):
    server = hearthd({"m": (torch.jit.script(Rows()), config("max_queue_delay_microseconds: 2000000", rows=8))})
    with server.client() as client:
        waiting = [crowd.submit(client.infer, "m", [rows(i)]) for i in range(3)]
        eventually(lambda: server.metric("nv_inference_pending_request_count", model="m") == 3)
        server.terminate()
        assert [one.as_numpy("1").tolist() for one in answers(waiting)] == [[3]] * 3
    assert server.wait() == 0
