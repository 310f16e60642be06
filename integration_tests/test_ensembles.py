"""Ensembles: models that are made of others, asked by Triton's own clients."""

import concurrent.futures
import json
import threading
from typing import List, Tuple

import grpc
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from tritonclient.utils import InferenceServerException

from integration_tests import rest
from integration_tests.daemon import Hearthd, eventually, put_model
from integration_tests.ensembles import ensemble, put_ensemble, step, tensors
from integration_tests.test_check import check
from integration_tests.serving import LONG, Stream, bad, fails, floats, in_flight, index_of, outputs_of, tensor

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
INVALID = grpc.StatusCode.INVALID_ARGUMENT
INTERNAL = grpc.StatusCode.INTERNAL
FLOAT = ("FP32", [-1])


class Normalise(nn.Module):
    """Bytes of an image to numbers around 0, and its size."""

    def forward(self, image: Tensor) -> Tuple[Tensor, Tensor]:
        return image.to(torch.float32) / 127.5 - 1, torch.tensor([image.size(0), image.size(1)])


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.reshape(1, -1)).softmax(1)


class Best(nn.Module):
    """Names: text is only text between models, too."""

    def forward(self, scores: Tensor, size: Tensor) -> Tuple[List[str], Tensor]:
        names = ["cat", "dog", "cow"]
        best = int(scores.argmax(1)[0])
        return [names[best], str(int(size[0])) + "x" + str(int(size[1]))], scores.max(1).values


class Shout(nn.Module):
    def forward(self, words: List[str]) -> List[str]:
        return [word.upper() for word in words]


class Add(nn.Module):
    def __init__(self, value: float):
        super().__init__()
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        return x + self.value


class AddInPlace(nn.Module):
    """Writes to what it is given."""

    def forward(self, x: Tensor) -> Tensor:
        return x.add_(100)


