"""Profiler range."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        with torch.autograd.profiler.record_function("block"):
            y = x + 1
        return y


calls = [(torch.ones(2),)]
