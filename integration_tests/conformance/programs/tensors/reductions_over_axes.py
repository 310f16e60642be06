"""Reductions over axes."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        return (
            x.sum(),
            x.sum(0),
            x.sum([0, 1]),
            x.mean(-1, keepdim=True),
            x.std(),
            x.var(1),
            x.prod(2),
            x.max(),
            x.argmax(),
            x.argmin(1),
            x.norm(),
            x.cumsum(0),
            x.all(),
            x.any(1),
            x.logsumexp(2),
            x.softmax(-1),
            x.median(),
            x.amax((0, 2)),
        )


calls = [(torch.arange(24.0).reshape(2, 3, 4),)]
