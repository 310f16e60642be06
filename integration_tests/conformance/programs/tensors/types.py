"""type() and to() with every sort of argument."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    return (
        x.to(torch.int64),
        x.to("cpu"),
        x.to(torch.device("cpu"), torch.float64),
        x.to(y),
        x.type(torch.int32),
        x.type_as(y),
        x.float(),
        x.int(),
        x.half(),
        x.double(),
        x.long(),
        x.to(x),
        x.cpu(),
    )


calls = [(torch.tensor([1.5, -2.5]), torch.tensor([1], dtype=torch.int16))]
