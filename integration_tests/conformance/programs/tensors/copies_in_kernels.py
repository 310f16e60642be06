"""Concatenation, padding, nearest neighbours and gates, followed by arithmetic that a kernel may read them in; a group norm of
groups long enough to be cut."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    joined = torch.relu(torch.cat([x, y, x], 1) * 2)
    padded = torch.relu(torch.constant_pad_nd(x, [1, 2, 0, 1], 0.5)) + 1
    larger = torch.relu(torch.ops.aten.upsample_nearest2d(x, None, [2.0, 2.0])) + 1
    gated = torch.ops.aten.glu(x, 1) + 1
    below = torch.relu(torch.cat([x, x], 2) - 1)
    normed = torch.ops.aten.silu(torch.group_norm(x + 3, 2))
    return joined, padded, larger, gated, below, normed


def images(dtype, layout, count, height, width):
    x, y = torch.randn(count, 16, height, width), torch.randn(count, 24, height, width)
    return tuple(value.to(dtype).contiguous(memory_format=layout) for value in (x, y))


torch.manual_seed(0)
calls = [images(dtype, layout, *sizes) for dtype in (torch.float32, torch.float16)
         for layout in (torch.contiguous_format, torch.channels_last) for sizes in ((2, 17, 19), (1, 40, 40))]
