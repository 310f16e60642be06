from typing import Dict, Final, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

from . import call, program


@program(call(torch.ones(2, 4)), call(torch.zeros(0, 4)))
class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3), nn.Softmax(dim=-1))

    def forward(self, x):
        return self.net(x)


@program(call(torch.ones(1)), call(torch.ones(1), method="peek"), call(3, method="add_many"))
class KeepsState(nn.Module):
    total: int

    def __init__(self):
        super().__init__()
        self.total = 5
        self.register_buffer("seen", torch.zeros(1))
        self.names: List[str] = ["start"]

    def forward(self, x: torch.Tensor):
        self.total += 1
        self.seen += x
        self.names.append("f")
        self.seen = self.seen * 2
        return self.total, self.seen, self.names

    @torch.jit.export
    def peek(self, x: torch.Tensor):
        return self.total, self.seen + x

    @torch.jit.export
    def add_many(self, n: int) -> int:
        for i in range(n):
            self.total += i
        return self.total


@program(
    call(1), call(1, b=5), call(a=2, b=3, c="x"), call(1, 2, "y", None), call(b=1), call(1, d=torch.ones(1)), call(1, e=1)
)
class DefaultsAndKeywords(nn.Module):
    def forward(self, a: int, b: int = 10, c: str = "c", d: Optional[torch.Tensor] = None):
        return a + b, c, d


@program(call(torch.ones(3)))
class Constants(nn.Module):
    factor: Final[float] = 2.5
    sizes: Final[List[int]] = [1, 2, 3]
    __constants__ = ["label"]

    def __init__(self):
        super().__init__()
        self.label = "const"
        self.pair: Final[Tuple[int, str]] = (4, "p")

    def forward(self, x):
        total = 0
        for s in self.sizes:
            total += s
        return x * self.factor, self.label, self.pair, total


