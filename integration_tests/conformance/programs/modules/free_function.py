"""Free function."""

import torch


def double_it(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    for _ in range(times):
        x = x + x
    return x


def make():
    return torch.jit.script(double_it)


calls = [(torch.ones(2), 3)]
