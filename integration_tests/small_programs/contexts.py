from typing import Any, List

import torch
import torch.nn as nn

from . import call, program


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


@program(call(1))
class EntersAndExits(nn.Module):
    def forward(self, n: int):
        log: List[str] = []
        with Logged(log, "a") as first:
            with Logged(log, "b"):
                log.append("inside")
            n += first
        return log, n


@program(call(0), call(1))
class ExitsWhenRaised(nn.Module):
    log: List[str]

    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, n: int):
        with Logged(self.log, "outer"):
            if n == 1:
                raise ValueError("inside")
        return self.log


@program(call(0), call(3))
class ReturnsFromInside(nn.Module):
    def forward(self, n: int):
        log: List[str] = []
        with Logged(log, "a"):
            if n > 2:
                log.append("early")
            for i in range(n):
                if i == 1:
                    break
                log.append(str(i))
        return log
