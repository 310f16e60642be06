"""record_function around forks and waits."""

import torch
import torch.nn as nn
from torch import Tensor


def draws(n: int) -> Tensor:
    return torch.rand(n)


class Program(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.profiler.record_function("outer"):
            future = torch.jit.fork(draws, 3)
            y = x + 1
            with torch.profiler.record_function("inner"):
                z = torch.jit.wait(future)
        return y * float(z.numel())


calls = [(torch.ones(2),)]
