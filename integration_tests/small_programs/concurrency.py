from typing import Dict, List

import torch
import torch.nn as nn

from . import call, program


def slow_sum(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = x + i
    return x


def may_fail(n: int) -> int:
    if n > 2:
        raise ValueError("fork failed at " + str(n))
    return n


@program(call(torch.ones(2), 5), call(torch.ones(2), 0))
class ForkAndWait(nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        a = torch.jit.fork(slow_sum, x, n)
        b = torch.jit.fork(slow_sum, x * 2, n)
        here = slow_sum(x, 2)
        return torch.jit.wait(a) + torch.jit.wait(b) + here


@program(call(torch.ones(2)))
class ManyForks(nn.Module):
    def forward(self, x: torch.Tensor) -> List[torch.Tensor]:
        futures: List[torch.jit.Future[torch.Tensor]] = []
        for i in range(20):
            futures.append(torch.jit.fork(slow_sum, x, i))
        return [torch.jit.wait(f) for f in futures]


@program(call(1), call(5))
class ForkThatRaises(nn.Module):
    def forward(self, n: int) -> int:
        f = torch.jit.fork(may_fail, n)
        return torch.jit.wait(f) + 1


@program(call(3))
class ForkInFork(nn.Module):
    def forward(self, depth: int) -> int:
        return nested(depth)


def nested(depth: int) -> int:
    f = torch.jit.fork(one_more, depth)
    return torch.jit.wait(f)


def one_more(depth: int) -> int:
    g = torch.jit.fork(plus_one, depth)
    return torch.jit.wait(g) + depth


def plus_one(n: int) -> int:
    return n + 1


@program(call(torch.ones(4)))
class ForksASubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        f = torch.jit.fork(self.a, x)
        g = torch.jit.fork(self.b, x)
        return torch.jit.wait(f) + torch.jit.wait(g)


@program(call(2))
class WaitsTwiceAndSharesContainers(nn.Module):
    def forward(self, n: int):
        shared: Dict[str, int] = {}
        f = torch.jit.fork(fill, shared, n)
        first = torch.jit.wait(f)
        second = torch.jit.wait(f)
        return first, second, shared


def fill(d: Dict[str, int], n: int) -> int:
    for i in range(n):
        d[str(i)] = i
    return len(d)