class Sum(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Positive(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool((x < 0).any()):
            raise ValueError("below 0")
        return x.sqrt()


class Spin(nn.Module):
    """Works until a number in `x` is used up."""

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(int(x[0])):
            x = x + 0
        return x


class Total(nn.Module):
    """Its answer is its state, which every call changes in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.total += x
        return self.total


class Grow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.repeat(int(x[0]))


class Batched(nn.Module):
    """The rows that its run had, beside each row."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return x + 1, torch.full([x.size(0), 1], x.size(0))


def scripted(module):
    return torch.jit.script(module)


def one_to_one(model, x="x", y="OUTPUT__0"):
    return step(model, {"x": x}, {"OUTPUT__0": y})


def chain(*models, **more):
    """Each model's answer to the next: x to y."""
    names = ["x", *(f"t{i}" for i in range(1, len(models))), "y"]
    steps = [one_to_one(model, names[i], names[i + 1]) for i, model in enumerate(models)]
    return ensemble({"x": FLOAT}, {"y": FLOAT}, steps, **more)


VISION = ensemble(
    {"image": ("UINT8", [2, 2, 3])},
    {"label": ("STRING", [2]), "score": ("FP32", [1])},
    [
        # Not in the order in which they run.
        step("best", {"scores": "scores", "size": "size"}, {"0": "words", "1": "score"}),
        step("shout", {"words": "words"}, {"OUTPUT__0": "label"}),
        step("scores", {"x": "pixels"}, {"OUTPUT__0": "scores"}),
        step("normalise", {"image": "image"}, {"0": "pixels", "1": "size"}),
    ],
)
DIAMOND = ensemble(
    {"x": FLOAT},
    {"y": FLOAT, "left": FLOAT},
    [
        one_to_one("one", "x", "top"),
        one_to_one("hundred", "top", "left"),
        one_to_one("double", "top", "right"),
        step("sum", {"a": "left", "b": "right"}, {"OUTPUT__0": "y"}),
    ],
)
BATCHING = "max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 3600000000 preferred_batch_size: 4 }\n"


def repository(folder):
    models = {
        "normalise": Normalise(),
        "scores": Scores(),
        "best": Best(),
        "shout": Shout(),
        "one": Add(1.0),
        "double": Double(),
        "hundred": AddInPlace(),
        "sum": Sum(),
        "positive": Positive(),
        "spin": Spin(),
        "total": Total(),
        "grow": Grow(),
    }
    for name, module in models.items():
        put_model(folder, name, scripted(module))
    put_model(folder, "batched", scripted(Batched()), config=BATCHING)
    ensembles = {
        "vision": VISION,
        "diamond": DIAMOND,
        "chain": chain("one", "double", "one"),
        "nested": chain("chain", "one"),
        "root": chain("one", "positive"),
        "slow": chain("one", "spin", "double"),
        "totals": ensemble(
            {"x": FLOAT},
            {"y": FLOAT, "total": FLOAT},
            [one_to_one("total", "x", "total"), one_to_one("hundred", "total", "y")],
        ),
        "narrow": chain("one", "spin", scheduling="  max_inflight_requests: 1\n"),
        "few": chain("spin", "one", more='parameters { key: "max_running" value { string_value: "1" } }\n'),
        "small": chain("grow", "one", more='parameters { key: "memory_limit" value { string_value: "4000000" } }\n'),
        "batches": "max_batch_size: 8\n"
        + ensemble(
            {"x": ("FP32", [1])},
            {"y": ("FP32", [1]), "rows": ("INT64", [1])},
            [step("batched", {"x": "x"}, {"0": "t", "1": "rows"}), one_to_one("double", "t", "y")],
        ),
        "maybe": ensemble(
            {"x": FLOAT, "b": (*FLOAT, "optional: true")},
            {"y": FLOAT},
            [step("scaled", {"x": "x", "bias": "b"}, {"OUTPUT__0": "y"})],
        ),
    }
    from integration_tests import server_models

    put_model(folder, "scaled", scripted(server_models.Scaled()))
    for name, config in ensembles.items():
        put_ensemble(folder, name, config)
    return folder


@pytest.fixture(scope="module")
def server(hearthd, tmp_path_factory):
    return hearthd(repository(tmp_path_factory.mktemp("models")))


@pytest.fixture(scope="module")
def client(server):
    with server.client() as made:
        yield made


def ask(client, model, *values, **options):
    return outputs_of(client.infer(model, [floats("x", *values)], **options))


def test_a_pipeline_answers_what_its_models_do_one_after_the_other(client):
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    pixels, size = Normalise()(torch.from_numpy(image))
    scores = Scores()(pixels)
    words, score = Best()(scores, size)
    got = outputs_of(client.infer("vision", [tensor("image", image)]))
    assert [word.decode() for word in got["label"]] == Shout()(words)
    np.testing.assert_allclose(got["score"], score.detach().numpy(), rtol=1e-5)


def test_tensors_may_go_to_several_steps_and_be_answered_too(client):
    # Whoever writes to its input writes to nobody else's.
    for _ in range(20):
        got = ask(client, "diamond", 1, 2)
        assert got["left"].tolist() == [102, 103]
        assert got["y"].tolist() == [106, 109]


def test_an_ensemble_may_be_a_step(client):
    assert ask(client, "nested", 3)["y"].tolist() == [10]


def test_rest_and_streams_answer_alike(server):
    with rest.rest_client(server) as http:
        assert http.infer("chain", [rest.floats("x", 3)]).as_numpy("y").tolist() == [9]
    with Stream(server) as stream:
        for value in range(8):
            stream.send("chain", [floats("x", value)])
        for value in range(8):
            result, error = stream.next()
            assert error is None and result.as_numpy("y").tolist() == [2 * (value + 1) + 1]


def test_the_step_that_fails_is_named(client):
    message = fails(INTERNAL, lambda: ask(client, "root", -4))
    assert message.startswith("step 2 ('positive'): ") and "below 0" in message
    assert ask(client, "root", 3)["y"].tolist() == [2]
    # The ensemble's own inputs are looked at before any step runs.
    assert "expects the datatype FP32" in bad(client, "root", tensor("x", np.zeros(1)))
    assert "is missing" in bad(client, "diamond")
    assert "not known" in bad(client, "root", floats("x", 1), floats("z", 1))
    assert "'nothing'" in fails(
        INVALID, lambda: client.infer("root", [floats("x", 1)], outputs=[_requested("nothing")])
    )


def _requested(name):
    import tritonclient.grpc as triton

    return triton.InferRequestedOutput(name)


def test_an_optional_input_is_left_out_of_steps_too(client):
    assert ask(client, "maybe", 1)["y"].tolist() == [2]
    both = outputs_of(client.infer("maybe", [floats("x", 1), floats("b", 5)]))
    assert both["y"].tolist() == [7]


def test_metadata_configuration_and_statistics_are_the_ensembles_own(server, client):
    metadata = client.get_model_metadata("vision")
    assert metadata.platform == "ensemble"
    assert [(i.name, i.datatype, list(i.shape)) for i in metadata.inputs] == [("image", "UINT8", [2, 2, 3])]
    assert [(o.name, o.datatype, list(o.shape)) for o in metadata.outputs] == [
        ("label", "BYTES", [2]),
        ("score", "FP32", [1]),
    ]
    config = client.get_model_config("vision").config
    assert config.platform == "ensemble" and config.backend == ""
    assert [s.model_name for s in config.ensemble_scheduling.step] == ["best", "shout", "scores", "normalise"]

    def counts(model):
        stats = client.get_inference_statistics(model).model_stats[0]
        return stats.inference_stats.success.count, stats.execution_count

    before = {model: counts(model) for model in ("chain", "one", "double")}
    ask(client, "chain", 1)
    after = {model: counts(model) for model in before}
    grown = {model: tuple(np.subtract(after[model], before[model])) for model in before}
    assert grown == {"chain": (1, 1), "one": (2, 2), "double": (1, 1)}
    assert client.is_model_ready("vision")
    assert index_of(client)[("vision", "1")] == ("READY", "")
    assert server.metric("nv_inference_request_success", model="chain") >= 1
    page = server.get("/status/models/chain/1")
    assert page[0] in (200, 404)


def test_a_step_has_part_in_its_models_batches(client):
    with concurrent.futures.ThreadPoolExecutor(4) as crowd:
        asked = [crowd.submit(lambda v=v: client.infer("batches", [tensor("x", np.float32([[v]]))])) for v in range(4)]
        answers = [outputs_of(each.result()) for each in asked]
    assert [answer["y"].tolist() for answer in answers] == [[[2 * (v + 1)]] for v in range(4)]
    assert [answer["rows"].tolist() for answer in answers] == [[[4]]] * 4


def test_a_step_that_splits_large_requests_takes_more_than_a_batch_of_its_model(hearthd):
    declared = {"x": ("FP32", [1])}, {"y": ("FP32", [1])}
    splits = 'parameters { key: "split_large_requests" value { string_value: "true" } }\n'
    config = tensors("input", declared[0]) + tensors("output", declared[1]) + "max_batch_size: 2\ndynamic_batching {}\n"
    server = hearthd({"m": (scripted(Double()), config + splits), "strict": (scripted(Double()), config)})
    rows = np.arange(8, dtype=np.float32).reshape(8, 1)

    def put(model):
        steps = [step(model, {"x": "x"}, {"y": "y"})]
        put_ensemble(server.repository, "e", ensemble(*declared, steps, more="max_batch_size: 8\n"))

    with server.client() as client:
        put("strict")
        assert "takes a batch of at most 2" in fails(INVALID, lambda: client.load_model("e"))
        put("m")
        client.load_model("e")
        assert outputs_of(client.infer("e", [tensor("x", rows)]))["y"].tolist() == (2 * rows).tolist()


def test_chains_of_cached_answers_may_be_long(hearthd):
    tensors_of = tensors("input", {"x": FLOAT}) + tensors("output", {"y": FLOAT})
    cached = tensors_of + "response_cache { enable: true }\n"
    server = hearthd({"m": (scripted(Add(0.0)), cached)}, "--response-cache-byte-size", "10000000")

    def repeated(model, times):
        names = ["x", *(f"t{i}" for i in range(1, times)), "y"]
        steps = [step(model, {"x": names[i]}, {"y": names[i + 1]}) for i in range(times)]
        return ensemble({"x": FLOAT}, {"y": FLOAT}, steps)

    with server.client() as client:
        for name, config in ("a", repeated("m", 256)), ("b", repeated("a", 30)), ("c", repeated("b", 40)):
            put_ensemble(server.repository, name, config)
            client.load_model(name)
        assert ask(client, "c", 7)["y"].tolist() == [7]
        # Few of the steps are under way within each other.
        [statistics] = client.get_inference_statistics("m").model_stats
        assert statistics.inference_stats.cache_hit.count > 256 * 30 * 40 - 1000


def test_an_answer_that_is_a_models_state_does_not_change_behind_the_request(server):
    with concurrent.futures.ThreadPoolExecutor(8) as crowd:
        clients = [server.client() for _ in range(8)]
        asked = [crowd.submit(ask, clients[i % 8], "totals", 1) for i in range(200)]
        answers = [each.result() for each in asked]
    for answer in answers:
        assert answer["y"].tolist() == [answer["total"][0] + 100]
    assert sorted(answer["total"][0] for answer in answers) == list(range(1, 201))


def test_many_at_once_are_all_answered(server):
    clients = [server.client() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as crowd:
        asked = [crowd.submit(ask, clients[i % 8], "diamond", i) for i in range(400)]
        for i, each in enumerate(asked):
            assert each.result()["y"].tolist() == [3 * (i + 1) + 100]
    eventually(lambda: in_flight(server, "diamond") == 0)


def test_a_cancelled_request_and_a_late_one_end_in_the_step_where_they_are(server, client):
    answers = []
    call = client.async_infer("slow", [floats("x", LONG)], callback=lambda result, error: answers.append(error))
    eventually(lambda: in_flight(server, "spin") == 1)
    call.cancel()
    eventually(lambda: in_flight(server, "spin") == 0 and in_flight(server, "slow") == 0)
    eventually(lambda: len(answers) == 1)
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: ask(client, "slow", LONG, client_timeout=0.3))
    eventually(lambda: in_flight(server, "spin") == 0 and in_flight(server, "slow") == 0)
    # The protocol's own timeout, too, which no transport knows of.
    message = fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: ask(client, "slow", LONG, timeout=300_000))
    assert "step 2 ('spin')" in message
    assert ask(client, "slow", 1)["y"].tolist() == [4]


def test_as_many_requests_as_allowed_are_at_a_step(server, client):
    calls = [
        client.async_infer("narrow", [floats("x", LONG)], callback=lambda result, error: None) for _ in range(3)
    ]
    eventually(lambda: in_flight(server, "narrow") == 3 and in_flight(server, "spin") == 1)
    # One that waits for the step hears of its deadline, and those that were cancelled make room.
    message = fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: ask(client, "narrow", 1, timeout=200_000))
    assert "step 2 ('spin')" in message
    for call in calls:
        call.cancel()
    assert ask(client, "narrow", 1)["y"].tolist() == [2]
    eventually(lambda: in_flight(server, "narrow") == 0)


