"""32 clients on three models at once: every answer is the one that torch.jit gives for that client's own input."""

import os
import threading
from typing import Dict

import pytest
import torch
import torch.nn as nn
import tritonclient.grpc as triton

from integration_tests.client import named_tensors, triton_inputs
from integration_tests.values import difference, leaves, plain
from integration_tests.zoo import archives as zoo

CLIENTS = 32
# Answers for each client; the soak asks for more.
ROUNDS = int(os.environ.get("HEARTH_CONCURRENCY_ROUNDS", "4"))


class Tally(nn.Module):
    """Loops, dicts and strings: work for the interpreter, and a container for each answer."""

    def forward(self, x: torch.Tensor):
        counts: Dict[str, torch.Tensor] = {}
        total = torch.zeros(1)
        for i in range(x.shape[0]):
            key = "even" if int(x[i]) % 2 == 0 else "odd"
            counts[key] = counts.get(key, torch.zeros(1)) + x[i]
            total += x[i]
        return counts, total, [x * 2, x.sum()]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 16, batch_first=True)

    def forward(self, tokens):
        y, (h, c) = self.lstm(self.embedding(tokens))
        return {"y": y, "h": h, "c": c}


def request_of(model, client, round_number):
    """This client's own input for `model`: its shape differs from client to client."""
    generator = torch.Generator().manual_seed(1000 * client + round_number)
    if model == "resnet18":
        return torch.randn(1 + client % 2, 3, 32, 32, generator=generator)
    if model == "tally":
        return torch.randint(0, 100, (3 + client % 5,), generator=generator).float()
    return torch.randint(0, 50, (1 + client % 3, 2 + round_number % 4), generator=generator)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("concurrency")
    torch.manual_seed(0)
    torch.jit.save(torch.jit.script(Tally()), folder / "tally.pt")
    torch.jit.save(torch.jit.script(Recurrent().eval()), folder / "recurrent.pt")
    resnet18 = zoo.ensure(["resnet18"])["resnet18"].archive
    return {"tally": folder / "tally.pt", "recurrent": folder / "recurrent.pt", "resnet18": resnet18}


INPUT_NAME = {"tally": "x", "recurrent": "tokens", "resnet18": "x"}


@pytest.fixture(scope="module")
def expected(archives):
    """(model, client, round) -> the named tensors that torch.jit answers"""
    answers = {}
    with torch.no_grad():
        for model, archive in archives.items():
            module = torch.jit.load(archive)
            for client in range(CLIENTS):
                for number in range(ROUNDS):
                    answer = plain(module(request_of(model, client, number)))
                    answers[(model, client, number)] = {path or "OUTPUT__0": leaf for path, leaf in leaves(answer)}
    return answers


def test_every_client_gets_its_own_answers(archives, expected, hearthd):
    server = hearthd(archives)
    problems, asked = [], []
    start = threading.Barrier(CLIENTS)

    def ask(client_number):
        with triton.InferenceServerClient(server.address) as client:
            start.wait()
            for number in range(ROUNDS):
                # Each client goes round the models from another one on.
                for step in range(3):
                    model = list(archives)[(client_number + step) % 3]
                    inputs = triton_inputs([INPUT_NAME[model]], [request_of(model, client_number, number)])
                    try:
                        got = named_tensors(client.infer(model, inputs))
                    except triton.InferenceServerException as error:
                        problems.append(f"{model}: {error}")
                        continue
                    wanted = expected[(model, client_number, number)]
                    found = difference(wanted, {name: got.get(name) for name in wanted})
                    if found or len(got) != len(wanted):
                        problems.append(f"{model}, client {client_number}, round {number}: {found or sorted(got)}")
                    asked.append(model)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(asked) == CLIENTS * ROUNDS * 3
    assert server.stop() == 0
