"""Formats a tensor."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor) -> str:
        return "x is {} of {}".format(x, x.shape)


calls = [(torch.arange(3.0),)]
