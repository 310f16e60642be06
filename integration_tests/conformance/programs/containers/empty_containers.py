"""Empty containers."""

from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self):
        a: List[int] = []
        b: Dict[str, torch.Tensor] = {}
        c: List[Tuple[int, str]] = []
        d = torch.jit.annotate(List[Optional[int]], [])
        return a, b, c, d, []


calls = [()]
