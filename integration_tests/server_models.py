"""Small scripted models for the server's tests."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn


class Identity(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Scaled(nn.Module):
    """Defaults and an Optional."""

    def forward(self, x: Tensor, scale: float = 2.0, bias: Optional[Tensor] = None, times: int = 1) -> Tensor:
        for _ in range(times):
            x = x * scale
        if bias is not None:
            x = x + bias
        return x


class Boxes(NamedTuple):
    boxes: Tensor
    label: str


class Nested(nn.Module):
    """Every container in and out."""

    def forward(
        self, images: List[Tensor], pair: Tuple[int, Tensor], options: Dict[str, Tensor], names: List[str]
    ) -> Tuple[List[Dict[str, Tensor]], Boxes, Optional[Tensor], List[int], List[str], bool]:
        detections: List[Dict[str, Tensor]] = []
        for image in images:
            detections.append({"boxes": image + pair[0], "sum": image.sum()})
        total = pair[1]
        for key, value in options.items():
            total = total + value
        upper: List[str] = []
        for name in names:
            upper.append(name + "!")
        sizes: List[int] = []
        for image in images:
            sizes.append(image.numel())
        return detections, Boxes(total, "sum"), None, sizes, upper, len(names) > 1


class OnlyDict(nn.Module):
    def forward(self, d: Dict[str, Tensor]) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for key, value in d.items():
            out[key + "_doubled"] = value * 2
        return out


class Two(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tuple[Tensor, Tensor]:
        return a + b, a - b


class Spin(nn.Module):
    """Runs for as long as it is asked to."""

    def forward(self, x: Tensor, rounds: int) -> Tensor:
        for _ in range(rounds):
            x = x + 1
        return x


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.numel() > 1:
            raise ValueError("one element is enough")
        return torch.matmul(x, torch.ones(2, 3))


class Constant(nn.Module):
    """Its answer is its own weight, which the next call changes in place."""

    def __init__(self, value: float):
        super().__init__()
        self.register_buffer("value", torch.full((2**18,), value))

    def forward(self, add: float) -> Tensor:
        self.value += add
        return self.value


def constant(value):
    """A model that always answers `value`, whatever version of it asks."""

    class Answer(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 0 + self.value

        def __init__(self):
            super().__init__()
            self.value = float(value)

    return torch.jit.script(Answer())


def scripted(module):
    return torch.jit.script(module)
