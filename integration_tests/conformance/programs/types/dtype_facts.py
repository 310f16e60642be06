"""What a dtype is."""

import torch


def f(x: torch.Tensor):
    return (
        x.is_floating_point(),
        x.is_complex(),
        x.is_signed(),
        x.element_size(),
        torch.is_tensor(x),
        x.itemsize,
        x.nbytes,
    )


calls = [
    (torch.ones(1),),
    (torch.ones(1, dtype=torch.int8),),
    (torch.ones(1, dtype=torch.complex64),),
    (torch.ones(1, dtype=torch.uint8),),
]
