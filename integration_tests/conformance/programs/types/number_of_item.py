"""item() in arithmetic."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    a = x.item()
    return y * a, y + a, float(a), int(a), a == 2


calls = [(torch.tensor(2), torch.ones(2)), (torch.tensor(2.5), torch.ones(2, dtype=torch.int64))]
