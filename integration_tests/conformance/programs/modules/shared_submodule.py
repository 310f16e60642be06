"""One submodule under two names."""

import torch.nn as nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self) -> int:
        self.n += 1
        return self.n


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner()
        self.b = self.a

    def forward(self):
        return self.a(), self.b(), self.a.n


calls = [()]
