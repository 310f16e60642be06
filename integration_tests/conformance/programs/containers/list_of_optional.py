"""List of optional."""

from typing import List, Optional

import torch.nn as nn


class Program(nn.Module):
    def forward(self, values: List[Optional[int]]) -> List[int]:
        out: List[int] = []
        for v in values:
            if v is not None:
                out.append(v)
        return out


calls = [([1, None, 3],), ([None],)]
