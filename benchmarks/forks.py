"""Programs that fork, for `models.py --models`: a layer or two beside another, in the orders in which people write them."""

from typing import List

import torch
from torch import Tensor, nn


class Tower(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Towers(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first = Tower(width)
        self.second = Tower(width)


class WaitAtOnce(Towers):
    """Waits for the one before it begins with the other."""

    def forward(self, x: Tensor) -> Tensor:
        a = torch.jit.wait(torch.jit.fork(self.first, x))
        return a + self.second(x)


class ForkLate(Towers):
    """Forks the one when it has done the other."""

    def forward(self, x: Tensor) -> Tensor:
        a = self.first(x)
        b = torch.jit.fork(self.second, x)
        return a + torch.jit.wait(b)


class Beside(Towers):
    """Forks the one, does the other, waits: nothing to gain."""

    def forward(self, x: Tensor) -> Tensor:
        b = torch.jit.fork(self.second, x)
        return self.first(x) + torch.jit.wait(b)


class All(Towers):
    """Forks both and waits for both."""

    def forward(self, x: Tensor) -> Tensor:
        futures: List[torch.jit.Future[Tensor]] = []
        futures.append(torch.jit.fork(self.first, x))
        futures.append(torch.jit.fork(self.second, x))
        return torch.jit.wait(futures[0]) + torch.jit.wait(futures[1])


class InARow(Towers):
    """Eight times, each needing the one before: nothing can run beside."""

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(4):
            x = torch.jit.wait(torch.jit.fork(self.first, x))
            x = torch.jit.wait(torch.jit.fork(self.second, x))
        return x


# By name, what gives (module, inputs).
FORKS = {
    "wait_at_once": lambda: (WaitAtOnce(512), (torch.randn(64, 512),)),
    "fork_late": lambda: (ForkLate(512), (torch.randn(64, 512),)),
    "fork_beside": lambda: (Beside(512), (torch.randn(64, 512),)),
    "fork_all": lambda: (All(512), (torch.randn(64, 512),)),
    # Of about ten microseconds, which is less than it takes to wake a thread.
    "short_beside": lambda: (Beside(64), (torch.randn(8, 64),)),
    "short_all": lambda: (All(64), (torch.randn(8, 64),)),
    "forks_in_a_row": lambda: (InARow(32), (torch.randn(4, 32),)),
}
