"""Searches."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str, what: str):
        return (
            s.find(what),
            s.rfind(what),
            s.count(what),
            s.startswith(what),
            s.endswith("na"),
            s.replace(what, "AN"),
            what in s,
        )


calls = [("banana", "an"), ("banana", "z"), ("", "a")]
