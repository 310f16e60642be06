"""Device argument."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, device: torch.device):
        return torch.zeros(1, device=device), str(device), device.type, device.index


calls = [(torch.device("cpu"),)]
