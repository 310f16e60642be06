"""Too few for format."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, n: int) -> str:
        return "{} {}".format(n)


calls = [(1,)]
