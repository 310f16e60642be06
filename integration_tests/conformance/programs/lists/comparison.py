"""== and != of lists."""

from typing import List


def f(a: List[int], b: List[int]):
    return a == b, a != b


def g(a: List[str], b: List[str]):
    return a == b, a != b


def h(a: List[float], b: List[float]):
    return a == b, a != b


calls = {
    "f": [([1, 2], [1, 2]), ([1], [1, 2]), ([], [])],
    "g": [(["a"], ["a"]), (["a"], ["b"])],
    "h": [([float("nan")], [float("nan")]), ([0.0], [-0.0])],
}
