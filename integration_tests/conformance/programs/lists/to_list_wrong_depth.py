"""tolist with a type that does not fit."""

from typing import List

import torch


def f(x: torch.Tensor):
    a: List[List[int]] = x.tolist()
    return a


def g(x: torch.Tensor):
    a: List[int] = x.tolist()
    return a


calls = {"f": [(torch.tensor([1, 2]),)], "g": [(torch.tensor([1.5]),), (torch.tensor([1, 2], dtype=torch.int32),)]}
