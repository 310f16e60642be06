"""in and not in of lists."""

from typing import List

import torch


def f(a: List[int], x: int):
    return x in a, x not in a


def g(a: List[str], x: str):
    return x in a


def h(a: List[torch.Tensor], x: torch.Tensor):
    return x in a


calls = {
    "f": [([1, 2], 2), ([], 0)],
    "g": [(["a"], "a"), (["ab"], "a")],
    "h": [([torch.tensor(1), torch.tensor(2)], torch.tensor(2)), ([torch.tensor(1)], torch.tensor(5))],
}