def test_steps_wait_with_the_priority_of_the_request(hearthd, tmp_path):
    log = tmp_path / "access.log"
    levels = "dynamic_batching { priority_levels: 2 default_priority_level: 2 }\ninstance_group { count: 1 }\n"
    server = hearthd({"add": scripted(Add(1)), "spin": (scripted(Spin()), levels)}, "--access-log", log)
    put_ensemble(server.repository, "inner", chain("add", "spin"))
    put_ensemble(server.repository, "outer", chain("inner", "add"))

    def answered():
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["id"] for line in lines if line.get("id") in requests]

    # The model has one run at a time, which is taken until all of them wait for it.
    requests = {"default": {}, "second": {"priority": 2}, "no level": {"priority": 2**40}, "first": {"priority": 1}}
    with server.client() as client:
        client.load_model("outer")
        below = rest.one_input("FP32", [1], [1]) | {"parameters": {"priority": -1}}
        assert "is -1, below 0" in rest.refused(server, "POST", "/v2/models/outer/infer", below)
        busy = client.async_infer("spin", [floats("x", LONG)], callback=lambda result, error: None)
        eventually(lambda: in_flight(server, "spin") == 1)
        for count, (name, options) in enumerate(requests.items()):
            values = [floats("x", 300_000)]
            client.async_infer("outer", values, callback=lambda result, error: None, request_id=name, **options)
            eventually(lambda: server.metric("nv_inference_pending_request_count", model="spin") == count + 1)
        busy.cancel()
        eventually(lambda: len(answered()) == len(requests))
        assert answered() == ["first", "default", "second", "no level"]
        # Of a step's model itself it is refused.
        assert "priority_levels, which is 2" in fails(INVALID, lambda: ask(client, "spin", 1, priority=3))


