"""A traced function with sizes that became tensors."""

import torch


def net(x, y):
    z = x.reshape(x.size(0) * 2, -1) + y[0]
    return z.view(-1)[: x.size(1)], {"a": z}


def make():
    return torch.jit.trace(net, (torch.ones(2, 4), torch.ones(3)), strict=False)


calls = [(torch.arange(8.0).reshape(2, 4), torch.ones(3)), (torch.arange(16.0).reshape(4, 4), torch.ones(1))]
