"""What nobody reads, and yet may raise: LibTorch leaves out some of it and runs some of it."""

from typing import List

import torch
import torch.nn as nn

from . import call, program


class Holder:
    def __init__(self, items: List[int]):
        self.items = items


def ignores(text: str) -> int:
    return 5


def writes(items: List[str]) -> int:
    items[0] = "x"
    return 5


@program(call([1, 2]), call([1] * 8))
class TripCountOfALoopNobodyReads(nn.Module):
    def forward(self, a: List[int]):
        total = 0
        for _ in range(a[7]):
            total += 1
        return 1


@program(call([1, 2]), call([1] * 8))
class TripCountOfALoopThatIsLeft(nn.Module):
    def forward(self, a: List[int]):
        for _ in range(a[7]):
            break
        return 1


@program(call([1, 2]), call([1] * 8))
class TripCountOfAnEmptyLoop(nn.Module):
    def forward(self, a: List[int]):
        for _ in range(a[7]):
            pass
        return 1


@program(call([1, 2]), call([1] * 8))
class ConditionOfALoopNobodyReads(nn.Module):
    def forward(self, a: List[int]):
        i = 0
        while i < 3 and a[7] > 3:
            i += 1
        return 1


@program(call([1, 2]), call([1] * 8))
class CarriedValueNobodyReads(nn.Module):
    def forward(self, a: List[int]):
        total = 0
        for _ in range(2):
            if a[7] > 3:
                total += 1
        return 1


@program(call(["a"]), call(["a"] * 8))
class ArgumentThatAForkIgnores(nn.Module):
    def forward(self, a: List[str]):
        return torch.jit.wait(torch.jit.fork(ignores, a[5]))


@program(call(["a"]), call([]))
class WriteToACopyThatAForkIsGiven(nn.Module):
    def forward(self, a: List[str]):
        return torch.jit.wait(torch.jit.fork(writes, a.copy()))


@program(call([1]), call([]))
class WriteToWhatAnObjectHolds(nn.Module):
    def forward(self, a: List[int]):
        held = Holder(a.copy())
        held.items[0] = 3
        return 1


@program(call(0), call(2))
class WriteToWhatAListHolds(nn.Module):
    def forward(self, n: int):
        rows = [torch.zeros(3) for _ in range(n)]
        rows[0][1] = 4.0
        return 1


@program(call([1, 2]))
class ReadNobodyReads(nn.Module):
    def forward(self, a: List[int]):
        b = a[7]
        return 1


@program(call("ab", torch.tensor(False)), call("a", torch.tensor(False)), call("a", torch.tensor(True)))
class LoopWhoseConditionNeverChanges(nn.Module):
    def forward(self, text: str, again: torch.Tensor):
        if "a" in text[1]:
            while bool(again):
                pass
        return 1


@program(call(torch.ones(2)), call(torch.tensor([True, False])), call(torch.ones(2, dtype=torch.int64)))
class ToListOfAnotherType(nn.Module):
    def forward(self, x):
        numbers: List[int] = x.tolist()
        return numbers


@program(call([2**53 + 1, 5, 6]), call([2**31 - 1, 1]), call([]))
class SumOfInts(nn.Module):
    def forward(self, a: List[int]):
        return sum(a)
