"""Many forks."""

from typing import List

import torch
import torch.nn as nn


def slow_sum(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = x + i
    return x


class Program(nn.Module):
    def forward(self, x: torch.Tensor) -> List[torch.Tensor]:
        futures: List[torch.jit.Future[torch.Tensor]] = []
        for i in range(20):
            futures.append(torch.jit.fork(slow_sum, x, i))
        return [torch.jit.wait(f) for f in futures]


calls = [(torch.ones(2),)]
