"""What a submodule switches stays switched for its caller."""

from typing import List

import torch
import torch.nn as nn
from torch import Tensor


def modes(x: Tensor, log: List[bool]) -> Tensor:
    # Another product each time: torch.jit would take one that it has already, and with it the mode it was made in.
    y = x * (len(log) + 2)
    log.append(torch.is_grad_enabled())
    log.append(y.requires_grad)
    return y


class Switches(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def inner(self) -> List[bool]:
        torch.set_grad_enabled(True)
        return [torch.is_grad_enabled()]

    def forward(self) -> List[bool]:
        log = self.inner()
        modes(self.weight, log)
        return log


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.switches = Switches()

    def forward(self) -> List[bool]:
        log = self.switches()
        log.append(torch.is_grad_enabled())
        torch.set_grad_enabled(False)
        return log


calls = [()]
