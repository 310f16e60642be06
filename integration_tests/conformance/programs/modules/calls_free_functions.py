"""Calls free functions."""

from typing import Tuple

import torch
import torch.nn as nn


def double_it(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    for _ in range(times):
        x = x + x
    return x


def helper(x: torch.Tensor, k: float = 1.0) -> Tuple[torch.Tensor, float]:
    return inner_helper(x) * k, k


@torch.jit.script
def inner_helper(x: torch.Tensor):
    return x - 0.5


class Program(nn.Module):
    def forward(self, x):
        return double_it(x) + helper(x, k=3.0)[0]


calls = [(torch.tensor([-1.0, 1.0]),)]
