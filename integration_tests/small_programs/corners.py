"""What archives contain seldom: each of these found its way here because it is easy to get wrong."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

from . import call, program


class Box(NamedTuple):
    a: int
    b: List[torch.Tensor]


@program(call(3), call(0))
class ShadowedNames(nn.Module):
    def forward(self, list_: int):
        torch_ = list_ + 1
        self_ = torch_ * 2
        range_ = [self_ for _ in range(2)]
        return torch_, self_, range_


@program(call(torch.ones(2), torch.zeros(2)))
class SwapsInALoop(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor):
        for _ in range(5):
            a, b = b, a + b
        x = [a, b]
        x[0], x[1] = x[1], x[0]
        return a, b, x


@program(call(4), call(0))
class NestedLoopsCarryOptional(nn.Module):
    def forward(self, n: int):
        best: Optional[int] = None
        where: Optional[Tuple[int, int]] = None
        for i in range(n):
            for j in range(n):
                score = (i * 7 + j * 3) % 5
                if best is None or score > best:
                    best = score
                    where = (i, j)
        return best, where


@program(call(torch.arange(3.0)), call(torch.zeros(0)))
class EmptyTensorReductions(nn.Module):
    def forward(self, x):
        return x.sum(), x.mean(), torch.cat([x, x]), x.numel() == 0


@program(call(torch.arange(6.0).reshape(2, 3)))
class OutVariants(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        torch.add(x, 1, out=y)
        z = torch.zeros(2)
        torch.sum(x, dim=1, out=z)
        return y, z


@program(call(torch.arange(4.0)))
class AliasesOfOutputs(nn.Module):
    def forward(self, x):
        y = x.view(2, 2)
        z = y[0]
        z.add_(10)
        return x, y, z, [x, y]


@program(call(torch.ones(2, 2)))
class ChainOfViewsWritten(nn.Module):
    def forward(self, x):
        x.t()[0].unsqueeze(0).squeeze()[1:].fill_(7)
        x.diagonal().mul_(3)
        x.expand(2, 2)[1, 1] += 1
        return x


@program(call(["b", "a"], {"z": [1], "y": []}))
class IteratesDictItemsAndMutates(nn.Module):
    def forward(self, names: List[str], d: Dict[str, List[int]]):
        for name in names:
            d[name] = [len(d)]
        for key, values in d.items():
            values.append(len(key))
        for key in list(d.keys()):
            if key > "y":
                del d[key]
        return d, names


@program(call(10))
class WhileWithEverything(nn.Module):
    def forward(self, n: int):
        i = 0
        out: List[str] = []
        while True:
            i += 1
            if i > n:
                break
            if i % 2 == 0:
                continue
            j = 0
            while j < i:
                j += 3
                if j == 6:
                    break
            else_ = "x" if j == 6 else "y"
            out.append(else_ + str(i))
        return out, i


@program(call(3), call(7))
class FunctionsAsConstants(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = F.relu

    def forward(self, n: int):
        x = torch.arange(n) - 2.0
        return self.activation(x), apply_twice(x)


def halve(x: torch.Tensor) -> torch.Tensor:
    return x / 2


def apply_twice(x: torch.Tensor) -> torch.Tensor:
    return halve(halve(x))


@program(call((1, [torch.ones(1)])), call((2, [])))
class TakesANamedTuple(nn.Module):
    def forward(self, box: Tuple[int, List[torch.Tensor]]) -> Box:
        return Box(box[0] + 1, box[1] + [torch.zeros(1)])


@program(call(torch.ones(1, 2)))
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2), persistent=False)
        self.register_buffer("none", None)
        self.steps = torch.tensor(0)

    def forward(self, x):
        self.seen.copy_(x[0])
        self.steps += 1
        return self.seen, self.none, self.steps


@program(call(2), call(-1))
class DefaultOfEveryKind(nn.Module):
    def forward(
        self,
        n: int,
        a: float = 1e-5,
        b: str = 'quo"te',
        c: Optional[int] = None,
        d: bool = True,
        e: Tuple[int, str] = (1, "z"),
        f: float = float("inf"),
    ):
        return n, a, b, c, d, e, f


@program(call([1.5, 2.5]), call([]))
class TensorOfList(nn.Module):
    def forward(self, values: List[float]):
        return torch.tensor(values), torch.tensor([values, values]), torch.tensor([len(values)])


@program(call(5), call(1))
class RecursiveByLoops(nn.Module):
    def forward(self, n: int):
        memo: Dict[int, int] = {0: 0, 1: 1}
        for i in range(2, n + 1):
            memo[i] = memo[i - 1] + memo[i - 2]
        return memo[n], memo


@program(call(torch.tensor([1, 2, 3])), call(torch.tensor(5)))
class TensorsAsConditionsAndIndices(nn.Module):
    def forward(self, x):
        n = 0
        if x.dim() > 0 and bool(x[0] == 1):
            n = int(x.sum())
        values = [10, 20, 30]
        return n, values[n % 3], x.dim() == 0 or n > 3


@program(call(torch.ones(2, 3)), call(torch.ones(3, 2)))
class ShapesAsTuples(nn.Module):
    def forward(self, x):
        h, w = x.shape
        if (h, w) == (2, 3):
            x = x.t()
        return x.shape == [3, 2], x.shape[-1], list(x.shape), (h, w)


@program(call(1), call("two"), call(None), call([1]))
class AnyThroughContainers(nn.Module):
    def forward(self, x: Any) -> Dict[str, Any]:
        return {"x": x, "n": 1, "l": [x]}


@program(call(torch.randn(1, 4, 6, 6, generator=torch.Generator().manual_seed(0))))
class GridAndNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.group = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
        self.prelu = nn.PReLU(4)

    def forward(self, x):
        x = self.prelu(self.instance(self.group(x)))
        theta = torch.eye(2, 3).unsqueeze(0)
        grid = F.affine_grid(theta, [1, 4, 3, 3], align_corners=False)
        return F.grid_sample(x, grid, align_corners=False), F.unfold(x, 2), F.pixel_shuffle(x, 2), F.normalize(x, dim=1)


@program(call(torch.tensor([[0.1, 0.9], [0.8, 0.2]]), torch.tensor([1, 0])))
class Losses(nn.Module):
    def forward(self, x, y):
        return (
            F.cross_entropy(x, y), F.nll_loss(F.log_softmax(x, 1), y), F.mse_loss(x, x + 1), F.l1_loss(x, -x),
            F.binary_cross_entropy_with_logits(x, (x > 0.5).float()), F.kl_div(x.log(), x, reduction="batchmean"),
            F.smooth_l1_loss(x, x * 3), F.one_hot(y, 3), F.cosine_similarity(x, x.flip(0)),
        )


@program(call(torch.arange(5.0), 2))
class SlicesWithVariables(nn.Module):
    def forward(self, x, n: int):
        start: Optional[int] = n
        return x[start:], x[:-n], x[-n:], x[n : n + 2], x[::n], x[None, :, None].shape, x[n], x[n:][0]


@program(call(3))
class TupleOfEverything(nn.Module):
    def forward(self, n: int):
        a = (n, (float(n), [str(n)]), {"k": (n, None)}, torch.full((1,), n), None, ())
        b, (c, d), e, f, _, _ = a
        return a, b, c, d, e, f


@program(call(4), call(5))
class Closures(nn.Module):
    def forward(self, n: int):
        out = [str(i) + ":" + str(j) for i, j in [(k, k * k) for k in range(n)]]
        mapped = {w: len(w) for w in out}
        return out, mapped, max([len(w) for w in out]), sorted(out)


@program(call(torch.ones(3)))
class DoesNothing(nn.Module):
    def forward(self, x):
        pass


@program(call(torch.ones(3)))
class OnlySideEffects(nn.Module):
    def forward(self, x: torch.Tensor) -> None:
        x.add_(1)


@program(call("a=1;b=2;;c"), call(""))
class ParsesText(nn.Module):
    def forward(self, text: str) -> Dict[str, Optional[int]]:
        out: Dict[str, Optional[int]] = {}
        for part in text.split(";"):
            if len(part) == 0:
                continue
            pieces = part.split("=")
            if len(pieces) == 2 and pieces[1].isdigit():
                out[pieces[0]] = int(pieces[1])
            else:
                out[part] = None
        return out


@program(call(5))
class LongStraightLine(nn.Module):
    def forward(self, n: int):
        x = torch.ones(2)
        a, b, c, d, e, f, g, h = n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
        y = x * a + b - c * d + e * f - g + h
        z = [a, b, c, d, e, f, g, h, a + b, b + c, c + d, d + e, e + f, f + g, g + h]
        return y, z, sum(z), [v * 2 for v in z]
