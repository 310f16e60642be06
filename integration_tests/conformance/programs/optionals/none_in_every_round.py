"""What a loop carries as an Optional is None in every round."""

from typing import Optional

import torch
from torch import Tensor


def f(x: Tensor, rounds: int, scaled: bool):
    scale: Optional[float] = None
    for i in range(rounds):
        if scaled and scale is not None:
            x = x * scale
        elif scale is None:
            x = x + i
            scale = None
        else:
            return x * scale
    return x if scale is None else x * scale


calls = [(torch.ones(2), 3, True), (torch.ones(2), 1, False), (torch.ones(2), 0, True)]
