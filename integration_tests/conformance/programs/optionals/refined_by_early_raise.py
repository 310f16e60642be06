"""A branch that raises narrows what follows."""

from typing import Optional

import torch


def f(x: Optional[torch.Tensor]):
    if x is None:
        raise ValueError("no tensor")
    return x + 1


calls = [(torch.ones(2),), (None,)]
