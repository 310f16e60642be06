"""Shadowed names."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, list_: int):
        torch_ = list_ + 1
        self_ = torch_ * 2
        range_ = [self_ for _ in range(2)]
        return torch_, self_, range_


calls = [(3,), (0,)]
