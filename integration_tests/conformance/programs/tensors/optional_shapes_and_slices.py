"""Optional shapes and slices."""

from typing import Optional, Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: torch.Tensor, start: Optional[int] = None):
        end = x.shape[0] if start is None else start
        pair: Tuple[int, int] = (end // 2, 2)
        return x[:end][pair[0] :], x.reshape(pair), x[torch.tensor(1)], x.narrow(0, 1, 2), x.roll(1), x.flip(0)


calls = [(torch.arange(6.0),), (torch.arange(4.0),)]
