"""Fork that raises."""

import torch
import torch.nn as nn


def may_fail(n: int) -> int:
    if n > 2:
        raise ValueError("fork failed at " + str(n))
    return n


class Program(nn.Module):
    def forward(self, n: int) -> int:
        f = torch.jit.fork(may_fail, n)
        return torch.jit.wait(f) + 1


calls = [(1,), (5,)]
