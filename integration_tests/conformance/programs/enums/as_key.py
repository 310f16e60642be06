"""An enum is no key of a dict."""

from enum import Enum
from typing import Dict


class Color(Enum):
    RED = 1


def f():
    d: Dict[Color, int] = {}
    return len(d)


calls = [()]
