"""isinstance with list and tuple without parameters."""

from typing import Any


def f(x: Any):
    return isinstance(x, list), isinstance(x, tuple), isinstance(x, (list, tuple))


calls = [([1],), ((1, 2),), (3,)]
