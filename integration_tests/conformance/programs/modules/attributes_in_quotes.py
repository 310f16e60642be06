"""Attributes that getattr reaches by names that no other code could write."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        setattr(self, "try", torch.ones(2))
        setattr(self, "lambda", 3)
        setattr(self, "from", nn.ReLU())

    def forward(self, x: torch.Tensor):
        y = getattr(self, "from")(x) + getattr(self, "try")
        return y, getattr(self, "lambda"), hasattr(self, "yield"), hasattr(self, "try")


calls = [(torch.tensor([-1.0, 2.0]),), (torch.ones(2),)]
