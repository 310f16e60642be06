"""str of a device, and of a tensor's dtype."""

import torch


def f(x: torch.Tensor):
    return str(x.device), "{}".format(x.device), str(x.dtype), str(x.shape)


calls = [(torch.ones(2),), (torch.ones(1, 2, dtype=torch.int32),)]
