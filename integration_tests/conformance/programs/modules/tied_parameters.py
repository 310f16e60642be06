"""One parameter under two names, written through one of them."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x):
        with torch.no_grad():
            self.a.weight.fill_(2.0)
        return self.b(x), self.a.weight is self.b.weight


calls = [(torch.ones(1, 2),)]
