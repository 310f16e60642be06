"""Properties and statics."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 4

    @property
    def twice(self) -> int:
        return self.k * 2

    @staticmethod
    def plus(a: torch.Tensor, b: int) -> torch.Tensor:
        return a + b

    def forward(self, x):
        return self.plus(x, self.twice)


calls = [(torch.ones(2),)]
