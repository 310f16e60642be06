"""ModuleDict by key, walked over."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})

    def forward(self, x):
        names: List[str] = []
        for k, m in self.d.items():
            x = m(x)
            names.append(k)
        for k in self.d:
            names.append(k)
        for m in self.d.values():
            x = m(x)
        return x, names, self.d["a"](x), len(self.d), "a" in self.d, "z" in self.d


calls = [(torch.tensor([-1.0, 2.0]),)]
