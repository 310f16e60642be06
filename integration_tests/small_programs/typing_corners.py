from typing import Any, Dict, List, Optional, Tuple, Union

import torch
import torch.nn as nn

from . import call, program


@program(call(1), call("a"), call(torch.ones(1)), call([1, 2]), call(None))
class TakesAny(nn.Module):
    def forward(self, x: Any):
        if isinstance(x, int):
            return "int", x + 1
        if isinstance(x, str):
            return x, 0
        if isinstance(x, torch.Tensor):
            return "tensor", int(x.sum())
        return "other", -1


@program(call(3), call(2.5))
class NumberScalar(nn.Module):
    def forward(self, x: Union[int, float]):
        y = torch.ones(2)
        if isinstance(x, float):
            return y * x
        return y + x


@program(call(torch.ones(2)), call([torch.ones(2), torch.ones(1)]))
class TensorOrList(nn.Module):
    def forward(self, x: Union[torch.Tensor, List[torch.Tensor]]):
        if isinstance(x, torch.Tensor):
            return x + 1
        total = torch.zeros(1)
        for t in x:
            total = total + t.sum()
        return total


@program(call({"a": (1, torch.ones(1))}), call({}))
class DeepArgument(nn.Module):
    def forward(self, d: Dict[str, Tuple[int, torch.Tensor]]) -> List[Tuple[str, torch.Tensor]]:
        out: List[Tuple[str, torch.Tensor]] = []
        for key, (n, x) in d.items():
            out.append((key + str(n), x + n))
        return out


@program(call(1), call(1.0))
class IntWhereFloatIsDeclared(nn.Module):
    def forward(self, x: float) -> float:
        return x / 2


@program(call([1, 2]), call([1.5, 2]))
class IntsWhereFloatsAreDeclared(nn.Module):
    def forward(self, xs: List[float]) -> float:
        return sum(xs)


@program(call((2, 3)), call([2, 3]), call(4))
class BroadcastingLists(nn.Module):
    def forward(self, size: Any):
        pool = torch.nn.functional.avg_pool2d(torch.ones(1, 1, 4, 4), 2)
        other = torch.nn.functional.avg_pool2d(torch.ones(1, 1, 4, 4), [2, 1], stride=1)
        return pool, other, torch.ones(2, 2).repeat(2, 1).shape


@program(call(torch.ones(2)))
class TypeTests(nn.Module):
    def forward(self, x):
        a: Any = 3
        b: Optional[int] = None if x.sum() > 100 else 5
        return isinstance(a, int), isinstance(a, (str, float)), isinstance(b, int), torch.jit.isinstance(a, int)


@program(call([(1, "a"), (2, "b")]), call([]))
class UnpacksInLoops(nn.Module):
    def forward(self, pairs: List[Tuple[int, str]]) -> str:
        out = ""
        for n, word in pairs:
            out += word + str(n)
        return out


@program(call(torch.device("cpu")))
class DeviceArgument(nn.Module):
    def forward(self, device: torch.device):
        return torch.zeros(1, device=device), str(device), device.type, device.index


@program(call(torch.float64), call(6))
class DtypeArgument(nn.Module):
    def forward(self, dtype: torch.dtype):
        return torch.zeros(1, dtype=dtype)


@program(call(1))
class Infinities(nn.Module):
    def forward(self, n: int):
        return n, float("inf"), -float("inf")


@program(call(1e10), call(123456789012.0))
class WholeFloats(nn.Module):
    def forward(self, x: float):
        return x * 1e16, x + 3.0, 1e17, 0.1, 1e-7, -0.0, 100000.0
