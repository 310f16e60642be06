"""Different types unify."""

from typing import Optional

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, flag: bool):
        if flag:
            x: Optional[torch.Tensor] = torch.ones(2)
            pair = (1, "a")
        else:
            x = None
            pair = (2, "b")
        return x, pair


calls = [(True,), (False,)]
