"""Forks that are waited for draw from the same generator in their turn."""

import torch
import torch.nn as nn
from torch import Tensor


def draws(n: int) -> Tensor:
    return torch.rand(n)


class Program(nn.Module):
    def forward(self):
        torch.manual_seed(3)
        a = torch.jit.wait(torch.jit.fork(draws, 4))
        b = torch.jit.wait(torch.jit.fork(draws, 4))
        return a, b, torch.rand(2)


calls = [()]
