"""Forks and waits whose order nobody can tell, and others whose order somebody can: what is raised first, printed, written,
or drawn."""

from typing import List, Optional, Tuple

import torch
from torch import Tensor


def tower(x: Tensor, n: int) -> Tensor:
    y = torch.mm(x, x)
    y.relu_()
    if n > 2:
        raise ValueError("too many")
    for i in range(n):
        y = y + torch.sin(y) * i
    return y


def needs_rank(x: Tensor, rank: int) -> Tensor:
    assert x.dim() == rank, "another rank"
    return x * 2


def waits_at_once(x: Tensor, n: int, rank: int):
    a = torch.jit.wait(torch.jit.fork(tower, x, n))
    b = needs_rank(torch.exp(x), rank)
    return torch.relu(a) + b


def forks_late(x: Tensor, n: int, rank: int):
    b = needs_rank(torch.exp(x), rank)
    f = torch.jit.fork(tower, x, n)
    c = torch.tanh(b)
    return c + torch.jit.wait(f)


def in_lists(x: Tensor, n: int, rank: int):
    futures: List[torch.jit.Future[Tensor]] = []
    for i in range(3):
        futures.append(torch.jit.fork(tower, x, n + i - 2))
    results: List[Tensor] = []
    for future in futures:
        results.append(torch.jit.wait(future))
    return results, needs_rank(x, rank)


def writes_after(x: Tensor, n: int, rank: int):
    f = torch.jit.fork(tower, x, n)
    own = torch.exp(x)
    a = torch.jit.wait(f)
    b = torch.jit.wait(f)
    own.add_(a)
    a.mul_(2)
    return own, b, needs_rank(own, rank), a is b


def writes_argument(x: Tensor, n: int, rank: int):
    own = needs_rank(torch.exp(x), rank)
    f = torch.jit.fork(tower, x, n)
    a = torch.jit.wait(f)
    x.add_(1)
    return own + a, torch.jit.wait(torch.jit.fork(tower, x, n))


def gives_argument(x: Tensor, n: int) -> Tensor:
    if n > 2:
        raise ValueError("too many")
    return x


def hands_on(x: Tensor, n: int, rank: int):
    a = torch.jit.wait(torch.jit.fork(gives_argument, x, n))
    b = needs_rank(torch.cos(x), rank)
    return a, a is x, b


def unneeded(x: Tensor, n: int, rank: int):
    f = torch.jit.fork(tower, x, n)
    g = torch.jit.fork(tower, x, 1)
    torch.jit.wait(f)
    return needs_rank(x, rank)


def in_a_branch(x: Tensor, n: int, rank: int):
    a = torch.jit.wait(torch.jit.fork(tower, x, n))
    b = torch.exp(x)
    if rank == 2:
        return a + b
    return b


def draw(x: Tensor) -> Tensor:
    return torch.rand_like(x)


def draws(x: Tensor, n: int, rank: int):
    a = torch.jit.wait(torch.jit.fork(draw, x))
    b = torch.rand_like(x)
    return a, needs_rank(b, rank)


def inner(x: Tensor, n: int) -> Tuple[Tensor, Optional[int]]:
    f = torch.jit.fork(tower, x, n)
    y = torch.cos(x)
    return y + torch.jit.wait(f), n if n > 0 else None


def nested(x: Tensor, n: int, rank: int):
    f = torch.jit.fork(inner, x, n)
    z = needs_rank(torch.sin(x), rank)
    a, b = torch.jit.wait(f)
    if b is None:
        return a, z
    return a * b, z


CALLS = [(torch.arange(4.0).view(2, 2) / 4, n, rank) for n in (0, 2, 3) for rank in (2, 3)]
# torch.jit may crash where a fork within a fork raises, or a run ends before one.
QUIET = [args for args in CALLS if args[1] < 3 and args[2] == 2]
SEEDED = [{"args": args, "seed": 5} for args in CALLS]
calls = {
    "waits_at_once": CALLS, "forks_late": CALLS, "in_lists": CALLS, "writes_after": CALLS, "writes_argument": CALLS,
    "hands_on": CALLS, "unneeded": CALLS, "in_a_branch": CALLS, "draws": SEEDED, "nested": QUIET,
}
