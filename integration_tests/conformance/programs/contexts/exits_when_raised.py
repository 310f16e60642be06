"""Exits when raised."""

from typing import Any, List

import torch
import torch.nn as nn


@torch.jit.script
class Logged:
    def __init__(self, log: List[str], name: str):
        self.log = log
        self.name = name

    def __enter__(self) -> int:
        self.log.append("enter " + self.name)
        return len(self.log)

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self.log.append("exit " + self.name)


class Program(nn.Module):
    log: List[str]

    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, n: int):
        with Logged(self.log, "outer"):
            if n == 1:
                raise ValueError("inside")
        return self.log


calls = [(0,), (1,)]
