"""How long a run may take: an endless one ends, whatever its client waits for, and its neighbours are answered."""

import concurrent.futures

import grpc
import pytest
import torch
from torch import Tensor, nn

from integration_tests import rest
from integration_tests.daemon import eventually
from integration_tests.serving import fails, floats, in_flight

THREADS = 2
SECONDS = 0.5
DEADLINE = grpc.StatusCode.DEADLINE_EXCEEDED
BATCHED = """
max_batch_size: 4
dynamic_batching { max_queue_delay_microseconds: 3600000000 }
instance_group { count: 1 }
"""


class Endless(nn.Module):
    """Twice its input, once nothing of it is below 0."""

    def forward(self, x: Tensor) -> Tensor:
        while bool((x < 0).any()):
            x = x * 1
        return x * 2


def own_limit(seconds):
    return f'parameters {{ key: "max_run_seconds" value {{ string_value: "{seconds}" }} }}\n'


@pytest.fixture(scope="module")
def server(hearthd):
    model = torch.jit.script(Endless())
    models = {"m": model, "own": (model, own_limit(0.1)), "any": (model, own_limit(0)), "batched": (model, BATCHED)}
    return hearthd(models, "--threads", THREADS, "--max-run-seconds", SECONDS)


@pytest.fixture
def crowd():
    with concurrent.futures.ThreadPoolExecutor(8) as made:
        yield made


def told(seconds):
    return f"the run took longer than it may: more than {seconds} s"


def test_endless_runs_without_deadlines_on_all_threads_end_and_others_are_answered(server, client, crowd):
    attacks = [crowd.submit(client.infer, "m", [floats("x", -1)]) for _ in range(2 * THREADS)]
    eventually(lambda: in_flight(server, "m") == 2 * THREADS or any(attack.done() for attack in attacks))
    assert client.infer("m", [floats("x", 3)]).as_numpy("OUTPUT__0").tolist() == [6]
    # Those that waited have had their own time.
    for attack in attacks:
        assert fails(DEADLINE, attack.result) == told(SECONDS)
    assert server.metric("nv_inference_request_failure", model="m", reason="BACKEND") == 2 * THREADS


def test_a_limit_that_passes_later_than_the_deadline_changes_nothing(client):
    assert told(SECONDS) not in fails(DEADLINE, lambda: client.infer("m", [floats("x", -1)], client_timeout=0.1))


def test_a_model_has_its_own_limit(server, client):
    assert fails(DEADLINE, lambda: client.infer("own", [floats("x", -1)])) == told(0.1)
    body = rest.one_input("FP32", [1], [-1.0])
    assert rest.refused(server, "POST", "/v2/models/own/infer", body, status=503) == told(0.1)


def test_a_model_may_run_for_any_time_again(server, client, crowd):
    endless = crowd.submit(client.infer, "any", [floats("x", -1)], client_timeout=4 * SECONDS)
    # By its own deadline, after the server's limit.
    assert told(SECONDS) not in fails(DEADLINE, endless.result)
    assert client.infer("any", [floats("x", 1)]).as_numpy("OUTPUT__0").tolist() == [2]


def test_an_endless_request_of_a_batch_ends_alone(server, client, crowd):
    def row(value):
        return client.infer("batched", [floats("x", [value])])

    endless = crowd.submit(row, -1)
    answers = {value: crowd.submit(row, value) for value in (1, 2, 3)}
    for value, answer in answers.items():
        assert answer.result().as_numpy("OUTPUT__0").tolist() == [[2 * value]]
    assert fails(DEADLINE, endless.result) == told(SECONDS)
    assert server.metric("hearth_batch_failures_total", model="batched", reason="TIME") == 1
