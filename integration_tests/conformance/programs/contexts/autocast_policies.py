"""Each operator's policy inside of autocast."""

import torch


def f(x: torch.Tensor, w: torch.Tensor):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = torch.nn.functional.linear(x, w)
        b = torch.softmax(a, 1)
        c = torch.sum(a)
        i = torch.log_softmax(a, 1)
        d = torch.mm(x, w)
        e = torch.cat([a, x])
        g = torch.pow(a, 2.0)
        h = a.to(torch.float64) + x
    return a, b, c, d, e, g, h, i


calls = [(torch.ones(2, 2), torch.eye(2))]
