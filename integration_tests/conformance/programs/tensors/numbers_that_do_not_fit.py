"""LibTorch fills a tensor with no number that its dtype cannot hold, but with infinities; kernels must not either."""

import torch


def f(x: torch.Tensor, kind: int):
    if kind == 0:
        return torch.full_like(x, 1e30) + x
    if kind == 1:
        return x.masked_fill(x > 0, -70000.0) * 2
    if kind == 2:
        return torch.tanh(x).fill_(65520.0) - x
    if kind == 3:
        return x.new_full(x.size(), 1e39) * x
    return torch.full_like(x, -float("inf")) + x


torch.manual_seed(0)
calls = [(torch.randn(5, 33).to(dtype), kind) for dtype in (torch.float32, torch.float16, torch.bfloat16) for kind in range(5)]
