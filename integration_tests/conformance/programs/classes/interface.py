"""Classes behind an interface."""

from typing import List

import torch


@torch.jit.interface
class Shape:
    def area(self) -> float:
        pass

    def scale(self, k: float) -> float:
        pass


@torch.jit.script
class Square:
    def __init__(self, s: float):
        self.s = s

    def area(self) -> float:
        return self.s * self.s

    def scale(self, k: float) -> float:
        self.s *= k
        return self.s


@torch.jit.script
class Circle:
    def __init__(self, r: float):
        self.r = r

    def area(self) -> float:
        return 3.0 * self.r * self.r

    def scale(self, k: float) -> float:
        self.r = self.r + k
        return self.r


def total(l: List[Shape]) -> float:
    a = 0.0
    for s in l:
        s.scale(2.0)
        a += s.area()
    return a


def f(x: float):
    a: Shape = Square(x)
    b: Shape = Circle(x)
    l: List[Shape] = [a, b, a]
    return total(l), a.area()


calls = {"f": [(1.0,), (2.5,)]}
