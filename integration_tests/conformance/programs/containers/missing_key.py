"""Missing key."""

from typing import Dict

import torch.nn as nn


class Program(nn.Module):
    def forward(self, d: Dict[str, int], key: str) -> int:
        return d[key]


calls = [({"a": 1}, "a"), ({"a": 1}, "zz")]
