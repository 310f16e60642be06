"""Batch norm that learns changes its buffers."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x):
        y = self.bn(x)
        return y, self.bn.running_mean, self.bn.running_var, self.bn.num_batches_tracked


def make():
    return torch.jit.script(Program().train())


calls = [(torch.arange(12.0).reshape(4, 3),)]
