"""set_grad_enabled stays for what follows in the function."""

import torch


def f(x: torch.Tensor):
    torch.set_grad_enabled(True)
    y = x.detach().requires_grad_(True) * 2
    a = y.requires_grad
    torch.set_grad_enabled(False)
    z = y * 2
    return a, z.requires_grad


calls = [(torch.ones(2),)]
