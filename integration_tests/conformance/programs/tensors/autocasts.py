"""Autocasts."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        w = torch.ones(3, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = torch.mm(w, w)
            with torch.autocast("cpu", enabled=False):
                z = torch.mm(w, w)
        return y, z, torch.mm(w, w)


calls = [(torch.ones(3),)]
