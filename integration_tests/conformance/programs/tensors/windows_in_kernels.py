"""Pooling and bilinear resampling, which are kernels on a GPU, with and without arithmetic that follows; what is joined from
channels that vectors fit into."""

import torch


def f(x: torch.Tensor, y: torch.Tensor):
    largest = torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])
    rounded_up = torch.relu(torch.max_pool2d(x, [2, 3], [2, 2], [0, 1], [1, 1], True)) + 1
    mean = torch.ops.aten.avg_pool2d(x, [3, 3], [1, 1], [1, 1])
    without_padding = torch.ops.aten.avg_pool2d(x, [2, 2], [2, 2], [0, 0], True, False) * 2
    divided = torch.ops.aten.avg_pool2d(y, [3, 2], [2, 1], [1, 1], False, True, 5)
    larger = torch.ops.aten.upsample_bilinear2d(x, [33, 20], False)
    aligned = torch.relu(torch.ops.aten.upsample_bilinear2d(x, [9, 51], True))
    by_factor = torch.ops.aten.upsample_bilinear2d(y, None, False, [2.0, 1.5])
    joined = torch.relu(torch.cat([x, y, x, y, y, x], 1) * 2)
    return largest, rounded_up, mean, without_padding, divided, larger, aligned, by_factor, joined


def images(dtype, layout, count, height, width):
    x, y = torch.randn(count, 16, height, width), torch.randn(count, 24, height, width)
    return tuple(value.to(dtype).contiguous(memory_format=layout) for value in (x, y))


torch.manual_seed(0)
calls = [images(dtype, layout, *sizes) for dtype in (torch.float32, torch.float16)
         for layout in (torch.contiguous_format, torch.channels_last) for sizes in ((2, 17, 19), (1, 40, 40))]
