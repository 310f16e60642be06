"""A tensor that an operator puts into a container is seen there, with its strides: images that a convolution made lie as
they do in torch.jit."""

from typing import Dict, List

import torch
from torch import Tensor, nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.images = nn.Conv2d(8, 8, 3, padding=1)
        self.pixels = nn.Conv2d(8, 8, 1)

    def made(self, x: Tensor):
        images = self.images(x)
        return images.relu(), self.pixels(nn.functional.adaptive_avg_pool2d(images, 1))

    def forward(self, x: Tensor):
        found: Dict[str, Tensor] = {}
        found["images"], found["pixel"] = self.made(x)
        return found

    @torch.jit.export
    def in_lists(self, x: Tensor):
        inserted: List[Tensor] = []
        extended: List[Tensor] = []
        images, pixel = self.made(x)
        inserted.insert(0, images)
        inserted.insert(0, pixel)
        extended.extend([images, pixel])
        return inserted, extended


def _images():
    torch.manual_seed(1)
    return torch.randn(2, 8, 7, 9)


calls = [
    {"method": method, "args": (x,)}
    for method in ("forward", "in_lists")
    for x in (_images(), _images().contiguous(memory_format=torch.channels_last))
]
