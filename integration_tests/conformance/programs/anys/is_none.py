"""Any tested for None."""

from typing import Any


def f(x: Any):
    return x is None, x is not None


calls = [(None,), (0,)]
