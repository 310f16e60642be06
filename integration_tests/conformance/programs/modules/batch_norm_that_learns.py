"""Batch norm that learns."""

import torch
import torch.nn as nn


def train_mode(cls):
    return torch.jit.script(cls().train())


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        y = self.norm(x)
        mean = self.norm.running_mean
        count = self.norm.num_batches_tracked
        assert mean is not None and count is not None
        return y, mean, count, self.training


def make():
    return train_mode(Program)


calls = [(torch.arange(6.0).reshape(3, 2),)]
