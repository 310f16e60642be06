"""Frozen module."""

import torch
import torch.nn as nn


def make():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    return torch.jit.freeze(torch.jit.script(module))


calls = [(torch.ones(2, 4),)]
