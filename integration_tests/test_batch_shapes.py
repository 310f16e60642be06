"""Batches of requests that are too large for one, or of different lengths; and what is proved of a model's rows when it
loads."""

import concurrent.futures
import json

import grpc
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from integration_tests.command_line import hearth
from integration_tests.serving import fails, tensor
from integration_tests.test_batching import HOUR, Positive, Rows, config, rows
from integration_tests.zoo import archives

INVALID = grpc.StatusCode.INVALID_ARGUMENT
SPLIT = 'parameters { key: "split_large_requests" value { string_value: "true" } }\n'
LISTED = 'input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }\n'


def parameters(**texts):
    return "".join(f'parameters {{ key: "{key}" value {{ string_value: "{text}" }} }}\n' for key, text in texts.items())


class Pairs(nn.Module):
    """Each row with those beside it: not of one row, but nobody can tell from the code's operators."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.linalg.matrix_exp(x)


class SoftmaxOverRows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, 0)


class NormOfTheBatch(nn.Module):
    """Normalizes by the rows that come together, as in training, and keeps no statistics."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3, track_running_stats=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


class Sequences(nn.Module):
    """What each step of a sequence is beside the largest one that the mask leaves."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return x - torch.where(mask > 0, x, torch.full_like(x, -1e9)).amax(1, keepdim=True)


KNOWN = {"resnet18": 4, "resnet18_frozen": 4, "bert": 2, "vit_b_16": 4, "convnext_tiny": 4}


@pytest.fixture(scope="module")
def zoo():
    return archives.ensure(list(KNOWN))


# ---- Requests with more rows than a batch ----


@pytest.fixture(scope="module")
def server(hearthd, zoo):
    together = f"max_queue_delay_microseconds: {HOUR}"
    lengths = parameters(pad_inputs="input_ids=0, attention_mask=0", trim_outputs="last_hidden_state", max_padding_factor="8")
    steps = parameters(pad_inputs="x=0, mask=0", trim_outputs="OUTPUT__0")
    return hearthd(
        {
            "split": (torch.jit.script(Rows()), config("") + SPLIT),
            "split_listed": (torch.jit.script(Rows()), config("") + SPLIT + LISTED),
            "whole_listed": (torch.jit.script(Rows()), config("") + LISTED),
            "positive": (torch.jit.script(Positive()), config("") + SPLIT),
            "bert": (zoo["bert"].archive, config(together) + lengths),
            "bert_alone": zoo["bert"].archive,
            "steps": (torch.jit.script(Sequences()), config("", rows=8) + steps),
            "multiples": (torch.jit.script(Rows()), config("") + parameters(pad_inputs="x=0", pad_multiple_of="4", trim_outputs="0")),
            "unproved": (torch.jit.script(Pairs()), config("")),
            "proved": (torch.jit.script(Sequences()), config("")),
        }
    )


@pytest.fixture(scope="module")
def client(server):
    with server.client() as made:
        yield made


@pytest.mark.parametrize("model", ["split", "split_listed"])
def test_a_large_request_is_run_in_parts_and_answered_as_one(server, client, model):
    made = client.infer(model, [rows(*range(10))])
    assert made.as_numpy("0").tolist() == [[2 * value] for value in range(10)]
    assert made.as_numpy("1").tolist() == [4] * 8 + [2] * 2, "as many rows as its run had"
    assert server.metric("nv_inference_request_success", model=model) == 1
    assert server.metric("nv_inference_count", model=model) == 10
    assert server.metric("nv_inference_exec_count", model=model) == 3
    assert server.metric("nv_inference_pending_request_count", model=model) == 0
    assert server.metric("hearth_batch_size_sum", model=model) == 10


def test_a_large_request_is_refused_where_nothing_is_said_of_parts(client):
    message = fails(INVALID, lambda: client.infer("whole_listed", [rows(*range(5))]))
    assert "has a batch of 5; the model takes at most 4" in message


@pytest.mark.parametrize("model", ["split", "split_listed"])
def test_parts_of_a_request_are_bounded(client, model):
    assert len(client.infer(model, [rows(*range(1024))]).as_numpy("0")) == 1024
    message = fails(INVALID, lambda: client.infer(model, [rows(*range(1025))]))
    assert "has a batch of 1025; the model takes at most 1024" in message


def test_a_part_that_fails_fails_its_request_alone(client):
    with concurrent.futures.ThreadPoolExecutor(8) as crowd:
        bad = crowd.submit(client.infer, "positive", [rows(1, 1, 1, 1, 1, 1, -1, 1, 1)])
        good = [crowd.submit(client.infer, "positive", [rows(4, 4, 4, 4, 4, 4)]) for _ in range(7)]
        assert all(one.result(timeout=60).as_numpy("OUTPUT__0").tolist() == [[2]] * 6 for one in good)
        error = bad.exception(timeout=60)
    assert error.status() == "StatusCode.INTERNAL" and "a row is below 0" in error.message()


# ---- Lengths ----


def sentence(seed, length):
    random = np.random.default_rng(seed)
    ids = random.integers(1, 1000, (1, length))
    return [tensor("input_ids", ids), tensor("attention_mask", np.ones((1, length), np.int64))]


def test_sentences_of_different_lengths_are_one_batch_and_answered_as_alone(server, client):
    lengths = (5, 16, 9, 12)
    alone = [client.infer("bert_alone", sentence(i, length)) for i, length in enumerate(lengths)]
    with concurrent.futures.ThreadPoolExecutor(4) as crowd:
        made = list(crowd.map(lambda i: client.infer("bert", sentence(i, lengths[i])), range(4)))
    assert server.metric("nv_inference_exec_count", model="bert") == 1
    for one, own, length in zip(made, alone, lengths):
        assert one.as_numpy("last_hidden_state").shape == (1, length, 128)
        for name in ("last_hidden_state", "pooler_output"):
            np.testing.assert_allclose(one.as_numpy(name), own.as_numpy(name), rtol=1e-3, atol=1e-4)


def test_requests_of_any_length_get_their_own_answers(client):
    def ask(seed):
        random = np.random.default_rng(seed)
        shape = (int(random.integers(1, 4)), int(random.integers(1, 40)))
        x = random.normal(size=shape).astype(np.float32)
        made = client.infer("steps", [tensor("x", x), tensor("mask", np.ones(shape, np.int64))])
        np.testing.assert_allclose(made.as_numpy("OUTPUT__0"), x - x.max(1, keepdims=True), rtol=1e-5)

    with concurrent.futures.ThreadPoolExecutor(16) as crowd:
        list(crowd.map(ask, range(100)))


def test_lengths_become_multiples_and_nobody_sees_it(client):
    made = client.infer("multiples", [tensor("x", np.ones((2, 3), np.float32))])
    assert made.as_numpy("0").tolist() == [[2] * 3] * 2


# ---- What is refused when a model loads ----


@pytest.mark.parametrize(
    ("module", "batching", "expected"),
    [
        (SoftmaxOverRows(), "", ["rows mix: aten::softmax at ", "test_batch_shapes.py:", "is taken over all rows"]),
        (NormOfTheBatch(), "", ["rows mix: aten::batch_norm at ", "normalizes by what all rows have together"]),
        (Sequences(), parameters(pad_inputs="y=0"), ["pad_inputs names 'y'; the model takes 'x' (Tensor), 'mask' (Tensor)"]),
        (Rows(), parameters(pad_inputs="x=0", trim_outputs="2"), ["trim_outputs names '2'; output '2' is not in the answer"]),
        (Sequences(), parameters(pad_inputs="x=0,"), ["pad_inputs is 'x=0,'; it must be inputs with what they are"]),
        (Rows(), parameters(split_large_requests="yes"), ["split_large_requests is 'yes'; it must be 'true' or 'false'"]),
    ],
)
def test_what_cannot_be_batched_so_is_refused(hearthd, module, batching, expected):
    server = hearthd({"m": (torch.jit.script(module), config("") + batching)}, "--model-control-mode=explicit")
    with server.client() as client:
        message = fails(INVALID, lambda: client.load_model("m"))
    assert all(part in message for part in expected), message
    server.stop()


# ---- What is told ----


def test_what_is_known_of_rows_is_in_the_status(server):
    status = json.loads(server.get("/status.json")[1])
    batching = {model["name"]: model.get("batching", "") for model in status["models"]}
    by_dimensions = (
        "declared by max_batch_size; not known whether rows mix, for it is not known how many dimensions tensors have; "
        "rows are independent where they have "
    )
    assert batching["proved"].startswith(by_dimensions + "4 or 2")
    assert batching["unproved"].startswith("declared by max_batch_size; not known whether rows mix: aten::linalg_matrix_exp at ")
    assert batching["bert"].startswith(by_dimensions + "2")
    assert batching["bert_alone"] == ""
    page = server.get("/status/models/proved/versions/1")[1]
    assert "Batches: declared by max_batch_size" in page


@pytest.mark.parametrize(("name", "dimensions"), KNOWN.items())
def test_for_known_models_it_is_told_where_rows_are_independent(zoo, name, dimensions):
    done = hearth("check", zoo[name].archive)
    assert f"rows are independent where they have {dimensions}" in done.stdout
