"""What a fork raises comes out of the hook that waits for it."""

from typing import Tuple

import torch
import torch.nn as nn


def checked(x: torch.Tensor, limit: int) -> torch.Tensor:
    if x.numel() > limit:
        raise ValueError("more than " + str(limit))
    return x


def pre(self, args: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (torch.jit.wait(torch.jit.fork(checked, args[0], 2)),)


def post(self, args: Tuple[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
    return torch.jit.wait(torch.jit.fork(checked, out, 1))


class Program(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def make():
    m = Program()
    m.register_forward_pre_hook(pre)
    m.register_forward_hook(post)
    return torch.jit.script(m)


calls = [(torch.ones(1),), (torch.ones(2),), (torch.ones(3),)]
