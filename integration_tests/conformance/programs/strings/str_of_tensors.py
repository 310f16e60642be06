"""str of tensors."""

import torch


def f(x: torch.Tensor):
    return str(x), "{}".format(x)


calls = [
    (torch.ones(2),),
    (torch.tensor(3),),
    (torch.zeros(0),),
    (torch.tensor([[1, 2], [3, 4]]),),
    (torch.tensor([True]),),
]
