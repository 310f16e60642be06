"""autocast in autocast, disabled and enabled."""

import torch


def f(x: torch.Tensor):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ x
        with torch.autocast("cpu", enabled=False):
            b = x @ x
            with torch.autocast("cpu", dtype=torch.bfloat16):
                c = x @ x
        d = x @ x
    return a, b, c, d


calls = [(torch.ones(2, 2),)]
