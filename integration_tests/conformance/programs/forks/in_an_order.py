"""Objects are sorted by an __lt__ that forks and waits."""

from typing import List

import torch


def weight(k: int) -> int:
    if k == 13:
        raise ValueError("unlucky")
    return (k * 7) % 10


class P:
    def __init__(self, k: int):
        self.k = k

    def __lt__(self, other: "P") -> bool:
        mine = torch.jit.fork(weight, self.k)
        theirs = torch.jit.fork(weight, other.k)
        return torch.jit.wait(mine) < torch.jit.wait(theirs)


def f(ks: List[int]):
    ps = [P(k) for k in ks]
    return [p.k for p in sorted(ps)], P(ks[0]) < P(ks[1])


def in_place(ks: List[int]):
    ps = [P(k) for k in ks]
    ps.sort(reverse=True)
    return [p.k for p in ps]


def in_a_fork(ks: List[int]):
    future = torch.jit.fork(in_place, ks)
    return torch.jit.wait(future)


calls = {
    "f": [([1, 2, 3, 4, 5, 6],), ([5, 13, 1],)],
    "in_place": [([1, 2, 3, 4, 5, 6],)],
    "in_a_fork": [([6, 2, 9, 4],), ([13, 1],)],
}