def test_max_running_bounds_the_requests_of_an_ensemble(server, client):
    call = client.async_infer("few", [floats("x", LONG)], callback=lambda result, error: None)
    eventually(lambda: in_flight(server, "spin") == 1)
    second = client.async_infer("few", [floats("x", 1)], callback=lambda result, error: None)
    eventually(lambda: in_flight(server, "few") == 2)
    assert server.metric("nv_inference_pending_request_count", model="few") == 1
    call.cancel()
    second.cancel()
    eventually(lambda: in_flight(server, "few") == 0)


def test_what_lies_between_steps_counts_for_the_requests_memory(client):
    assert len(ask(client, "small", 1000)["y"]) == 1000
    message = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: ask(client, "small", 2_000_000))
    assert "step 1 ('grow')" in message and "4000000 bytes" in message


# ---- Loads, reloads, unloads ----


def test_the_steps_versions_are_those_that_serve_when_a_request_comes(hearthd):
    server = hearthd({"m": scripted(Add(1.0))})
    put_ensemble(server.repository, "e", ensemble({"x": FLOAT}, {"y": FLOAT}, [one_to_one("m", "x", "y")]))
    stop, problems, seen = threading.Event(), [], set()
    with server.client() as client:
        client.load_model("e")

        def load():
            with server.client() as own:
                while not stop.is_set():
                    try:
                        seen.add(ask(own, "e", 0)["y"][0])
                    except InferenceServerException as error:
                        problems.append(error)

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        for version in range(2, 6):
            put_model(server.repository, "m", scripted(Add(float(version))), version=version)
            client.load_model("m")
            assert ask(client, "e", 0)["y"].tolist() == [version]
        stop.set()
        for thread in threads:
            thread.join()
        assert problems == [] and seen <= {1, 2, 3, 4, 5} and 5 in seen


