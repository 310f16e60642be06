"""Shared object sees writes."""

import torch
import torch.nn as nn


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.value = start


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        a = Counter(0)
        b = a
        b.value = 5
        same = a is b
        return a.value, same, a is not b


calls = [(torch.ones(1),), (torch.zeros(1),)]
