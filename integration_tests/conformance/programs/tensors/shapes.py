"""Shapes."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        a, b, c = x.shape
        n = x.size(0) * x.size(-1)
        return (
            x.shape,
            x.dim(),
            x.numel(),
            x.size(),
            a + b + c,
            x.view(a, -1).shape,
            x.permute(2, 0, 1).shape,
            x.reshape([n, 3]).shape,
            x.transpose(0, 1).contiguous().stride(),
            x.flatten(1).shape,
            len(x),
            x.ndim,
        )


calls = [(torch.ones(2, 3, 4),)]
