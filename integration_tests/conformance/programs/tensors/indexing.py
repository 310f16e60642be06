"""Indexing of every kind."""

import torch


def f(x: torch.Tensor, i: torch.Tensor, m: torch.Tensor):
    return (
        x[0],
        x[-1],
        x[1:3],
        x[:, 1],
        x[..., 0],
        x[None],
        x[:, None, 1:],
        x[i],
        x[m],
        x[i, 0],
        x[0, i],
        x[:, i],
        x[1:, ::2],
        x[[0, 2]],
    )


calls = [(torch.arange(12.0).reshape(3, 4), torch.tensor([2, 0]), torch.tensor([True, False, True]))]
