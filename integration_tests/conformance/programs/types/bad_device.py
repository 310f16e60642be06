"""A device that does not exist."""

import torch


def f(s: str):
    return torch.device(s)


calls = [("nonsense",), ("cpu:x",), ("",)]
