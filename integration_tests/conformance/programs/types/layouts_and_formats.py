"""Layouts and memory formats."""

import torch


def f(x: torch.Tensor):
    y = x.contiguous(memory_format=torch.channels_last)
    return (
        x.layout == torch.strided,
        y.stride(),
        y.is_contiguous(),
        y.is_contiguous(memory_format=torch.channels_last),
        y.clone(memory_format=torch.preserve_format).stride(),
    )


calls = [(torch.ones(2, 3, 4, 5),)]
