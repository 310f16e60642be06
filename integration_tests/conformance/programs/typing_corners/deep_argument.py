"""Deep argument."""

from typing import Dict, List, Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, d: Dict[str, Tuple[int, torch.Tensor]]) -> List[Tuple[str, torch.Tensor]]:
        out: List[Tuple[str, torch.Tensor]] = []
        for key, (n, x) in d.items():
            out.append((key + str(n), x + n))
        return out


calls = [({"a": (1, torch.ones(1))},), ({},)]
