"""Fork and wait."""

import torch
import torch.nn as nn


def slow_sum(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = x + i
    return x


class Program(nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        a = torch.jit.fork(slow_sum, x, n)
        b = torch.jit.fork(slow_sum, x * 2, n)
        here = slow_sum(x, 2)
        return torch.jit.wait(a) + torch.jit.wait(b) + here


calls = [(torch.ones(2), 5), (torch.ones(2), 0)]
