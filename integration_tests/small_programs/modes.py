"""What a run's answer depends on beside its arguments: gradients on or off, the random generator, a profiler's records.
Within a run it is as torch has it; a fork begins with its parent's mode and changes only its own."""

from typing import List, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from . import call, program


def modes(x: Tensor, log: List[bool]) -> Tensor:
    # Another product each time: torch.jit would take one that it has already, and with it the mode it was made in.
    y = x * (len(log) + 2)
    log.append(torch.is_grad_enabled())
    log.append(y.requires_grad)
    return y


@program(call(torch.ones(2)))
class SwitchesGradients(nn.Module):
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


@program(call())
class SwitchesInACallee(nn.Module):
    def __init__(self):
        super().__init__()
        self.switches = Switches()

    def forward(self) -> List[bool]:
        log = self.switches()
        log.append(torch.is_grad_enabled())
        torch.set_grad_enabled(False)
        return log


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


@program(call(1), call(50))
class ForksHaveModesOfTheirOwn(nn.Module):
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


@program(call(torch.ones(3, 4)))
class SeededNumbers(nn.Module):
    def forward(self, x: Tensor):
        torch.manual_seed(20)
        first = torch.rand(3)
        drawn = [
            torch.randn(2, 3),
            torch.randint(0, 100, (5,)),
            torch.randperm(7),
            torch.bernoulli(x * 0.5),
            torch.normal(x, x),
            torch.multinomial(torch.ones(9), 4),
            nn.functional.dropout(x, 0.5, True),
            torch.rand_like(x),
            x.clone().uniform_(-1.0, 1.0),
            x.clone().exponential_(),
        ]
        torch.manual_seed(20)
        return first, drawn, torch.rand(3)


def draws(n: int) -> Tensor:
    return torch.rand(n)


@program(call())
class SeededAcrossAFork(nn.Module):
    def forward(self):
        torch.manual_seed(3)
        a = torch.jit.wait(torch.jit.fork(draws, 4))
        b = torch.jit.wait(torch.jit.fork(draws, 4))
        return a, b, torch.rand(2)


@program(call(torch.ones(2)))
class RecordsForAProfiler(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.profiler.record_function("outer"):
            future = torch.jit.fork(draws, 3)
            y = x + 1
            with torch.profiler.record_function("inner"):
                z = torch.jit.wait(future)
        return y * float(z.numel())
