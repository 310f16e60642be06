"""autocast changes dtypes inside, not outside."""

import torch


def f(x: torch.Tensor):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ x
        b = a + x
        c = torch.exp(a)
    d = x @ x
    return a, b, c, d


calls = [(torch.ones(2, 2),)]
