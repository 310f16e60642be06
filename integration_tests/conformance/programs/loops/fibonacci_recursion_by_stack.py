"""Fibonacci recursion by stack."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> int:
        stack = [n % 15]
        total = 0
        while len(stack) > 0:
            top = stack.pop()
            if top < 2:
                total += top
            else:
                stack.append(top - 1)
                stack.append(top - 2)
        return total


calls = [(50,)]
