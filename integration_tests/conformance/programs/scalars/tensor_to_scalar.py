"""Tensor to scalar."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        return int(x), float(x), bool(x), x.item()


calls = [(torch.tensor(3),), (torch.tensor(2.7),), (torch.tensor([1, 2]),)]
