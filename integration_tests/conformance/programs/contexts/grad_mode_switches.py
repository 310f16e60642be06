"""set_grad_enabled and no_grad within a run, one in the other."""

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


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> List[bool]:
        log: List[bool] = []
        modes(self.weight, log)
        torch.set_grad_enabled(True)
        modes(self.weight, log)
        with torch.no_grad():
            modes(self.weight, log)
            torch.set_grad_enabled(True)
            modes(self.weight, log)
        modes(self.weight, log)
        with torch.no_grad():
            with torch.no_grad():
                modes(self.weight, log)
            modes(self.weight, log)
        modes(self.weight, log)
        torch.set_grad_enabled(False)
        modes(self.weight, log)
        return log


calls = [(torch.ones(2),)]
