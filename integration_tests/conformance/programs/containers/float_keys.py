"""Float keys."""

from typing import Dict

import torch.nn as nn


class Program(nn.Module):
    def forward(self, d: Dict[float, int]) -> Dict[float, int]:
        d[2.0] = 4
        d.pop(1.5, 0)
        return d


calls = [({1.5: 2, 0.0: 3},), ({},)]
