"""Nested containers."""

from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        table: Dict[str, List[Tuple[int, Optional[str]]]] = {}
        for i in range(n):
            table["k" + str(i)] = [(i, None), (i + 1, "v")]
        lists: List[List[List[int]]] = [[[n]], [[n]]]
        lists[1].append([n, n])
        maps: List[Dict[int, torch.Tensor]] = [{n: torch.ones(n)}]
        return table, lists, maps


calls = [(2,)]
