"""Dict of tensors."""

from typing import Dict

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, d: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        d["sum"] = d["x"] + d["y"]
        d["x"].add_(1)
        return d


calls = [({"x": torch.ones(2), "y": torch.ones(2)},)]
