"""Parameter list and dict."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.parameters_list = nn.ParameterList([nn.Parameter(torch.full((2,), float(i))) for i in range(3)])
        self.blocks = nn.ModuleDict({"one": nn.Linear(2, 2), "two": nn.Identity()})

    def forward(self, x):
        for p in self.parameters_list:
            x = x + p
        for name, block in self.blocks.items():
            x = block(x)
            if name == "one":
                x = x * 2
        return x


calls = [(torch.ones(2),)]
