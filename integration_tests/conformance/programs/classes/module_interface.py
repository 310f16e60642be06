"""Module interface."""

import torch
import torch.nn as nn


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])

    def forward(self, x: torch.Tensor, i: int) -> torch.Tensor:
        layer: Layer = self.layers[i]
        return layer.forward(x)


calls = [(torch.ones(4), 0), (torch.ones(4), 1), (torch.ones(4), 5)]
