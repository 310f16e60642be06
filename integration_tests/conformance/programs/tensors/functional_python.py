"""Functions of torch.nn.functional that are Python come with the archive."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Program(nn.Module):
    def forward(self, x: torch.Tensor):
        a = F.relu(x)
        b = F.softmax(x, dim=1)
        c = F.pad(x, [1, 2])
        d = F.interpolate(x[None], scale_factor=2.0, mode="nearest")
        e = F.max_pool1d(x, 2)
        g = F.layer_norm(x, [4])
        h = F.dropout(x, 0.5, training=False)
        i = F.cross_entropy(x, torch.tensor([1, 0]))
        return a, b, c, d, e, g, h, i


calls = [(torch.tensor([[1.0, -1.0, 2.0, 0.5], [0.0, 3.0, -2.0, 1.0]]),)]
