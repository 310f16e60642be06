"""__getstate__ and __setstate__ run when saved and loaded."""

from typing import Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.ones(2)
        self.n = 1

    @torch.jit.export
    def __getstate__(self):
        return (self.w * 2, self.n + 1, self.training)

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, int, bool]):
        self.w = state[0] + 1
        self.n = state[1] * 10
        self.training = state[2]

    def forward(self):
        return self.w, self.n


calls = [()]
