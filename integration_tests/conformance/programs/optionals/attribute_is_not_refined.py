"""An attribute has to be read into a variable to be narrowed."""

from typing import Optional

import torch.nn as nn


class Program(nn.Module):
    x: Optional[int]

    def __init__(self):
        super().__init__()
        self.x = 3

    def forward(self):
        x = self.x
        if x is not None:
            self.x = None
            return x + 1
        return 0


calls = [(), ()]
