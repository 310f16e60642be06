"""Union of four."""

from typing import List, Union

import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: Union[int, float, str, List[int]]) -> str:
        if isinstance(x, int):
            return "int " + str(x + 1)
        elif isinstance(x, float):
            return "float " + str(x / 2)
        elif isinstance(x, str):
            return "str " + x.upper()
        else:
            return "list " + str(len(x))


calls = [(1,), (2.5,), ("abc",), ([1, 2],)]
