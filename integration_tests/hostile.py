"""Models and messages that mean harm, for the tests and for attacks.py."""

from typing import Any, Dict, List

import torch
from torch import Tensor, nn

from integration_tests import server_models

MEBIBYTE = 1 << 20


class Hostile(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def ints(self, d: Dict[int, int]) -> int:
        return len(d)

    @torch.jit.export
    def texts(self, d: Dict[str, int]) -> int:
        return len(d)

    @torch.jit.export
    def total(self, numbers: List[int]) -> int:
        return len(numbers)

    @torch.jit.export
    def lists(self, d: Dict[str, List[int]]) -> Dict[str, List[int]]:
        return d


class OfInts(nn.Module):
    def forward(self, d: Dict[int, Tensor]) -> int:
        return len(d)


class Large(nn.Module):
    def forward(self, elements: int) -> Tensor:
        return torch.zeros(1).expand(elements)


class Zeros(nn.Module):
    def forward(self, elements: int) -> Tensor:
        return torch.zeros(elements)


class Empty(nn.Module):
    """A tensor whose memory nobody has touched."""

    def forward(self, elements: int) -> Tensor:
        return torch.empty(elements)


class Repeated(nn.Module):
    def forward(self, n: int) -> List[Tensor]:
        return [torch.zeros(1 << 20)] * n


class Doubled(nn.Module):
    """A list that holds the one before it twice, so many times: 2^n ways lead to the innermost."""

    def forward(self, n: int) -> Any:
        lists: List[Any] = []
        for _ in range(n):
            outer: List[Any] = [lists, lists]
            lists = outer
        return lists


class Forger(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.numel() > 0:
            raise ValueError(chr(27) + "[2J" + chr(10) + "2026-01-01T00:00:00.000+0000 E api: forged" + chr(255))
        return x


def models():
    """A repository for conftest.hearthd."""
    made = {"hostile": Hostile(), "of_ints": OfInts(), "large": Large(), "zeros": Zeros(), "repeated": Repeated(),
            "doubled": Doubled(), "forger": Forger(), "identity": server_models.Identity()}  # fmt: skip
    return {name: server_models.scripted(model) for name, model in made.items()}


# c10::Dict puts a number where its product with this has its first bits.
FACTOR = 11400714819323198485
COLLIDING = [n - (1 << 64) if n >= 1 << 63 else n
             for n in (pow(FACTOR, -1, 1 << 64) * i % (1 << 64) for i in range(1, 65))]  # fmt: skip


def empty_entries(field):
    """A ModelInferRequest of eight million empty entries of a repeated field."""
    return b"\x0a\x08identity" + bytes([field << 3 | 2, 0]) * (8 * MEBIBYTE)


def empty_texts():
    """A ModelInferRequest with an input of four million empty texts."""
    inner = b"\x42\x00" * (4 * MEBIBYTE)
    contents = b"\x2a" + _varint(len(inner)) + inner
    return b"\x0a\x08identity" + b"\x2a" + _varint(len(contents)) + contents


def empty_values():
    """A CallRequest with a list of seven million empty values."""
    inner = b"\x0a\x00" * (7 * MEBIBYTE)
    values = b"\x5a" + _varint(len(inner)) + inner
    return b"\x0a\x07hostile" + b"\x2a" + _varint(len(values)) + values


def _varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])
