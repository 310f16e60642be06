"""Named tuples in named tuples, with tensors and optionals."""

from typing import List, NamedTuple, Optional

import torch


class In(NamedTuple):
    t: torch.Tensor
    o: Optional[int]


class Out(NamedTuple):
    a: In
    b: List[In]


def f(x: torch.Tensor):
    i = In(x, None)
    o = Out(i, [i, In(x + 1, 3)])
    return o.b[1].o, o.a.t, o


calls = [(torch.ones(2),)]
