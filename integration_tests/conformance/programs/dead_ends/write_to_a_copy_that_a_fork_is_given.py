"""Write to a copy that a fork is given."""

from typing import List

import torch
import torch.nn as nn


def writes(items: List[str]) -> int:
    items[0] = "x"
    return 5


class Program(nn.Module):
    def forward(self, a: List[str]):
        return torch.jit.wait(torch.jit.fork(writes, a.copy()))


calls = [(["a"],), ([],)]
