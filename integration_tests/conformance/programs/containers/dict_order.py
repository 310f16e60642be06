"""Dict order."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self):
        d = {"c": 1, "a": 2, "b": 3}
        d["a"] = 20
        d.pop("c")
        d["c"] = 10
        first = d.popitem()
        e = dict([("k", 1), ("l", 2)])
        copied = d.copy()
        copied.clear()
        return d, first, e, copied


calls = [()]