def test_a_request_keeps_the_versions_that_it_began_with(hearthd):
    server = hearthd({"spin": scripted(Spin()), "m": scripted(Add(1.0))})
    put_ensemble(server.repository, "e", chain("spin", "m"))
    with server.client() as client:
        client.load_model("e")
        answers = []
        client.async_infer("e", [floats("x", 5_000_000)], callback=lambda result, error: answers.append((result, error)))
        eventually(lambda: in_flight(server, "spin") == 1)
        put_model(server.repository, "m", scripted(Add(2.0)), version=2)
        client.load_model("m")
        assert ask(client, "e", 0)["y"].tolist() == [2]
        eventually(lambda: answers, seconds=120)
        result, error = answers[0]
        assert error is None and result.as_numpy("y").tolist() == [5_000_001]


def test_an_ensemble_is_ready_while_its_steps_models_are(hearthd):
    server = hearthd({"m": scripted(Add(1.0)), "n": scripted(Add(2.0))})
    put_ensemble(server.repository, "e", chain("m", "n"))
    put_ensemble(server.repository, "outer", chain("e", "m"))
    with server.client() as client:
        client.load_model("outer")
        assert client.is_model_ready("outer") and client.is_model_ready("e")
        client.unload_model("n")
        assert not client.is_model_ready("e")
        state, reason = index_of(client)[("e", "1")]
        assert state == "UNAVAILABLE" and "step 2 ('n')" in reason and "unloaded" in reason
        message = fails(UNAVAILABLE, lambda: ask(client, "e", 1))
        assert "step 2 ('n')" in message and "unloaded" in message
        assert rest.ask(server, "GET", "/v2/models/e/ready")[0] == 400
        client.load_model("n")
        assert client.is_model_ready("e") and ask(client, "e", 1)["y"].tolist() == [4]
        # A version that takes other tensors.
        doubles = 'input { name: "x" data_type: TYPE_FP64 dims: [ -1 ] }'
        put_model(server.repository, "m", scripted(Add(2.0)), version=2, config=doubles)
        client.load_model("m")
        assert not client.is_model_ready("e")
        assert "the tensor 'x' is FP32 for the ensemble's input 'x' and FP64" in index_of(client)[("e", "1")][1]
        assert "step 1 ('m')" in bad(client, "e", floats("x", 1))


