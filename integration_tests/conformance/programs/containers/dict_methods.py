"""Dict methods."""

from typing import Dict

import torch.nn as nn


class Program(nn.Module):
    def forward(self, d: Dict[str, int]):
        d["z"] = 26
        d.update({"a": 100, "y": 25})
        got = d.get("a")
        missing = d.get("nope")
        default = d.get("nope", -1)
        stored = d.setdefault("s", 7)
        popped = d.pop("z")
        keys = list(d.keys())
        values = list(d.values())
        items = list(d.items())
        return d, got, missing, default, stored, popped, keys, values, items, len(d), "a" in d


calls = [({"a": 1, "b": 2},), ({},)]
