"""View fails."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        return x.view(3)


calls = [(torch.ones(2),)]
