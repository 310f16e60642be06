"""Lists and dicts as attributes."""

from typing import Dict, List, Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    table: Dict[str, List[int]]
    maybe: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.table = {"a": [1, 2], "b": []}
        self.maybe = None
        self.weights = [torch.ones(2), torch.zeros(2)]
        self.pair = (1, torch.full((2,), 4.0))

    def forward(self, x):
        if self.maybe is None:
            self.maybe = x
        maybe = self.maybe
        assert maybe is not None
        self.table["b"].append(9)
        return maybe + self.weights[0] + self.pair[1], self.table


calls = [(torch.ones(2),)]
