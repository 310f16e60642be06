"""A fork begins with its parent's gradient mode and changes only its own."""

from typing import List, Tuple

import torch
import torch.nn as nn
from torch import Tensor


def modes(x: Tensor, log: List[bool]) -> Tensor:
    # Another product each time: torch.jit would take one that it has already, and with it the mode it was made in.
    y = x * (len(log) + 2)
    log.append(torch.is_grad_enabled())
    log.append(y.requires_grad)
    return y


def seen_in_a_fork(weight: Tensor, switch_to: bool) -> Tuple[bool, bool]:
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(switch_to)
    y = weight * 2
    return before, y.requires_grad


def waits_and_looks(weight: Tensor) -> List[bool]:
    torch.set_grad_enabled(True)
    inner = torch.jit.fork(seen_in_a_fork, weight, False)
    log: List[bool] = []
    log.extend(torch.jit.wait(inner))
    modes(weight, log)
    return log


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, n: int) -> List[bool]:
        log: List[bool] = []
        off = [torch.jit.fork(seen_in_a_fork, self.weight, True) for _ in range(n)]
        for future in off:
            log.extend(torch.jit.wait(future))
        modes(self.weight, log)
        torch.set_grad_enabled(True)
        on = [torch.jit.fork(seen_in_a_fork, self.weight, False) for _ in range(n)]
        for future in on:
            log.extend(torch.jit.wait(future))
            modes(self.weight, log)
        torch.set_grad_enabled(False)
        nested = [torch.jit.fork(waits_and_looks, self.weight) for _ in range(n)]
        for future in nested:
            log.extend(torch.jit.wait(future))
            modes(self.weight, log)
        return log


calls = [(1,), (50,)]
