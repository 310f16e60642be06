"""Failures in forks, and in forks of forks."""

import torch
from failing_programs.callers import Inner, checked, multiplied
from failing_programs.registry import program
from torch import Tensor, nn


def forked(x: Tensor) -> Tensor:
    return checked(x)


@program(torch.ones(3), calls=[["forward"], ["<forked function>", "forked", "checked"]])
class InAFork(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        future = torch.jit.fork(forked, x)
        y = x + 1
        return torch.jit.wait(future) + y


def forks_again(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(forked, x))


@program(torch.ones(3), calls=[["forward"], ["<forked function>", "forks_again"], ["<forked function>", "forked", "checked"]])
class InAForkOfAFork(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(forks_again, x))


def multiplies_in_a_fork(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(multiplied, x))


@program(torch.ones(3))
class OperatorInAForkOfAFork(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(multiplies_in_a_fork, x))


@program(torch.ones(3))
class OperatorInAFork(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor) -> Tensor:
        future = torch.jit.fork(self.inner, x)
        return torch.jit.wait(future)
