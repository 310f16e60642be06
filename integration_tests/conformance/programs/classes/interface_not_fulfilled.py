"""A class that lacks a method of the interface."""

import torch


@torch.jit.interface
class I:
    def go(self, x: int) -> int:
        pass


@torch.jit.script
class A:
    def __init__(self):
        self.x = 1


def f():
    a: I = A()
    return 1


calls = [()]
