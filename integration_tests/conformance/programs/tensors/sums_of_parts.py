"""Sums and means over a dimension of a few elements: of stacks, of views, and of products of these with weights. The linear
layer changes no number, and nobody sees in which order in memory it was given them."""

import torch


def seen(x: torch.Tensor, identity: torch.Tensor):
    return torch.nn.functional.linear(torch.relu(x), identity)


def f(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, identity: torch.Tensor):
    stacked = torch.stack([x, y], dim=1)
    both = seen(stacked.sum(1), identity)
    weighed = seen((stacked * w).sum(1), identity)
    scaled = seen((w * stacked).mean(1, keepdim=True), identity)
    parts = x.reshape(x.size(0), 2, x.size(1) // 2, x.size(2), x.size(3))
    halves = seen(parts.sum(-4), identity)
    total = seen((parts * w[:, :, : parts.size(2)]).sum(1, keepdim=True), identity)
    thirds = seen(torch.stack([x, y, x * 3], 0).sum(0), identity)
    mean = seen(torch.stack([x, y, x * 3], 0).mean(0), identity)
    channels = seen((torch.stack([x, y, y, x], 2) * w[0, 0, 0]).mean(2), identity)
    wide = stacked.sum(1, dtype=torch.float64)
    return both, weighed, scaled, halves, total, thirds, mean, channels, wide


def of(dtype, layout, count, height, width):
    x, y, w = torch.randn(count, 16, height, width), torch.randn(count, 16, height, width), torch.rand(count, 2, 16, 1, 1)
    x, y = (value.contiguous(memory_format=layout) for value in (x * 4, y * 3))
    return tuple(value.to(dtype) for value in (x, y, w, torch.eye(width)))


torch.manual_seed(0)
calls = [of(dtype, layout, *sizes) for dtype in (torch.float32, torch.float16, torch.bfloat16)
         for layout in (torch.contiguous_format, torch.channels_last) for sizes in ((2, 17, 19), (1, 40, 40), (2, 2, 3))]
# The sum of two is too large for half precision, their mean is not.
large = torch.full((2, 16, 17, 19), 60000, dtype=torch.float16)
calls.append((large, large, torch.ones(2, 2, 16, 1, 1, dtype=torch.float16), torch.eye(19, dtype=torch.float16)))
