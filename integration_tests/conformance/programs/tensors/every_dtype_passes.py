"""Every dtype passes."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        return x, x.to(torch.float32) + 1, x.dtype == torch.uint8


calls = [(torch.ones(2, dtype=torch.bfloat16),), (torch.ones(2, dtype=torch.uint8),), (torch.tensor([True]),)]
