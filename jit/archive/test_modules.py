"""Modules whose archives hold each kind of thing that an archive can hold."""

import enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 3))

    def forward(self, x):
        y = torch.nn.functional.linear(x, self.weight)
        return y.relu()


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: torch.Tensor
    n: int


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start
        self.seen: List[str] = []

    def add(self, name: str):
        self.count += 1
        self.seen.append(name)


class Attributes(torch.nn.Module):
    ints: List[int]
    optional: List[Optional[int]]
    table: Dict[str, List[torch.Tensor]]
    by_number: Dict[int, Tuple[str, float]]
    anything: Any
    maybe: Optional[Tuple[int, List[str]]]

    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.arange(4, dtype=torch.int64))
        self.ints = [1, 2, 3]
        self.optional = [1, None]
        self.table = {"a": [torch.ones(2), torch.zeros(1, dtype=torch.half)], "empty": []}
        self.by_number = {3: ("x", 1.5)}
        self.maybe = (1, ["a", "b"])
        self.nothing = None
        self.flag = True
        self.name = "näme"
        self.ratio = 0.1
        self.number = 1 + 2j
        self.where = torch.device("cpu")
        self.dtype = torch.float16
        self.color = Color.BLUE
        self.point = Point(torch.ones(1), 7)
        self.counter = Counter(5)

    def forward(self, x: torch.Tensor):
        self.counter.add("call")
        if self.color == Color.BLUE:
            x = x + self.buffer + self.counter.count
        for i in self.ints:
            x = x * i
        return x, self.point, self.maybe


class Tensors(torch.nn.Module):
    tensors: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        numbers = torch.arange(6).view(2, 3)
        dtypes = [
            torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int16,
            torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128, torch.uint16, torch.uint32,
            torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
        ]  # fmt: skip
        scales = torch.tensor([0.1, 0.2], dtype=torch.double)
        self.tensors = [numbers.to(dtype) for dtype in dtypes] + [
            torch.tensor(3.5),
            numbers.to(torch.float).t(),
            torch.zeros(2, 3, device="meta"),
            torch.tensor([1 + 2j, 3 - 1j]).conj(),
            torch.tensor([1 + 2j, 3 - 1j]).conj().imag,
            torch.eye(3).to_sparse(),
            torch.eye(3).to_sparse_csr(),
            torch.quantize_per_tensor(torch.randn(2, 3), 0.1, 10, torch.quint8),
            torch.quantize_per_tensor(torch.randn(2, 3), 0.1, 0, torch.qint32),
            torch.quantize_per_channel(torch.randn(2, 3), scales, torch.tensor([0, 1]), 0, torch.qint8),
            torch.quantize_per_channel(
                torch.randn(2, 4), scales.float(), torch.tensor([0.5, 1.5]), 0, torch.quint4x2
            ),
        ]

    def forward(self, i: int):
        return self.tensors[i]


class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # Scripted first: of a plain module, scripting makes one copy for each name.
        self.a = torch.jit.script(torch.nn.Linear(3, 3))
        self.b = self.a
        self.tied = torch.nn.Linear(3, 3)
        self.tied.weight = self.a.weight
        base = torch.randn(4, 4)
        self.register_buffer("row", base[1])
        self.register_buffer("transposed", base.t())
        self.register_buffer("expanded", base[0, :1].expand(7))
        self.register_buffer("empty", torch.zeros(0, 3))

    def forward(self, x):
        return self.tied(self.b(self.a(x)))


class WithState(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 3.0
        self.names = ["a"]

    @torch.jit.export
    def __getstate__(self):
        return (self.scale, self.names, self.training)

    @torch.jit.export
    def __setstate__(self, state: Tuple[float, List[str], bool]):
        self.scale = state[0] * 2
        self.names = state[1]
        self.training = state[2]

    def forward(self, x):
        return x * self.scale


@torch.jit.interface
class Scaling(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Chooser(torch.nn.Module):
    choice: Scaling

    def __init__(self):
        super().__init__()
        self.choice = Small()

    def forward(self, x):
        return self.choice.forward(x)


class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Small()

    def forward(self, x):
        return self.child(x)


def hooked():
    def double_input(self, input: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
        return (input[0] * 2,)

    def negate(self, input: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
        return -output

    module = Hooked()
    module.register_forward_pre_hook(double_input)
    module.child.register_forward_hook(negate)
    return module


def modules():
    torch.manual_seed(0)
    convolution = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten()
    ).eval()
    image = torch.randn(1, 3, 8, 8)
    quantized = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(4, 4)), dtype=torch.qint8)
    return {
        "attributes": torch.jit.script(Attributes()),
        "tensors": torch.jit.script(Tensors()),
        "shared": torch.jit.script(Shared()),
        "state": torch.jit.script(WithState()),
        "interface": torch.jit.script(Chooser()),
        "hooked": torch.jit.script(hooked()),
        "sequential": torch.jit.script(convolution),
        "traced_convolution": torch.jit.trace(convolution, image),
        "frozen": torch.jit.freeze(torch.jit.script(convolution)),
        "half": torch.jit.script(convolution).to(torch.bfloat16),
        "quantized": torch.jit.script(quantized),
        "list_of_modules": torch.jit.script(torch.nn.LSTM(3, 2, num_layers=2)),
    }
