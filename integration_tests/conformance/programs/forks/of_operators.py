"""A fork of a function that calls builtins, with grad mode as it is outside."""

import torch


def g() -> bool:
    return torch.is_grad_enabled()


def f():
    with torch.no_grad():
        a = torch.jit.fork(g)
        r = torch.jit.wait(a)
    return r


calls = {"f": [()]}