def test_unloading_with_dependents_unloads_steps_that_no_other_ensemble_has(hearthd):
    server = hearthd({"m": scripted(Add(1.0)), "n": scripted(Add(2.0)), "o": scripted(Add(3.0))})
    put_ensemble(server.repository, "one", chain("m", "n"))
    put_ensemble(server.repository, "two", chain("n", "o"))
    with server.client() as client:
        client.load_model("one")
        client.load_model("two")
        client.unload_model("one", unload_dependents=True)
        states = {name: state for (name, _), (state, _) in index_of(client).items()}
        assert states == {"m": "UNAVAILABLE", "n": "READY", "o": "READY", "one": "UNAVAILABLE", "two": "READY"}
        client.unload_model("two")
        assert client.is_model_ready("n") and client.is_model_ready("o")


def test_an_explicit_load_loads_the_steps_models(hearthd, tmp_path):
    put_model(tmp_path, "m", scripted(Add(1.0)))
    put_model(tmp_path, "n", scripted(Add(2.0)))
    put_ensemble(tmp_path, "inner", chain("m", "n"))
    put_ensemble(tmp_path, "e", chain("inner", "m"))
    server = hearthd(tmp_path, "--model-control-mode", "explicit", "--load-model", "inner")
    with server.client() as client:
        assert ask(client, "inner", 1)["y"].tolist() == [4]
        client.unload_model("inner", unload_dependents=True)
        assert not client.is_model_ready("m")
        client.load_model("e")
        assert ask(client, "e", 1)["y"].tolist() == [5]


def test_an_ensemble_that_cannot_be_loaded_says_why(hearthd):
    wants_doubles = 'input { name: "x" data_type: TYPE_FP64 dims: [ -1 ] }\noutput { name: "y" data_type: TYPE_FP64 dims: [ -1 ] }'
    server = hearthd({"m": scripted(Add(1.0)), "d": (scripted(Double()), wants_doubles), "two": scripted(Sum())})

    def why(config, code=INVALID):
        put_ensemble(server.repository, "e", config)
        return fails(code, lambda: client.load_model("e"))

    with server.client() as client:
        assert "step 2 ('gone')" in why(chain("m", "gone"), UNAVAILABLE)
        assert "the tensor 'x' is FP32 for the ensemble's input 'x' and FP64 for input 'x' of step 1 ('d')" in why(
            ensemble({"x": FLOAT}, {"y": ("FP64", [-1])}, [step("d", {"x": "x"}, {"y": "y"})])
        )
        assert "step 1 ('m')" in why(ensemble({"x": FLOAT}, {"y": FLOAT}, [step("m", {"z": "x"}, {"OUTPUT__0": "y"})]))
        assert "'z' is not in the answer" in why(
            ensemble({"x": FLOAT}, {"y": FLOAT}, [step("m", {"x": "x"}, {"z": "y"})])
        )
        assert "'b' (Tensor) is missing" in why(
            ensemble({"x": FLOAT}, {"y": FLOAT}, [step("two", {"a": "x"}, {"OUTPUT__0": "y"})])
        )
        assert "no step makes the output 'y'" in why(ensemble({"x": FLOAT}, {"y": FLOAT}, [one_to_one("m", "x", "z")]))
        assert "wait for each other" in why(
            ensemble(
                {"x": FLOAT},
                {"y": FLOAT},
                [
                    step("two", {"a": "x", "b": "y"}, {"OUTPUT__0": "t"}),
                    one_to_one("m", "t", "y"),
                ],
            )
        )
        assert "is the ensemble itself" in why(chain("e"))
        # In each other.
        put_ensemble(server.repository, "f", chain("m"))
        client.load_model("f")
        put_ensemble(server.repository, "e", chain("f"))
        client.load_model("e")
        put_ensemble(server.repository, "f", chain("e"))
        assert "step" in fails(INVALID, lambda: client.load_model("f"))
        # What served before the load that failed serves on.
        assert ask(client, "f", 1)["y"].tolist() == [2]
        assert ask(client, "e", 1)["y"].tolist() == [2]


