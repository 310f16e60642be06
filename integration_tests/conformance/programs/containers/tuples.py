"""Tuples."""

from typing import Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, t: Tuple[int, str, torch.Tensor]):
        a, b, c = t
        u = t + (a,)
        return t[0], t[-1], t[:2], u, len(t), (a, (b, (c,)))


calls = [((1, "a", torch.ones(1)),)]
