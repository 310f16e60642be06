"""record_function does nothing to values."""

import torch


def f(x: torch.Tensor):
    with torch.autograd.profiler.record_function("name"):
        y = x + 1
    with torch.profiler.record_function("other"):
        y = y * 2
    return y


calls = [(torch.ones(2),)]
