"""Argument that a fork ignores."""

from typing import List

import torch
import torch.nn as nn


def ignores(text: str) -> int:
    return 5


class Program(nn.Module):
    def forward(self, a: List[str]):
        return torch.jit.wait(torch.jit.fork(ignores, a[5]))


calls = [(["a"],), (["a"] * 8,)]
