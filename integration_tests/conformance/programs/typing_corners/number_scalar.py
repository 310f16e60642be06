"""Number scalar."""

from typing import Union

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: Union[int, float]):
        y = torch.ones(2)
        if isinstance(x, float):
            return y * x
        return y + x


calls = [(3,), (2.5,)]
