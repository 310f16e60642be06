"""Models whose call takes a given time of one processor, for benchmarks of how calls share processors."""

import time
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.archives import save

WIDTH = 256


class Busy(nn.Module):
    """Products of small matrices, one after the other."""

    def __init__(self, rounds: int):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(WIDTH))
        self.rounds = rounds

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.rounds):
            x = torch.tanh(x @ self.weight)
        return x


class Work(NamedTuple):
    name: str
    milliseconds: float


def save_models(folder, works):
    """Of `works`, whose time is measured with one thread on this machine."""
    torch.set_num_threads(1)
    x = torch.ones(16, WIDTH)
    rounds, times = 100, []
    probe = torch.jit.script(Busy(rounds))
    with torch.inference_mode():
        for _ in range(50):
            start = time.perf_counter()
            probe(x)
            times.append(time.perf_counter() - start)
    # The least: other work on the machine only adds to it.
    seconds_a_round = min(times) / rounds
    for work in works:
        save(folder, work.name, torch.jit.script(Busy(max(1, round(work.milliseconds / 1e3 / seconds_a_round)))), [x])
