"""Unwrapping None raises."""

from typing import Optional

import torch


def f(x: Optional[int]):
    return torch.jit._unwrap_optional(x)


calls = [(3,), (None,)]
