"""The same operator as a method and as a function, with keywords."""

import torch


def f(x: torch.Tensor):
    return (
        x.sum(dim=0),
        torch.sum(x, dim=[0]),
        torch.sum(input=x, dim=0, keepdim=True),
        x.add(1, alpha=2),
        torch.add(x, x, alpha=3),
        x.mean(),
        x.std(unbiased=False),
    )


calls = [(torch.arange(6.0).reshape(2, 3),)]
