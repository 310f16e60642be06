"""A member that is not there."""

from enum import Enum


class Color(Enum):
    RED = 1


def f():
    return Color.PINK.value


calls = [()]
