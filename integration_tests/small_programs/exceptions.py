from typing import List, Optional

import torch
import torch.nn as nn

from . import call, program


class CustomError(Exception):
    pass


@program(call(1), call(2), call(3), call(4), call(5), call(0))
class Raises(nn.Module):
    def forward(self, n: int) -> int:
        if n == 1:
            raise ValueError("one is not allowed")
        elif n == 2:
            raise RuntimeError("two: {}".format(n))
        elif n == 3:
            raise NotImplementedError
        elif n == 4:
            raise CustomError("custom")
        elif n == 5:
            raise KeyError("line one\nline two")
        return n


@program(call(1), call(-1))
class Asserts(nn.Module):
    def forward(self, n: int) -> int:
        assert n > 0, "n must be positive, got " + str(n)
        return n


@program(call(torch.ones(2)), call(torch.zeros(2)))
class AssertsWithoutMessage(nn.Module):
    def forward(self, x: torch.Tensor):
        assert x.sum() > 0
        return x


@program(call(torch.ones(2), torch.ones(3)), call(torch.ones(2, 3), torch.ones(2, 3)))
class OperatorFails(nn.Module):
    def forward(self, a, b):
        return a @ b + (a + b)


@program(call(3), call(0))
class RaisesInAFunctionInALoop(nn.Module):
    def forward(self, n: int) -> int:
        total = 0
        for i in range(5):
            total += check(i, n)
        return total


def check(i: int, limit: int) -> int:
    if i > limit:
        raise IndexError("{} is over {}".format(i, limit))
    return i


@program(call(None), call(torch.ones(1)))
class UnwrapsNone(nn.Module):
    def forward(self, x: Optional[torch.Tensor]):
        return torch.jit._unwrap_optional(x) + 1


@program(call(torch.ones(3), 1), call(torch.ones(3), 5))
class IndexOutOfRange(nn.Module):
    def forward(self, x: torch.Tensor, i: int):
        return x[i]


@program(call("a"), call("1"))
class FailsInASubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Strict()

    def forward(self, text: str) -> int:
        return self.inner(text)


class Strict(nn.Module):
    def forward(self, text: str) -> int:
        if not text.isdigit():
            raise ValueError("not a number: '" + text + "'")
        return int(text)


@program(call(1), call("text"), call(), call(1, 2, 3), call([1]), call(1.5))
class WrongArguments(nn.Module):
    def forward(self, n: int) -> int:
        return n


@program(call([1, 2]), call([1.5]), call([]), call((1, 2)), call("ab"))
class WrongListElements(nn.Module):
    def forward(self, values: List[int]) -> int:
        return len(values)


@program(call(torch.ones(2)), call(torch.ones(2, dtype=torch.int64)))
class DtypeFails(nn.Module):
    def forward(self, x):
        return torch.nn.functional.linear(x, torch.ones(2, 2))


@program(call(torch.ones(2)))
class ViewFails(nn.Module):
    def forward(self, x):
        return x.view(3)


@program(call(5), call(-1))
class RaisesOnEveryPath(nn.Module):
    def forward(self, n: int) -> int:
        if n > 0:
            raise ValueError("positive")
        else:
            raise ValueError("negative")
