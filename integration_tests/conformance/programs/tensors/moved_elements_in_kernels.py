"""Copies of elements that a kernel may read where they come from: padding with what is there, mirrors, repetition, shuffles of
channels, triangles of masks, differences of neighbours, slices that are written; each followed by arithmetic."""

import torch


def upscaled(x: torch.Tensor):
    """Super-resolution's last layers, and what undoes them."""
    large = torch.clamp(torch.pixel_shuffle(x, 2) * 255, 0, 255)
    small = torch.relu(torch.pixel_unshuffle(large, 4) - 3)
    shuffled = torch.relu(torch.channel_shuffle(x, 4)) + 1
    return large, small, shuffled


def augmented(x: torch.Tensor):
    """The mean over an image and its mirror images."""
    return (x + torch.flip(x, [3]) + torch.flip(x, [2, -1]) + torch.flipud(x)) / 4, torch.fliplr(x) * 2


def features(wave: torch.Tensor):
    """Of sound: differences over time, and windows at the ends of which it is reflected."""
    padded = torch.ops.aten.pad(wave, [20, 23], "reflect") * 0.5
    smooth = torch.avg_pool1d(torch.ops.aten.replication_pad1d(wave, [2, 2]) - 1, [5], [1])
    circular = torch.tanh(torch.ops.aten.pad(wave, [3, 3], "circular"))
    deltas = torch.relu(torch.diff(wave, dim=-1)) + torch.diff(torch.diff(wave), dim=-1, append=wave[..., :1])
    return padded, smooth, circular, deltas


def scores(x: torch.Tensor):
    """Causal and banded, of keys that several queries share."""
    shared = torch.repeat_interleave(x, 2, dim=1) * 0.125
    tiled = torch.tile(x[:, :1], [1, 3, 1, 1]) + x.repeat(1, 3, 1, 1)[:, :3]
    causal = torch.softmax(torch.tril(x) + torch.triu(x, 1) * -1e4, -1)
    band = torch.triu(torch.tril(x, 2), -2) - x
    return shared, tiled, causal, band


def written(x: torch.Tensor, y: torch.Tensor):
    """Half of the channels shifted in place, as video models shift them."""
    z = torch.relu(x)
    z[:, 2:6] = y[:, 2:6]
    z[:, ::3] = 0.25
    return torch.sigmoid(z) * x


def resampled(x: torch.Tensor):
    edges = torch.relu(torch.ops.aten.reflection_pad2d(x, [1, 2, 3, 0])) + torch.relu(torch.ops.aten.pad(x, [0, 3, 1, 2], "replicate"))
    near = torch.ops.aten._upsample_nearest_exact2d(x, None, [2.0, 3.0]) * 2 - 1
    joined = torch.relu(torch.hstack([x, x * 2])) + torch.column_stack([x, x])
    return edges, near, joined, torch.vstack([x, x]) - torch.concat([x, x])


def f(x: torch.Tensor, y: torch.Tensor):
    wave = x.flatten(1, 2)
    return upscaled(x), augmented(x), features(wave), scores(x), written(x, y), resampled(x)


def images(dtype, layout, count, height, width):
    x, y = torch.randn(2, count, 16, height, width)
    return tuple(value.to(dtype).contiguous(memory_format=layout) for value in (x, y))


torch.manual_seed(0)
calls = [images(dtype, layout, *sizes) for dtype in (torch.float32, torch.float16, torch.bfloat16)
         for layout in (torch.contiguous_format, torch.channels_last) for sizes in ((2, 18, 24), (1, 40, 40))]
