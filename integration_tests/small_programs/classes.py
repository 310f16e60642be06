from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn

from . import call, program


class Point(NamedTuple):
    x: torch.Tensor
    y: int = 3
    name: Optional[str] = None


class Color(Enum):
    RED = 1
    GREEN = 2


class Word(Enum):
    HELLO = "hello there"
    BYE = "bye"


@torch.jit.script
class Counter:
    def __init__(self, start: int, step: int = 2):
        self.value = start
        self.step = step
        self.history: List[int] = []

    def advance(self, times: int = 1) -> int:
        for _ in range(times):
            self.value += self.step
            self.history.append(self.value)
        return self.value

    @property
    def doubled(self) -> int:
        return self.value * 2

    @doubled.setter
    def doubled(self, value: int):
        self.value = value // 2

    @staticmethod
    def origin() -> int:
        return 100


@torch.jit.script
class Vector:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k: float) -> "Vector":
        return Vector(self.x * k, self.y * k)

    def __eq__(self, other: "Vector") -> bool:
        return self.x == other.x and self.y == other.y

    def __lt__(self, other: "Vector") -> bool:
        return self.x * self.x + self.y * self.y < other.x * other.x + other.y * other.y

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> float:
        return self.x if i == 0 else self.y

    def __setitem__(self, i: int, value: float):
        if i == 0:
            self.x = value
        else:
            self.y = value

    def __contains__(self, value: float) -> bool:
        return self.x == value or self.y == value

    def __str__(self) -> str:
        return "<" + str(self.x) + ", " + str(self.y) + ">"

    def __neg__(self) -> "Vector":
        return Vector(-self.x, -self.y)

    def __call__(self, k: float) -> float:
        return self.x * k + self.y


@torch.jit.script
class Node:
    def __init__(self, value: int, below: int):
        self.value = value
        self.below = below


@torch.jit.interface
class Scales:
    def scale(self, x: torch.Tensor) -> torch.Tensor:
        pass

    def describe(self, n: int) -> str:
        pass


@torch.jit.script
class Doubles:
    def __init__(self):
        self.calls = 0

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2

    def describe(self, n: int) -> str:
        return "doubles" + str(n)


@torch.jit.script
class Halves:
    def __init__(self, by: float):
        self.by = by

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        return x / self.by

    def describe(self, n: int) -> str:
        return "halves" + str(n)


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


@program(call(torch.ones(2)), call(torch.zeros(0)))
class ReturnsANamedTuple(nn.Module):
    def forward(self, x: torch.Tensor) -> Point:
        return Point(x, x.numel(), "p")


@program(call(torch.ones(2)))
class NamedTupleInside(nn.Module):
    def forward(self, x: torch.Tensor):
        a = Point(x)
        b = Point(x=x + 1, y=7)
        x1, y1, name = a
        points = [a, b]
        return a.y + b.y, b.x, a[0], points[1].name, {"a": a}, y1


@program(call(3), call(0))
class UsesAClass(nn.Module):
    def forward(self, n: int):
        c = Counter(n)
        c.advance()
        c.advance(times=n)
        c.doubled = c.doubled + 10
        return c.value, c.doubled, c.history, Counter.origin()


@program(call(1))
class ReturnsAnObject(nn.Module):
    def forward(self, n: int) -> Counter:
        c = Counter(n, 5)
        c.advance(2)
        return c


@program(call(1.0, 2.0), call(0.0, -1.5))
class OperatorsOfAClass(nn.Module):
    def forward(self, x: float, y: float):
        v = Vector(x, y)
        w = v + v * 2.0
        w[1] = 9.0
        return w.x, w.y, v == w, v < w, len(v), v[1], (-v).x, v(3.0), 9.0 in w, str(v)


@program(call([3.0, 1.0, 2.0]))
class SortsObjects(nn.Module):
    def forward(self, xs: List[float]) -> List[float]:
        vectors = [Vector(x, 1.0) for x in xs]
        vectors.sort()
        return [v.x for v in vectors]


@program(call(4), call(0))
class LinkedList(nn.Module):
    def forward(self, n: int) -> List[int]:
        nodes: List[Node] = []
        for i in range(n):
            nodes.append(Node(i * i, i - 1))
        out: List[int] = []
        at = n - 1
        while at >= 0:
            node = nodes[at]
            out.append(node.value)
            at = node.below
        return out


@program(call(torch.ones(2), True), call(torch.ones(2), False))
class ClassInterface(nn.Module):
    def forward(self, x: torch.Tensor, double: bool):
        scales: List[Scales] = [Doubles(), Halves(4.0)]
        first: Scales = scales[0]
        text = ""
        for s in scales:
            x = s.scale(x)
            text += s.describe(1)
        if double:
            x = first.scale(x)
        return x, text


@program(call(torch.ones(4), 0), call(torch.ones(4), 1), call(torch.ones(4), 5))
class ModuleInterface(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])

    def forward(self, x: torch.Tensor, i: int) -> torch.Tensor:
        layer: Layer = self.layers[i]
        return layer.forward(x)


@program(call(torch.ones(4), "up"), call(torch.ones(4), "sideways"))
class ModuleDictByKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"up": nn.Linear(4, 4), "down": nn.Tanh()})

    def forward(self, x: torch.Tensor, key: str) -> torch.Tensor:
        layer: Layer = self.layers[key]
        return layer.forward(x)


@program(call(1), call(2))
class EnumValues(nn.Module):
    def forward(self, n: int):
        color = Color.RED if n == 1 else Color.GREEN
        word = Word.HELLO
        return color == Color.GREEN, color.value, color.name, word.value, word.name, Color.RED != color, n == color.value


@program(call())
class IteratesAnEnum(nn.Module):
    def forward(self) -> Tuple[int, List[str]]:
        total = 0
        names: List[str] = []
        for color in Color:
            total += color.value
            names.append(color.name)
        return total, names


@program(call(torch.ones(3)))
class ObjectsInContainers(nn.Module):
    def forward(self, x: torch.Tensor):
        counters: Dict[str, Counter] = {"a": Counter(1), "b": Counter(10)}
        total = 0
        for key, counter in counters.items():
            total += counter.advance(3)
        pair = (counters["a"], x)
        pair[0].value = 1000
        return total, counters["a"].value, pair[1]


@program(call(3))
class ObjectAsAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = Counter(7)

    def forward(self, n: int) -> int:
        return self.counter.advance(n)


@program(call(torch.ones(1)), call(torch.zeros(1)))
class SharedObjectSeesWrites(nn.Module):
    def forward(self, x: torch.Tensor):
        a = Counter(0)
        b = a
        b.value = 5
        same = a is b
        return a.value, same, a is not b
