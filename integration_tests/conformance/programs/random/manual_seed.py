"""manual_seed gives torch's own random numbers."""

import torch


def f(n: int):
    torch.manual_seed(n)
    return (
        torch.rand(3),
        torch.randn(3),
        torch.randint(0, 10, [3]),
        torch.randperm(5),
        torch.rand(2, dtype=torch.float64),
    )


calls = [(0,), (42,), (-1,)]
