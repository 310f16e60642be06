"""Augmented assignment of values."""

from typing import Dict

import torch


def f(d: Dict[str, float], e: Dict[str, torch.Tensor]):
    d["a"] += 1
    d["a"] *= 3
    d["a"] /= 4
    e["t"] += 1
    e["t"] *= 2
    return d, e


calls = [({"a": 1.0}, {"t": torch.ones(2)}), ({}, {"t": torch.ones(1)})]
