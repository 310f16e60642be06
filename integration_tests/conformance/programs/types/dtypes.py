"""dtypes are ints."""

import torch


def f(x: torch.Tensor):
    d = x.dtype
    return (
        d == torch.float32,
        d == torch.int64,
        x.to(torch.int32).dtype == torch.int32,
        torch.zeros(1, dtype=d),
        torch.empty(0).dtype == torch.float,
        torch.double == torch.float64,
    )


calls = [(torch.ones(1),), (torch.ones(1, dtype=torch.int64),), (torch.ones(1, dtype=torch.bool),)]
