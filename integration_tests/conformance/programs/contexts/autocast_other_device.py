"""autocast of another device leaves this one's values."""

import torch


def f(x: torch.Tensor):
    with torch.autocast("cuda", dtype=torch.float16):
        a = x @ x
    return a


calls = [(torch.ones(2, 2),)]
