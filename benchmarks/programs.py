"""The programs of the interpreter benchmark: each a module whose forward does one kind of work that is all interpreter."""

from typing import Dict, List

import torch
from torch import Tensor, nn


class ScalarLoop(nn.Module):
    """Integer and float arithmetic with a branch, and nothing else."""

    def forward(self, n: int) -> float:
        total = 0
        scale = 0.0
        for i in range(n):
            if i % 3 == 0:
                total += i * 2
            else:
                total -= 1
            scale = scale * 0.5 + float(total)
        return scale


class ListAndDict(nn.Module):
    """Appends, indexing, dictionary updates and string keys."""

    def forward(self, n: int) -> int:
        numbers: List[int] = []
        for i in range(n):
            numbers.append((i * 7919) % 1009)
        counts: Dict[int, int] = {}
        for number in numbers:
            counts[number] = counts.get(number, 0) + 1
        words: Dict[str, int] = {}
        for i in range(len(numbers)):
            key = "odd" if numbers[i] % 2 == 1 else "even"
            if key in words:
                words[key] += numbers[i]
            else:
                words[key] = numbers[i]
        return words["odd"] - words["even"] + len(counts)


class TensorChain(nn.Module):
    """A chain of operators on a tensor of one element: dispatch and interpretation, no arithmetic to speak of."""

    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            x = torch.relu(x * 0.5 + 1.0)
            x = (x - 0.25) / 1.5
        return x


class Leaf(nn.Module):
    def __init__(self, step: int):
        super().__init__()
        self.step = step

    def forward(self, x: int) -> int:
        return x + self.step


class Nest(nn.Module):
    def __init__(self, child: nn.Module):
        super().__init__()
        self.child = child
        self.factor = 3

    def forward(self, x: int) -> int:
        if x > 1000000:
            x = x % 1000
        return self.child(x * self.factor) - 1


class DeepSubmodules(nn.Module):
    """Calls through 48 modules inside one another."""

    def __init__(self):
        super().__init__()
        module: nn.Module = Leaf(5)
        for _ in range(48):
            module = Nest(module)
        self.child = module

    def forward(self, n: int) -> int:
        total = 0
        for i in range(n):
            total += self.child(i)
        return total


PROGRAMS = {
    "scalar_loop": (ScalarLoop, (100000,)),
    "list_and_dict": (ListAndDict, (20000,)),
    "tensor_chain": (TensorChain, (torch.ones(1), 1000)),
    "deep_submodules": (DeepSubmodules, (300,)),
}
