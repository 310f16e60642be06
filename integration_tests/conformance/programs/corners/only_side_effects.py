"""Only side effects."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor) -> None:
        x.add_(1)


calls = [(torch.ones(3),)]
