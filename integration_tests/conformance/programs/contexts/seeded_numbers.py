"""manual_seed gives LibTorch's own random numbers, and again."""

import torch
import torch.nn as nn
from torch import Tensor


class Program(nn.Module):
    def forward(self, x: Tensor):
        torch.manual_seed(20)
        first = torch.rand(3)
        drawn = [
            torch.randn(2, 3),
            torch.randint(0, 100, (5,)),
            torch.randperm(7),
            torch.bernoulli(x * 0.5),
            torch.normal(x, x),
            torch.multinomial(torch.ones(9), 4),
            nn.functional.dropout(x, 0.5, True),
            torch.rand_like(x),
            x.clone().uniform_(-1.0, 1.0),
            x.clone().exponential_(),
        ]
        torch.manual_seed(20)
        return first, drawn, torch.rand(3)


calls = [(torch.ones(3, 4),)]
