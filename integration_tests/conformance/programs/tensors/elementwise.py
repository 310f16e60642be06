"""Elementwise."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Program(nn.Module):
    def forward(self, x):
        return (
            x.relu(),
            torch.sigmoid(x),
            x.clamp(-1, 1),
            x.clamp(min=0),
            x.abs().sqrt(),
            x.exp(),
            F.gelu(x),
            F.silu(x),
            F.leaky_relu(x, 0.2),
            torch.where(x > 0, x, -x),
            x.masked_fill(x < 0, 7.0),
            x.sign(),
            x.floor(),
            x.round(),
            F.softplus(x),
            F.elu(x),
            torch.maximum(x, -x),
            x.pow(2),
            2**x,
            x % 2,
            x // 0.7,
            -x,
            ~(x > 0),
            (x > 0) & (x < 2),
        )


calls = [(torch.tensor([1.5, -2.0, 0.0]),)]