def pre_hook(self, inputs: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (inputs[0] + 1,)


def post_hook(self, inputs: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output * 10 + inputs[0]


def quiet_pre_hook(self, inputs: Tuple[torch.Tensor]) -> None:
    inputs[0].mul_(3)


class Inner(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 0.5


def with_hooks(cls):
    module = cls()
    module.register_forward_pre_hook(pre_hook)
    module.register_forward_hook(post_hook)
    module.inner.register_forward_pre_hook(quiet_pre_hook)
    module.inner.register_forward_hook(post_hook)
    return torch.jit.script(module)


@program(call(torch.ones(2)), call(torch.ones(2), method="forward"), make=with_hooks)
class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * 2


@program(call(torch.ones(2, 3)), call(torch.ones(3, 3)))
class SharedSubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a
        self.c = nn.Linear(3, 3)
        self.c.weight = self.a.weight

    def forward(self, x):
        return self.a(x) + self.b(x) * 2 + self.c(x)


@program(call(torch.arange(8).reshape(2, 4) % 5))
class EmbeddingAndRecurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 6)
        self.lstm = nn.LSTM(6, 7, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRUCell(14, 3)

    def forward(self, tokens):
        x, (h, c) = self.lstm(self.embedding(tokens))
        return self.gru(x[:, -1]), h, c


@program(call(torch.ones(1, 3, 8, 8)))
class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding="same")
        self.norm = nn.BatchNorm2d(4)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.pool = nn.AdaptiveAvgPool2d((3, 5))

    def forward(self, x):
        x = F.hardswish(self.norm(self.conv(x)))
        x = F.interpolate(self.up(x), scale_factor=0.5, mode="bilinear", align_corners=False)
        return self.pool(F.max_pool2d(x, 2)), F.pad(x, (1, 1, 1, 1), "reflect").shape


@program(call(torch.ones(2, 5, 8)))
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        y, weights = self.attention(x, x, x)
        return self.norm(x + y), weights, F.scaled_dot_product_attention(x, x, x)


def train_mode(cls):
    return torch.jit.script(cls().train())


@program(call(torch.arange(6.0).reshape(3, 2)), make=train_mode)
class BatchNormThatLearns(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        y = self.norm(x)
        mean = self.norm.running_mean
        count = self.norm.num_batches_tracked
        assert mean is not None and count is not None
        return y, mean, count, self.training


@program(call(torch.ones(2)))
class ListsAndDictsAsAttributes(nn.Module):
    table: Dict[str, List[int]]
    maybe: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.table = {"a": [1, 2], "b": []}
        self.maybe = None
        self.weights = [torch.ones(2), torch.zeros(2)]
        self.pair = (1, torch.full((2,), 4.0))

    def forward(self, x):
        if self.maybe is None:
            self.maybe = x
        maybe = self.maybe
        assert maybe is not None
        self.table["b"].append(9)
        return maybe + self.weights[0] + self.pair[1], self.table


@program(call(torch.ones(2)))
class ParameterListAndDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.parameters_list = nn.ParameterList([nn.Parameter(torch.full((2,), float(i))) for i in range(3)])
        self.blocks = nn.ModuleDict({"one": nn.Linear(2, 2), "two": nn.Identity()})

    def forward(self, x):
        for p in self.parameters_list:
            x = x + p
        for name, block in self.blocks.items():
            x = block(x)
            if name == "one":
                x = x * 2
        return x


class TwoLinears(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def quantized():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.ao.quantization.quantize_dynamic(TwoLinears().eval(), {nn.Linear}, dtype=torch.qint8)
        return torch.jit.script(module)


@program(call(torch.ones(2, 3)), call(torch.arange(3.0).reshape(1, 3)))
def QuantizedLinear():
    return quantized()


@program(call(torch.ones(2, 2)))
class QuantizedTensors(nn.Module):
    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        return q.dequantize(), q.int_repr(), q.q_scale(), q.q_zero_point()


def traced():
    class Traced(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("mask", torch.tensor([1.0, 0.0, 1.0, 1.0]))

        def forward(self, x, y):
            n = x.shape[0]
            z = self.linear(x) * self.mask + y.mean() * n
            return {"z": z, "reshaped": z.reshape(n * 2, -1)}, (x.size(1) + z.sum(),)

    with torch.no_grad():
        return torch.jit.trace(Traced().eval(), (torch.ones(2, 4), torch.ones(3)), strict=False)


@program(call(torch.ones(2, 4), torch.ones(3)), call(torch.ones(5, 4), torch.ones(1)))
def TracedModule():
    return traced()


@program(call(torch.ones(2, 4)))
def FrozenModule():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    return torch.jit.freeze(torch.jit.script(module))


def double_it(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    for _ in range(times):
        x = x + x
    return x


@program(call(torch.ones(2), 3))
def FreeFunction():
    return torch.jit.script(double_it)


@program(call(torch.tensor([-1.0, 1.0])))
class CallsFreeFunctions(nn.Module):
    def forward(self, x):
        return double_it(x) + helper(x, k=3.0)[0]


def helper(x: torch.Tensor, k: float = 1.0) -> Tuple[torch.Tensor, float]:
    return inner_helper(x) * k, k


@torch.jit.script
def inner_helper(x: torch.Tensor):
    return x - 0.5


@program(call(torch.ones(2)), call(torch.ones(2), method="other"), call(torch.ones(2), method="missing"))
class ManyMethods(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.other(x) + self._private(x)

    @torch.jit.export
    def other(self, x):
        return self.linear(x)

    def _private(self, x):
        return x * 3

    @property
    def width(self) -> int:
        return self.linear.weight.shape[0]


@program(call(torch.ones(2)))
class PropertiesAndStatics(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 4

    @property
    def twice(self) -> int:
        return self.k * 2

    @staticmethod
    def plus(a: torch.Tensor, b: int) -> torch.Tensor:
        return a + b

    def forward(self, x):
        return self.plus(x, self.twice)


@program(call(torch.ones(2, 4)))
class WeightNormAndAliases(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("base", torch.arange(8.0).reshape(2, 4))
        self.register_buffer("view", self.base[:, ::2])
        self.register_buffer("transposed", self.base.t())

    def forward(self, x):
        self.base.add_(x)
        return self.view, self.transposed, self.base.stride(), self.transposed.stride()
