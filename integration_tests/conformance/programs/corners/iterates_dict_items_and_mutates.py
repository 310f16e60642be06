"""Iterates dict items and mutates."""

from typing import Dict, List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, names: List[str], d: Dict[str, List[int]]):
        for name in names:
            d[name] = [len(d)]
        for key, values in d.items():
            values.append(len(key))
        for key in list(d.keys()):
            if key > "y":
                del d[key]
        return d, names


calls = [(["b", "a"], {"z": [1], "y": [7]})]
