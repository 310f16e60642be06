"""Lists, dicts, strings, numbers."""

from typing import Dict, List, Optional

import torch
from torch import nn

from integration_tests.failing_programs.registry import program


@program([1, 2])
class ListIndex(nn.Module):
    def forward(self, xs: List[int]) -> int:
        return xs[2]


@program([1, 2])
class ListAssignment(nn.Module):
    def forward(self, xs: List[int]) -> List[int]:
        xs[-3] = 1
        return xs


@program([1, 2])
class ListPop(nn.Module):
    def forward(self, xs: List[int]) -> int:
        xs.pop()
        xs.pop()
        return xs.pop()


@program([1, 2])
class ListRemove(nn.Module):
    def forward(self, xs: List[int]) -> List[int]:
        xs.remove(7)
        return xs


@program([1, 2])
class ListIndexOf(nn.Module):
    def forward(self, xs: List[int]) -> int:
        return xs.index(7)


@program([1, 2], calls=[["forward"]])
class UnpacksTooMany(nn.Module):
    def forward(self, xs: List[int]) -> int:
        a, b, c = xs
        return a + b + c


@program({"a": 1})
class DictKey(nn.Module):
    def forward(self, d: Dict[str, int]) -> int:
        return d["b"]


@program({"a": 1})
class DictDelete(nn.Module):
    def forward(self, d: Dict[str, int]) -> Dict[str, int]:
        del d["b"]
        return d


@program({"a": 1})
class DictPop(nn.Module):
    def forward(self, d: Dict[str, int]) -> int:
        return d.pop("b")


@program("abc")
class StringIndex(nn.Module):
    def forward(self, s: str) -> str:
        return s[3]


@program("abc")
class StringToInt(nn.Module):
    def forward(self, s: str) -> int:
        return int(s)


@program("abc")
class StringToFloat(nn.Module):
    def forward(self, s: str) -> float:
        return float(s)


@program("abc")
class StringIndexOf(nn.Module):
    def forward(self, s: str) -> int:
        return s.index("z")


@program("abc")
class FormatOfTooFew(nn.Module):
    def forward(self, s: str) -> str:
        return "{} {}".format(s)


@program(0)
class FloorDivisionByZero(nn.Module):
    def forward(self, n: int) -> int:
        return 1 // n


@program(None)
class UnwrapsNone(nn.Module):
    def forward(self, x: Optional[int]) -> int:
        return torch.jit._unwrap_optional(x) + 1


@program(5.5)
class IsinstanceOfTheOther(nn.Module):
    def forward(self, x: float) -> int:
        y: Optional[int] = None
        if x > 10.0:
            y = 1
        assert isinstance(y, int)
        return y
