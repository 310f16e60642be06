"""Class interface."""

from typing import List

import torch
import torch.nn as nn


@torch.jit.interface
class Scales:
    def scale(self, x: torch.Tensor) -> torch.Tensor:
        pass

    def describe(self, n: int) -> str:
        pass


@torch.jit.script
class Doubles:
    def __init__(self):
        self.calls = 0

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2

    def describe(self, n: int) -> str:
        return "doubles" + str(n)


@torch.jit.script
class Halves:
    def __init__(self, by: float):
        self.by = by

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        return x / self.by

    def describe(self, n: int) -> str:
        return "halves" + str(n)


class Program(nn.Module):
    def forward(self, x: torch.Tensor, double: bool):
        scales: List[Scales] = [Doubles(), Halves(4.0)]
        first: Scales = scales[0]
        text = ""
        for s in scales:
            x = s.scale(x)
            text += s.describe(1)
        if double:
            x = first.scale(x)
        return x, text


calls = [(torch.ones(2), True), (torch.ones(2), False)]
