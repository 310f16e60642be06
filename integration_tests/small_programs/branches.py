from typing import List, Optional, Tuple, Union

import torch
import torch.nn as nn

from . import call, program


@program(call(3), call(-3), call(0))
class ElifChain(nn.Module):
    def forward(self, n: int) -> str:
        if n > 0:
            word = "positive"
        elif n < 0:
            word = "negative"
        else:
            word = "zero"
        return word


@program(call(True, 2), call(False, 2), call(True, 0))
class ShortCircuits(nn.Module):
    def forward(self, flag: bool, n: int):
        a = flag and 10 // n > 2
        b = flag or 10 // (n + 1) > 2
        return a, b, not a, (a or b) and flag


@program(call(torch.ones(3)), call(-torch.ones(3)))
class BranchOnTensor(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        return y


@program(call(None), call(4))
class OptionalRefined(nn.Module):
    def forward(self, n: Optional[int]) -> int:
        if n is None:
            return -1
        return n + 1


@program(call(torch.ones(2)), call(torch.ones(2), torch.ones(2)), call(torch.ones(2), other=torch.zeros(2)))
class OptionalTensorArgument(nn.Module):
    def forward(self, x: torch.Tensor, other: Optional[torch.Tensor] = None):
        if other is not None and other.sum() > 1:
            x = x + other
        return x, other


@program(call(1), call(2.5), call("abc"), call([1, 2]))
class UnionOfFour(nn.Module):
    def forward(self, x: Union[int, float, str, List[int]]) -> str:
        if isinstance(x, int):
            return "int " + str(x + 1)
        elif isinstance(x, float):
            return "float " + str(x / 2)
        elif isinstance(x, str):
            return "str " + x.upper()
        else:
            return "list " + str(len(x))


@program(call(1), call(5))
class EarlyReturns(nn.Module):
    def forward(self, n: int) -> Tuple[int, str]:
        if n < 3:
            if n == 1:
                return 1, "one"
            n = n * 10
        else:
            n = n + 1
            if n == 6:
                return n, "six"
        return n, "other"


@program(call(3), call(12))
class Ternary(nn.Module):
    def forward(self, n: int):
        a = "big" if n > 10 else "small"
        b = n if n % 2 == 0 else -n
        c: Optional[int] = n if n > 5 else None
        return a, b, c


@program(call([1, 2, 3], 2), call([1, 2, 3], 5))
class MembershipTests(nn.Module):
    def forward(self, values: List[int], n: int):
        return n in values, n not in values, "b" in "abc", "z" in {"z": 1}, 1 in {2: 3}


@program(call(5), call(0), call(15))
class ChainedComparison(nn.Module):
    def forward(self, n: int):
        return 0 < n < 10, 1 <= n <= 5 != 3


@program(call(True), call(False))
class DifferentTypesUnify(nn.Module):
    def forward(self, flag: bool):
        if flag:
            x: Optional[torch.Tensor] = torch.ones(2)
            pair = (1, "a")
        else:
            x = None
            pair = (2, "b")
        return x, pair


@program(call(True, torch.ones(2)), call(None, torch.ones(2)))
class OneValueIsTwoResults(nn.Module):
    def forward(self, flag: Optional[bool], y: torch.Tensor):
        if flag is not None:
            a, b = flag, flag
        else:
            a, b = False, flag
        if a:
            y = y + 1
        return y, a, b
