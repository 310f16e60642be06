"""Each of a tensor's methods that casts it: what is of that type already stays the same tensor."""

import torch


def f(x: torch.Tensor):
    return (
        x.byte(),
        x.char(),
        x.short(),
        x.int(),
        x.long(),
        x.half(),
        x.float(),
        x.double(),
        x.cfloat(),
        x.cdouble(),
    )


def chained(x: torch.Tensor):
    y = x.float()
    y += 1
    return y, x.long().double().sum().item(), (x > 1).int(), x.half().dtype


values = [torch.tensor([1.5, 2.5, 100.0]), torch.tensor([1.5], dtype=torch.float64), torch.tensor([True, False])]
calls = {"f": [(x,) for x in values], "chained": [(x,) for x in values]}
