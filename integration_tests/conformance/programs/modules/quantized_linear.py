"""Quantized linear."""

import torch
import torch.nn as nn


class TwoLinears(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def quantized():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.ao.quantization.quantize_dynamic(TwoLinears().eval(), {nn.Linear}, dtype=torch.qint8)
        return torch.jit.script(module)


def make():
    return quantized()


calls = [(torch.ones(2, 3),), (torch.arange(3.0).reshape(1, 3),)]
