"""Formats."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str, n: int, x: float):
        a = "{} and {} then {}".format(s, n, x)
        b = "%s|%d|%f|%%" % (s, n, x)
        c = f"{s}={n}/{x}"
        return a, b, c, "{}".format([1, 2]), "{}".format((n, s)), "{} {}".format(True, None)


calls = [("x", 3, 1.5), ("", -1, 1e20)]
