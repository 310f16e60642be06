"""Fork in fork."""

import torch
import torch.nn as nn


def nested(depth: int) -> int:
    f = torch.jit.fork(one_more, depth)
    return torch.jit.wait(f)


def one_more(depth: int) -> int:
    g = torch.jit.fork(plus_one, depth)
    return torch.jit.wait(g) + depth


def plus_one(n: int) -> int:
    return n + 1


class Program(nn.Module):
    def forward(self, depth: int) -> int:
        return nested(depth)


calls = [(3,)]
