"""An empty dict literal is a Dict[str, Tensor]."""

import torch


def f(x: torch.Tensor):
    d = {}
    d["a"] = x
    return d


calls = [(torch.ones(1),)]
