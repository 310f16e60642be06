"""The response cache: same inputs, the same answer without a run; never where answers may differ, never across versions."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from integration_tests import native, rest
from integration_tests.daemon import eventually, put_model
from integration_tests.serving import floats
from integration_tests.test_batching import Counts, Draws

CACHED = "response_cache { enable: true }"


class Slow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for _ in range(100):
            x = torch.sin(x)
        return x


class Set(nn.Module):
    """Answers with what another method has set."""

    def __init__(self):
        super().__init__()
        self.value = 0.0

    @torch.jit.export
    def set(self, value: float) -> float:
        self.value = value
        return value

    def forward(self, x: Tensor) -> Tensor:
        return x * 0 + self.value


class Version(nn.Module):
    def __init__(self, value: float):
        super().__init__()
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        return x * 0 + self.value


@pytest.fixture(scope="module")
def server(hearthd):
    modules = {"slow": Slow(), "draws": Draws(), "counts": Counts(), "set": Set(), "version": Version(1.0)}
    models = {name: (torch.jit.script(module), CACHED) for name, module in modules.items()}
    models["uncached"] = torch.jit.script(Slow())
    return hearthd(models, "--response-cache-byte-size", "1MiB", "--model-control-mode", "explicit", "--load-model", "*")


def counts(server, model):
    """Hits, misses and runs."""
    names = ("nv_cache_num_hits_per_model", "nv_cache_num_misses_per_model", "nv_inference_exec_count")
    return [server.metric(name, model=model) for name in names]


def ask(client, model, *values):
    return client.infer(model, [floats("x", *values)]).as_numpy("OUTPUT__0")


def test_the_same_inputs_have_the_same_answer_without_a_run(server, client):
    first = ask(client, "slow", 1, 2, 3)
    assert np.array_equal(first, Slow()(torch.tensor([1.0, 2.0, 3.0])).numpy())
    assert counts(server, "slow") == [0, 1, 1]
    for _ in range(3):
        assert ask(client, "slow", 1, 2, 3).tobytes() == first.tobytes()
    assert counts(server, "slow") == [3, 1, 1]
    assert server.metric("nv_inference_request_success", model="slow") == 4
    assert server.metric("nv_cache_hit_duration_per_model", model="slow") > 0
    ask(client, "slow", 1, 2, 4)
    assert counts(server, "slow") == [3, 2, 2]
    statistics = client.get_inference_statistics("slow").model_stats[0].inference_stats
    assert (statistics.cache_hit.count, statistics.cache_miss.count) == (3, 2)


def test_both_protocols_share_answers(server, client):
    first = ask(client, "slow", 7)
    before = counts(server, "slow")
    with rest.rest_client(server) as http:
        assert http.infer("slow", [rest.floats("x", 7)]).as_numpy("OUTPUT__0").tobytes() == first.tobytes()
    assert counts(server, "slow") == [before[0] + 1, *before[1:]]


def test_a_model_that_does_not_ask_for_it_has_none(server, client):
    for _ in range(2):
        ask(client, "uncached", 1)
    assert counts(server, "uncached") == [0, 0, 2]


@pytest.mark.parametrize("model", ["draws", "counts"])
def test_answers_that_differ_are_not_cached(server, client, model):
    assert ask(client, model, 1).tolist() != ask(client, model, 1).tolist()
    assert counts(server, model) == [0, 0, 2]


def test_answers_that_another_method_may_change_are_not_cached(server, client, protocol):
    with server.channel() as channel:
        methods = native.NativeClient(protocol, channel)
        for value in (1.0, 2.0):
            methods.call("set", "set", value)
            assert ask(client, "set", 0).tolist() == [value]


def test_a_call_of_the_native_service_has_the_same_answer(server, client, protocol):
    expected = ask(client, "slow", 9)
    hits, misses, runs = counts(server, "slow")
    with server.channel() as channel:
        answer = native.NativeClient(protocol, channel).call("slow", "forward", x=torch.tensor([9.0]))
    assert answer.tolist() == expected.tolist()
    assert counts(server, "slow") == [hits + 1, misses, runs]


def test_no_version_answers_for_another(server, client):
    assert ask(client, "version", 5).tolist() == [1]
    put_model(server.repository, "version", torch.jit.script(Version(2.0)), version=2, config=CACHED)
    client.load_model("version")
    eventually(lambda: ask(client, "version", 5).tolist() == [2])


def test_what_has_no_room_is_run_again(server, client):
    large = np.ones(1 << 19, np.float32)
    before = counts(server, "slow")
    for _ in range(2):
        client.infer("slow", [floats("x", *large)])
    assert counts(server, "slow") == [before[0], before[1] + 2, before[2] + 2]


def test_without_a_size_there_is_no_cache(hearthd):
    other = hearthd({"slow": (torch.jit.script(Slow()), CACHED)})
    with other.client() as client:
        for _ in range(2):
            ask(client, "slow", 1)
    assert counts(other, "slow") == [0, 0, 2]
