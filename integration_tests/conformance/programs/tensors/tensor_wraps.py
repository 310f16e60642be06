"""torch.tensor of what the dtype cannot hold wraps."""

import torch


def f(a: int):
    return torch.tensor([a], dtype=torch.uint8), torch.tensor(a, dtype=torch.int8)


calls = [(300,), (-1,)]
