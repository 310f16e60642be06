"""Operators of a class."""

import torch
import torch.nn as nn


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


class Program(nn.Module):
    def forward(self, x: float, y: float):
        v = Vector(x, y)
        w = v + v * 2.0
        w[1] = 9.0
        return w.x, w.y, v == w, v < w, len(v), v[1], (-v).x, v(3.0), 9.0 in w, str(v)


calls = [(1.0, 2.0), (0.0, -1.5)]
