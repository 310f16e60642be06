"""no_grad nested, and grad mode inside."""

import torch


def f(x: torch.Tensor):
    a = torch.is_grad_enabled()
    with torch.no_grad():
        b = torch.is_grad_enabled()
        with torch.no_grad():
            c = torch.is_grad_enabled()
        d = torch.is_grad_enabled()
    return a, b, c, d, torch.is_grad_enabled()


calls = [(torch.ones(1),)]
