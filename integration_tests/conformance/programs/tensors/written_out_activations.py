"""Activations that are written out of arithmetic, over ordinary and extreme values."""

import torch


def f(x):
    tanh = 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))
    fast = 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))
    erf = x * 0.5 * (1.0 + torch.erf(x / 1.4142135623730951))
    silu = x * torch.sigmoid(x)
    hard = x * torch.clamp(x + 3, 0, 6) / 6
    gate = torch.clamp(x + 3.0, min=0, max=6) / 6.0
    return tanh, fast, erf, silu, hard, gate


extremes = [0.0, -0.0, 1e-6, -3.0, 3.0, 40.0, -40.0, 1e20, -1e20, float("inf"), float("-inf"), float("nan")]
calls = [
    (torch.linspace(-6, 6, 50).reshape(5, 10),),
    (torch.tensor(extremes),),
    (torch.tensor(extremes, dtype=torch.double),),
    (torch.linspace(-6, 6, 48).reshape(2, 4, 6).transpose(0, 2),),
    (torch.linspace(-6, 6, 50).to(torch.bfloat16),),
    (torch.arange(-6, 6),),
]
