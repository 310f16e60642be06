"""What looks behind tensors: at their storages, and where in these they begin."""

import torch


def f(x: torch.Tensor):
    y = torch.exp(x)
    z = torch.tanh(y)
    copy = x.clone()
    empty = torch.empty([0])
    empty.set_(z)
    return (
        torch.as_strided(y, [20], [1], 0) + torch.as_strided(z, [20], [1], 0),
        torch.as_strided_copy(z, [5, 5], [5, 1], 0),
        torch.as_strided_scatter(z, y[0], [20], [1], 0),
        y.storage_offset() + z.storage_offset(),
        torch.as_strided(copy, [5], [1], 0),
        copy.storage_offset(),
        copy.is_set_to(x),
        empty.sum(),
        y + z,
    )


calls = [(torch.arange(480.0).div(480).reshape(24, 20)[3:],), (torch.arange(400.0).div(400).reshape(20, 20),)]