def test_an_ensemble_is_loaded_when_the_step_that_it_lacked_comes(hearthd):
    server = hearthd({"m": scripted(Add(1.0))}, "--exit-on-error=false")
    put_ensemble(server.repository, "e", chain("m", "late"))
    with server.client() as client:
        assert "late" in fails(UNAVAILABLE, lambda: client.load_model("e"))
        put_model(server.repository, "late", scripted(Add(2.0)))
        client.load_model("late")
        eventually(lambda: client.is_model_ready("e"))
        assert ask(client, "e", 1)["y"].tolist() == [4]


def test_ensembles_that_are_each_others_steps_fail_and_nothing_waits_for_ever(hearthd, tmp_path):
    put_model(tmp_path, "m", scripted(Add(1.0)))
    put_ensemble(tmp_path, "a", chain("b"))
    put_ensemble(tmp_path, "b", chain("c"))
    put_ensemble(tmp_path, "c", chain("a"))
    server = hearthd(tmp_path, "--exit-on-error=false")
    with server.client() as client:
        states = {name: state for (name, _), (state, _) in index_of(client).items()}
        assert states == {"a": "UNAVAILABLE", "b": "UNAVAILABLE", "c": "UNAVAILABLE", "m": "READY"}


def test_polling_finds_an_ensembles_change_and_its_steps(hearthd, tmp_path):
    put_ensemble(tmp_path, "e", chain("m"))
    server = hearthd(
        tmp_path, "--model-control-mode", "poll", "--repository-poll-secs", "0.1", "--exit-on-error=false"
    )
    with server.client() as client:
        assert not client.is_model_ready("e")
        put_model(tmp_path, "m", scripted(Add(1.0)))
        eventually(lambda: client.is_model_ready("e"))
        assert ask(client, "e", 1)["y"].tolist() == [2]
        put_ensemble(tmp_path, "e", chain("m", "m"))
        eventually(lambda: ask(client, "e", 1)["y"].tolist() == [3])


def test_steps_that_are_idle_are_loaded_again(hearthd):
    server = hearthd({"m": scripted(Add(1.0)), "n": scripted(Add(2.0))}, "--idle-unload-seconds", "0.05")
    put_ensemble(server.repository, "e", chain("m", "n"))
    with server.client() as client:
        client.load_model("e")
        eventually(lambda: index_of(client)[("m", "1")][0] == "UNAVAILABLE")
        eventually(lambda: index_of(client)[("n", "1")][0] == "UNAVAILABLE")
        assert client.is_model_ready("e")
        assert ask(client, "e", 1)["y"].tolist() == [4]


def test_a_check_looks_at_ensembles(tmp_path):
    put_model(tmp_path, "m", scripted(Add(1.0)))
    put_ensemble(tmp_path, "inner", chain("m"))
    put_ensemble(tmp_path, "outer", chain("inner", "m"))
    assert check(tmp_path) == (0, ["3 models, 0 problems"])
    put_ensemble(tmp_path, "outer", chain("inner", "gone"))
    status, lines = check(tmp_path)
    assert status == 1 and len(lines) == 2
    assert "outer" in lines[0] and "step 2 ('gone')" in lines[0]


def test_a_drain_lets_an_ensembles_steps_end(hearthd):
    server = hearthd({"spin": scripted(Spin()), "m": scripted(Add(1.0))})
    put_ensemble(server.repository, "e", chain("spin", "m"))
    with server.client() as client:
        client.load_model("e")
        answers = []
        client.async_infer("e", [floats("x", 3_000_000)], callback=lambda result, error: answers.append((result, error)))
        eventually(lambda: in_flight(server, "spin") == 1)
        server.terminate()
        assert server.wait(120) == 0
        eventually(lambda: answers)
        result, error = answers[0]
        assert error is None and result.as_numpy("y").tolist() == [3_000_001]
