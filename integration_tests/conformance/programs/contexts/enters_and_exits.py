"""Enters and exits."""

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
    def forward(self, n: int):
        log: List[str] = []
        with Logged(log, "a") as first:
            with Logged(log, "b"):
                log.append("inside")
            n += first
        return log, n


calls = [(1,)]
