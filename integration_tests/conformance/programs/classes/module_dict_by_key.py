"""Module dict by key."""

import torch
import torch.nn as nn


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"up": nn.Linear(4, 4), "down": nn.Tanh()})

    def forward(self, x: torch.Tensor, key: str) -> torch.Tensor:
        layer: Layer = self.layers[key]
        return layer.forward(x)


calls = [(torch.ones(4), "up"), (torch.ones(4), "sideways")]
