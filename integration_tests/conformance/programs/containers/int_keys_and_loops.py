"""Int keys and loops."""

from typing import Dict

import torch.nn as nn


class Program(nn.Module):
    def forward(self, d: Dict[int, str]):
        total = 0
        text = ""
        for key in d:
            total += key
        for k, v in d.items():
            text += str(k) + v
        del d[5]
        return total, text, d


calls = [({1: "x", 2: "y"},), ({5: ""},)]
