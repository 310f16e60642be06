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


class Kernels(nn.Module):
    """With a plan that has a fused kernel."""

    def forward(self, x: Tensor) -> Tensor:
        return (torch.sigmoid(x) * torch.tanh(x + 1)).relu() - x


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


class SlowToLoad(nn.Module):
    """Loads for longer than any test."""

    def __init__(self):
        super().__init__()
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def __getstate__(self) -> int:
        return 2_000_000_000_000

    @torch.jit.export
    def __setstate__(self, state: int) -> None:
        i = 0
        while i < state:
            i += 1
        self.training = i == 0


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


class Counter(nn.Module):
    """Counts its calls, and then works for as long as it is asked to."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, rounds: int) -> Tuple[Tensor, Tensor]:
        self.calls += 1
        calls = self.calls
        x = torch.zeros(1)
        for _ in range(rounds):
            x = x + 1
        return torch.full([1], calls), x


class Accumulator(nn.Module):
    """Works on its own buffer in place: what it found, what it left."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, dtype=torch.float64))

    def forward(self, rounds: int) -> Tuple[Tensor, Tensor]:
        before = self.total.clone()
        for _ in range(rounds):
            self.total += 1
        return before, self.total.clone()


class Scratch(nn.Module):
    """Keeps what it works on in an attribute, as a local variable."""

    def __init__(self):
        super().__init__()
        self.work = torch.zeros(1)

    def forward(self, x: float, rounds: int) -> Tensor:
        self.work = torch.full([1], x) * 2
        for _ in range(rounds):
            self.work = self.work + 1
        return self.work


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


TWO_CONFIG = """
platform: "pytorch_libtorch"
max_batch_size: 4
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "INPUT__1" data_type: TYPE_FP32 dims: [ 3 ] } ]
output [ { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "OUTPUT__1" data_type: TYPE_FP32 dims: [ 3 ] } ]
"""


def everyday():
    """A repository of one of each, as `hearthd` takes it."""
    made = {
        "identity": Identity(),
        "scaled": Scaled(),
        "nested": Nested(),
        "dict": OnlyDict(),
        "spin": Spin(),
        "raises": Raises(),
    }
    repository = {name: scripted(model) for name, model in made.items()}
    repository["two"] = (scripted(Two()), TWO_CONFIG)
    return repository
