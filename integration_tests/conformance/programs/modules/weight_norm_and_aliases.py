"""Weight norm and aliases."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("base", torch.arange(8.0).reshape(2, 4))
        self.register_buffer("view", self.base[:, ::2])
        self.register_buffer("transposed", self.base.t())

    def forward(self, x):
        self.base.add_(x)
        return self.view, self.transposed, self.base.stride(), self.transposed.stride()


calls = [(torch.ones(2, 4),)]
