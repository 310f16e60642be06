"""Raises."""

import torch.nn as nn


class CustomError(Exception):
    pass


class Program(nn.Module):
    def forward(self, n: int) -> int:
        if n == 1:
            raise ValueError("one is not allowed")
        elif n == 2:
            raise RuntimeError("two: {}".format(n))
        elif n == 3:
            raise NotImplementedError
        elif n == 4:
            raise CustomError("custom")
        elif n == 5:
            raise KeyError("line one\nline two")
        return n


calls = [(1,), (2,), (3,), (4,), (5,), (0,)]
