"""Linked list."""

from typing import List

import torch
import torch.nn as nn


@torch.jit.script
class Node:
    def __init__(self, value: int, below: int):
        self.value = value
        self.below = below


class Program(nn.Module):
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


calls = [(4,), (0,)]
