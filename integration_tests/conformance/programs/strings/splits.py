"""Splits."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str, by: str):
        return s.split(by), s.rsplit(by, 1), s.split(by, 1), s.partition(by), s.rpartition(by), s.splitlines()


calls = [("a,b,,c", ","), ("  a  b ", " "), ("abc", "x")]
