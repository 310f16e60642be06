"""Tuple of everything."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        a = (n, (float(n), [str(n)]), {"k": (n, None)}, torch.full((1,), n), None, ())
        b, (c, d), e, f, _, _ = a
        return a, b, c, d, e, f


calls = [(3,)]
