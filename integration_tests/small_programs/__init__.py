"""Small TorchScript programs, each with calls to make and torch.jit as the judge of the answers.

A file a theme; adding a program is adding a class under `@program(...)`:

    @program(call(3), call(0))
    class CountsUp(nn.Module):
        def forward(self, n: int) -> int:
            ...

Every call gets a module fresh from the archive. `PROGRAMS` holds them all by name.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any, Callable

PROGRAMS: dict[str, "Program"] = {}


@dataclass(frozen=True)
class Call:
    args: tuple
    kwargs: dict
    method: str = ""  # empty: the module itself, hooks included


def call(*args, method="", **kwargs):
    return Call(args, kwargs, method)


@dataclass(frozen=True)
class Program:
    name: str
    make: Callable[[], Any]  # gives what torch.jit.save takes
    calls: tuple


def program(*calls, make=None):
    """Registers the class (or function that gives a ScriptModule) below it. `make(cls)` replaces scripting `cls()`."""

    def register(target):
        import torch

        def build():
            torch.manual_seed(0)
            if make is not None:
                module = make(target)
            elif isinstance(target, type):
                module = torch.jit.script(target().eval())
            else:
                module = target()
            return module

        name = f"{target.__module__.rsplit('.', 1)[-1]}.{target.__name__}"
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(name, build, calls)
        return target

    return register


for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
