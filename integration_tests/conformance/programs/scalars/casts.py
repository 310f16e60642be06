"""Casts."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        return float(n), bool(n), str(n), int(2.9), int("42"), float("1.25"), int(True), bool(0.0), str(1.5), str(True)


calls = [(5,), (-5,)]
