"""What is assigned where a name is None, and left where it is not, is not optional after the branch."""

from typing import Optional

import torch
from torch import Tensor


def number(s: Optional[int]) -> int:
    if s is None:
        s = 4
    return s + 1


def other_way_round(x: Optional[Tensor], s: Optional[str]) -> str:
    if x is not None:
        r = "given"
    else:
        x = torch.zeros([2])
        r = "made"
    if not (s is not None):
        s = "d"
    return r + s + str(x.dim())


def nested(x: Optional[Tensor], y: Optional[Tensor], z: Tensor) -> Tensor:
    if x is None:
        if y is None:
            x = z
        else:
            x = y
    return x + z


one = torch.ones(2)
calls = {
    "number": [(None,), (7,)],
    "other_way_round": [(None, None), (one, "q"), (one, None), (None, "d")],
    "nested": [(None, None, one), (None, one, one), (one, one, one)],
}
