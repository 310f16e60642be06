"""An attribute of a Union type that holds a list is that list behind a test of its type."""

from typing import Dict, List, Union

import torch.nn as nn


class Program(nn.Module):
    list: Union[List[int], str]
    dict: Union[Dict[str, int], float]

    def __init__(self):
        super().__init__()
        self.list = [1, 2]
        self.dict = {"a": 3}

    def forward(self, n: int):
        l, d = self.list, self.dict
        sum = n
        if isinstance(l, List[int]):
            sum += len(l) + l[0]
        if isinstance(d, Dict[str, int]):
            sum += d["a"]
        return sum


calls = [(1,), (2,)]
