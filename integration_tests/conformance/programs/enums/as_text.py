"""An enum printed."""

from enum import Enum


class Color(Enum):
    RED = 1


def f():
    return "{}".format(Color.RED), [Color.RED] == [Color.RED]


calls = [()]
