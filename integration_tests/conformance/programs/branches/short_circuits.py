"""Short circuits."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, flag: bool, n: int):
        a = flag and 10 // n > 2
        b = flag or 10 // (n + 1) > 2
        return a, b, not a, (a or b) and flag


calls = [(True, 2), (False, 2), (True, 0)]
