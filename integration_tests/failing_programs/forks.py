"""Failures in forks, and in forks of forks."""

from typing import Tuple

import torch
from torch import Tensor, nn
from torch.jit import Future

from integration_tests.failing_programs.callers import Inner, checked, multiplied
from integration_tests.failing_programs.registry import program


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


class ForksItsChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def started(self, x: Tensor) -> Future[Tensor]:
        return torch.jit.fork(self.inner, x)

    def forward(self, x: Tensor) -> Tensor:
        future = self.started(x + 1)
        return torch.jit.wait(future) * 2


@program(torch.ones(3))
class OperatorThreeForksDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = ForksItsChild()

    def forked(self, x: Tensor) -> Tensor:
        futures = [torch.jit.fork(self.child, x + i) for i in range(2)]
        return torch.jit.wait(futures[1])

    def forward(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(self.forked, x))


def waits(future: Future[Tensor]) -> Tensor:
    y = torch.jit.wait(future)
    return y + 1


@program(torch.ones(3))
class WaitedForInAnotherFork(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        future = torch.jit.fork(multiplied, x)
        return torch.jit.wait(torch.jit.fork(waits, future))


@torch.jit.script
class Ordered:
    def __init__(self, x: Tensor):
        self.x = x

    def __lt__(self, other: "Ordered") -> bool:
        product = torch.jit.wait(torch.jit.fork(multiplied, self.x))
        return bool(product.sum() < other.x.sum())


@program(torch.ones(3))
class OperatorInTheForkOfAnOrder(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return sorted([Ordered(x), Ordered(x + 1)])[0].x


def hook_that_forks(self, input: Tuple[Tensor], output: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(multiplied, output))


class HookedByAFork(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(hook_that_forks)

    def forward(self, x: Tensor) -> Tensor:
        return x * 2


@program(torch.ones(3), calls=[["forward", "hook_that_forks"], ["<forked function>", "multiplied"]])
class OperatorInTheForkOfAHook(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = HookedByAFork()

    def forward(self, x: Tensor) -> Tensor:
        return self.child(x)
