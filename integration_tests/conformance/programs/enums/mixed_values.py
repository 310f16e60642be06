"""An enum with values of several types."""

from enum import Enum


class Bad(Enum):
    A = 1
    B = "b"


def f():
    return Bad.A.value


calls = [()]
