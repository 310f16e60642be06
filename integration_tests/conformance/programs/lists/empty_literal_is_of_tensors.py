"""An empty list literal is a List[Tensor]."""

import torch


def f(x: torch.Tensor):
    l = []
    l.append(x)
    return l


calls = [(torch.ones(2),)]
