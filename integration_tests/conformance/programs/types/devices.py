"""Devices as values."""

import torch


def f(d: torch.device, s: str):
    a = torch.device("cpu")
    b = torch.device(s)
    c = torch.device("cpu", 0)
    return a == d, a.type, b.type, b.index, c.index, str(b), a != b, torch.ones(1).device == a


calls = [(torch.device("cpu"), "cpu"), (torch.device("cuda:1"), "cuda:1"), (torch.device("cpu"), "meta")]
