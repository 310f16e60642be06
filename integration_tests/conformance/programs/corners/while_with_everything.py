"""While with everything."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int):
        i = 0
        out: List[str] = []
        while True:
            i += 1
            if i > n:
                break
            if i % 2 == 0:
                continue
            j = 0
            while j < i:
                j += 3
                if j == 6:
                    break
            else_ = "x" if j == 6 else "y"
            out.append(else_ + str(i))
        return out, i


calls = [(10,)]
