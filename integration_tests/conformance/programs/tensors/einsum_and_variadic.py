"""Operators that take any number of arguments."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    return (
        torch.einsum("ij,jk->ik", x, y),
        torch.einsum("ij,ij->", [x, y]),
        torch.meshgrid([x[0], y[0]]),
        torch.broadcast_tensors(x, y),
        x.permute(1, 0),
        x.permute([1, 0]),
        x.view(4),
        x.view([2, 2]),
        x.repeat(2, 1),
        x.expand(2, 2, 2),
    )


calls = [(torch.ones(2, 2), torch.arange(4.0).reshape(2, 2))]
